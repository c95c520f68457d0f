/** What only operators do with applications: set the publisher, suspend, restore. Their owners: flows/applications/own.ts. */
import { isPublisherName, type Publisher } from '../../core/applications/application.ts'
import { type Actor, BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import type { SuspensionReason } from '../../core/reviews/review.ts'
import { findApplication, markApplicationChanged, setSuspended } from '../../store/applications/applications.ts'
import { type AuditEvent, recordEvent } from '../../store/audit/events.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { done, type Registered, refused } from '../accounts/register.ts'
import { vouchFor } from './verify-publisher.ts'

/**
 * Blocks new codes, dialogs and grants only. Running codes and issued credentials stay valid, unless `revoking` is set.
 */
export function suspendApplication(
  db: Postgres,
  id: string,
  message: string,
  revoking = false,
): Promise<Registered<Suspended>> {
  return db.transaction(async (tx) => {
    const suspended = await setSuspension(tx, BY_COMMAND_LINE, id, true, { reason: 'by_operator', message })
    if (suspended.outcome === 'refused') return suspended
    return done({
      id,
      revoked: revoking ? await revokeGrants(tx, BY_COMMAND_LINE, { applicationId: id }, 'application_suspended') : 0,
    })
  })
}

export type Suspended = { readonly id: string; readonly revoked: number }

export function restoreApplication(db: Postgres, id: string, message: string): Promise<Registered<{ id: string }>> {
  return db.transaction((tx) => setSuspension(tx, BY_COMMAND_LINE, id, false, { reason: 'by_operator', message }))
}

/** Recorded in the audit log; webhooks carry the reason and the operator's message as well. */
export type SuspensionDetail = {
  readonly reason: SuspensionReason
  readonly message?: string
  readonly [more: string]: unknown
}

/** Suspends or restores an application and records it. All suspensions go through here. */
export async function setSuspension(
  tx: Transaction,
  actor: Actor,
  id: string,
  suspended: boolean,
  detail: SuspensionDetail,
): Promise<Registered<{ id: string }>> {
  if (!(await markApplicationChanged(tx, id))) return refused(`There is no application "${id}".`)
  if (!(await setSuspended(tx, id, suspended))) {
    return refused(`The application "${id}" is ${suspended ? 'suspended already' : 'not suspended'}.`)
  }
  const kind = suspended ? 'application.suspended' : 'application.restored'
  await recordEvent(tx, { kind, actor, ...(await about(tx, id)), detail })
  return done({ id })
}

/** Includes the owning account, so that the event shows up in the owner's log. */
async function about(tx: Transaction, id: string): Promise<Pick<AuditEvent, 'accountId' | 'applicationId'>> {
  const application = await findApplication(tx, id)
  return { ...(application ? { accountId: application.accountId } : {}), applicationId: id }
}

/**
 * Sets the publisher that users see. A verified domain rests on the operator's word then: no DNS record is checked, and
 * it stands until an operator changes it.
 */
export function setApplicationPublisher(
  db: Postgres,
  id: string,
  publisher: Publisher,
): Promise<Registered<{ id: string }>> {
  return db.transaction(async (tx) => {
    const { name, status } = publisher
    if (name !== null && !isPublisherName(name)) return refused(`"${name}" is not a domain, such as acme.example.`)
    if (status === 'verified' && name === null)
      return refused('A verified publisher has a domain: give it with --name.')
    if (!(await markApplicationChanged(tx, id))) return refused(`There is no application "${id}".`)
    await vouchFor(tx, id, publisher, { proven: false, by: null })
    await recordEvent(tx, {
      kind: 'application.publisher_set',
      actor: BY_COMMAND_LINE,
      ...(await about(tx, id)),
      detail: { name, status },
    })
    return done({ id })
  })
}
