/**
 * Proposals: a new name or logo of a verified application waits until an operator accepts it
 * (docs/history.md#0024).
 */
import type { Application } from '../../core/applications/application.ts'
import { type Actor, byUser } from '../../core/audit/actor.ts'
import { isValidText } from '../../core/reviews/review.ts'
import { findApplication, markApplicationChanged } from '../../store/applications/applications.ts'
import { lockOwnApplication } from '../../store/applications/own.ts'
import {
  applyProposal,
  deleteProposal,
  dropEmptyProposal,
  markDeclined,
  type Proposal,
  proposeLogo,
  proposeName,
  readProposal,
} from '../../store/applications/proposals.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { notifyOwners } from '../reviews/notify.ts'
import { isNameTaken } from './reserved-names.ts'

/** The field to change; the other keeps its current or proposed value. */
export type NewProfile = { readonly name: string } | { readonly logo: Buffer | null }

/**
 * Requires `lockOwnApplication`. An unchanged name leaves the proposal and its version alone, so that an operator who
 * is reading it can go on.
 */
export async function proposeProfile(
  tx: Transaction,
  application: Pick<Application, 'id' | 'accountId' | 'name'>,
  by: string,
  profile: NewProfile,
): Promise<void> {
  const { id } = application
  const before = await readProposal(tx, id)
  // A declined proposal is closed: the next one starts from the current profile.
  if (before && before.declinedReason !== null) await deleteProposal(tx, id)
  const pending = before?.declinedReason === null ? before : null
  if ('name' in profile && profile.name === (pending?.name ?? application.name)) return
  if ('name' in profile) await proposeName(tx, id, by, profile.name)
  else await proposeLogo(tx, id, by, profile.logo)
  const kind = (await dropEmptyProposal(tx, id)) ? 'application.profile_withdrawn' : 'application.profile_proposed'
  const changed = 'name' in profile ? { name: profile.name } : { logo: profile.logo !== null }
  await recordEvent(tx, {
    kind,
    actor: byUser(by),
    accountId: application.accountId,
    applicationId: id,
    detail: changed,
  })
}

export async function isWaiting(tx: Transaction, applicationId: string): Promise<boolean> {
  return (await readProposal(tx, applicationId))?.declinedReason === null
}

export type Withdrawal = { readonly outcome: 'withdrawn' | 'not_found' } | Forbidden

/** Also dismisses a declined proposal that was read. */
export function withdrawProposal(context: Pick<Context, 'db'>, by: string, id: string): Promise<Withdrawal> {
  return asAdministrator(context, by, async (tx, account): Promise<Withdrawal> => {
    if (!(await lockOwnApplication(tx, account.id, id))) return { outcome: 'not_found' }
    const proposal = await readProposal(tx, id)
    if (!proposal) return { outcome: 'withdrawn' }
    await deleteProposal(tx, id)
    if (proposal.declinedReason === null) {
      const about = { actor: byUser(by), accountId: account.id, applicationId: id }
      await recordEvent(tx, { kind: 'application.profile_withdrawn', ...about })
    }
    return { outcome: 'withdrawn' }
  })
}

export type Acceptance = {
  /** `stale`: edited since the operator read it. `taken`: its name now resembles another account's application. */
  readonly outcome: 'accepted' | 'not_found' | 'stale' | 'taken'
}

/** Publishes the proposal. `version` is the one that the operator read. */
export function acceptProposal(
  { db }: Pick<Context, 'db'>,
  actor: Actor,
  applicationId: string,
  version: number,
): Promise<Acceptance> {
  return db.transaction((tx) => acceptVersion(tx, actor, applicationId, version))
}

export async function acceptVersion(
  tx: Transaction,
  actor: Actor,
  applicationId: string,
  version: number,
): Promise<Acceptance> {
  const looked = await lockProposal(tx, applicationId, version)
  if ('outcome' in looked) return looked
  const { application, proposal } = looked
  const { accountId } = application
  const renamed = proposal.name !== application.name
  if (renamed && (await isNameTaken(tx, accountId, proposal.name))) return { outcome: 'taken' }
  await applyProposal(tx, applicationId)
  const { name, logoVersion } = proposal
  const detail = { version, from: application.name, name, logoVersion }
  await recordEvent(tx, { kind: 'application.profile_accepted', actor, accountId, applicationId, detail })
  await notifyOwners(tx, { ...application, name }, { what: 'profile_accepted', suspended: application.suspended })
  return { outcome: 'accepted' }
}

export type Declination = { readonly outcome: 'declined' | 'not_found' | 'stale' | 'no_words' }

/** `words`: the reason, shown to the proposer. */
export function declineProposal(
  { db }: Pick<Context, 'db'>,
  actor: Actor,
  applicationId: string,
  version: number,
  words: string,
): Promise<Declination> {
  return db.transaction((tx) => declineVersion(tx, actor, { applicationId, version, words }))
}

type Declining = { readonly applicationId: string; readonly version: number; readonly words: string }

export async function declineVersion(
  tx: Transaction,
  actor: Actor,
  { applicationId, version, words }: Declining,
): Promise<Declination> {
  const reason = words.trim()
  if (!isValidText(reason)) return { outcome: 'no_words' }
  const looked = await lockProposal(tx, applicationId, version)
  if ('outcome' in looked) return looked
  const { application, proposal } = looked
  await markDeclined(tx, applicationId, reason)
  const detail = { version, name: proposal.name, reason }
  const { accountId } = application
  await recordEvent(tx, { kind: 'application.profile_declined', actor, accountId, applicationId, detail })
  await notifyOwners(tx, application, { what: 'profile_declined', suspended: application.suspended, words: reason })
  return { outcome: 'declined' }
}

type Looked =
  | { readonly application: Application; readonly proposal: Proposal }
  | { readonly outcome: 'not_found' | 'stale' }

/** Locks the application against concurrent edits, so that the accepted version is the one that was read. */
async function lockProposal(tx: Transaction, applicationId: string, version: number): Promise<Looked> {
  if (!(await markApplicationChanged(tx, applicationId))) return { outcome: 'not_found' }
  const application = await findApplication(tx, applicationId)
  const proposal = await readProposal(tx, applicationId)
  if (!application || !proposal || proposal.declinedReason !== null) return { outcome: 'not_found' }
  return proposal.version === version ? { application, proposal } : { outcome: 'stale' }
}
