/** Operators' console: proposed names and logos that wait for an operator. */

import { acceptAsOperator, declineAsOperator } from '../../flows/applications/proposals.ts'
import type { Context } from '../../flows/context.ts'
import { type OperatorChangesModel, operatorChangesPage, type PendingChange } from '../../pages/operator/changes.tsx'
import { pictureType } from '../../pictures/picture.ts'
import type { ListedProposal } from '../../store/applications/proposals.ts'
import { listProposals, readProposedLogo } from '../../store/applications/proposals.ts'
import { logoAddress } from '../applications/logo.ts'
import type { FormFields } from '../parameters.ts'
import type { PageAnswer, PageHandler, UserRequest } from '../web/answer.ts'

export const showChanges: PageHandler<UserRequest> = (context, request) => changesPage(context, request, null)

export const showProposedLogo: PageHandler<UserRequest> = async (context, { fields }) => {
  const bytes = await readProposedLogo(context.db, fields.get('application') ?? '', versionIn(fields))
  return bytes ? { bytes, type: pictureType(bytes), lasting: false } : { refusal: 'not_found' }
}

export const acceptChange: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const { outcome } = await acceptAsOperator(
    context,
    sessionUser.id,
    fields.get('application') ?? '',
    versionIn(fields),
  )
  if (outcome === 'accepted') return { seeOther: '/operator/changes?notice=accepted' }
  if (outcome === 'stale' || outcome === 'taken') return changesPage(context, request, outcome)
  return { refusal: outcome }
}

export const declineChange: PageHandler<UserRequest> = async (context, request) => {
  const { fields, sessionUser } = request
  const applicationId = fields.get('application') ?? ''
  const declining = { applicationId, version: versionIn(fields), words: fields.get('words') ?? '' }
  const { outcome } = await declineAsOperator(context, sessionUser.id, declining)
  if (outcome === 'declined') return { seeOther: '/operator/changes?notice=declined' }
  if (outcome === 'stale') return changesPage(context, request, 'stale')
  if (outcome === 'no_words') return changesPage(context, request, { noWordsFor: applicationId })
  return { refusal: outcome }
}

/** 0 stands for a malformed version: versions are never 0. */
function versionIn(fields: FormFields): number {
  const text = fields.get('version') ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : 0
}

const NOTICES: readonly OperatorChangesModel['notice'][] = ['accepted', 'declined']

async function changesPage(
  context: Context,
  { fields, frame }: UserRequest,
  problem: OperatorChangesModel['problem'],
): Promise<PageAnswer> {
  const notice = NOTICES.find((each) => each === fields.get('notice')) ?? null
  const changes = (await listProposals(context.db)).map(changeOf)
  return { page: operatorChangesPage(frame, { changes, notice, problem }), status: problem === null ? 200 : 400 }
}

function changeOf(proposal: ListedProposal): PendingChange {
  const { applicationId: id, version, logoVersion, logoVersionNow } = proposal
  const now = logoAddress(logoVersionNow === null ? null : { applicationId: id, version: logoVersionNow })
  const proposed = `/operator/changes/logo?application=${id}&version=${version}`
  return {
    id,
    version,
    account: proposal.accountSlug,
    publisher: proposal.publisher,
    nameNow: proposal.nameNow,
    logoNow: now,
    name: proposal.name,
    logo: logoVersion === null ? null : logoVersion === logoVersionNow ? now : proposed,
    since: proposal.proposedAt,
    by: proposal.proposedBy,
  }
}
