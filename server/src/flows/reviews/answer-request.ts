/**
 * Answers of operators to requests of developers: the approval of a new application, and a new name or logo. An answer
 * is for what the operator saw. An approval of an application is withdrawn by declining it.
 */
import type { Application } from '../../core/applications/application.ts'
import { byOperator } from '../../core/audit/actor.ts'
import type { RequestKind } from '../../core/reviews/queue.ts'
import { isValidText } from '../../core/reviews/review.ts'
import { findApplication, markApplicationChanged } from '../../store/applications/applications.ts'
import { readProposal } from '../../store/applications/proposals.ts'
import { findVettingRequest, lockVetting, setVetted } from '../../store/applications/vettings.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { lockSeen } from '../../store/reviews/reviews.ts'
import type { Forbidden } from '../accounts/administrator.ts'
import { acceptVersion, declineVersion } from '../applications/proposals.ts'
import type { Context } from '../context.ts'
import { asOperator } from '../operator/operator.ts'
import { notifyOwners } from './notify.ts'

type Answer = {
  readonly applicationId: string
  readonly kind: RequestKind
  /** `ReviewedApplication.seen` at the time the operator read the page. */
  readonly seen: string
  readonly approve: boolean
  /** The reason for declining, told to the developers. */
  readonly words: string
}

type AnswerResult =
  /** `taken`: the new name now resembles another account's application. */
  { readonly outcome: 'approved' | 'declined' | 'stale' | 'taken' | 'no_words' | 'not_found' } | Forbidden

export function answerRequest(
  context: Pick<Context, 'db' | 'config'>,
  by: string,
  answer: Answer,
): Promise<AnswerResult> {
  return asOperator(context, by, async (tx): Promise<AnswerResult> => {
    const { applicationId, kind, seen } = answer
    if (kind === 'vetting') await lockVetting(tx, applicationId)
    const state = await lockSeen(tx, applicationId)
    const application = await findApplication(tx, applicationId)
    if (state === null || !application) return { outcome: 'not_found' }
    if (state !== seen) return { outcome: 'stale' }
    if (!answer.approve && !isValidText(answer.words.trim())) return { outcome: 'no_words' }
    return kind === 'vetting' ? answerVetting(tx, application, by, answer) : answerProfile(tx, application, by, answer)
  })
}

/** Grants stay when an approval is withdrawn: to end them, an operator suspends the application. */
async function answerVetting(
  tx: Transaction,
  application: Application,
  by: string,
  { approve, words }: Answer,
): Promise<AnswerResult> {
  const { id, accountId, suspended } = application
  const request = await findVettingRequest(tx, id)
  if (!request || (approve && request.approved)) return { outcome: 'not_found' }
  // What other operators have seen is stale.
  await markApplicationChanged(tx, id)
  await setVetted(tx, id, approve)
  const declined = request.approved ? 'vetting_withdrawn' : 'vetting_declined'
  const kind = approve ? 'application.vetted' : (`application.${declined}` as const)
  const reason = words.trim()
  const detail = approve ? {} : { reason }
  await recordEvent(tx, { kind, actor: byOperator(by), accountId, applicationId: id, detail })
  const what = approve ? 'vetted' : declined
  await notifyOwners(tx, application, { what, suspended, words: approve ? null : reason })
  return { outcome: approve ? 'approved' : 'declined' }
}

async function answerProfile(
  tx: Transaction,
  { id: applicationId }: Application,
  by: string,
  { approve, words }: Answer,
): Promise<AnswerResult> {
  const proposal = await readProposal(tx, applicationId)
  if (!proposal) return { outcome: 'not_found' }
  const { version } = proposal
  if (!approve) return declineVersion(tx, byOperator(by), { applicationId, version, words })
  const { outcome } = await acceptVersion(tx, byOperator(by), applicationId, version)
  return { outcome: outcome === 'accepted' ? 'approved' : outcome }
}
