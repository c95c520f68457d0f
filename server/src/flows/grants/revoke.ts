/** A grant ends: whoever ends it and for whatever reason, the row, the event and the feed say so together. */
import type { Actor } from '../../core/audit/actor.ts'
import type { Grant } from '../../core/grants/grant.ts'
import type { AlarmingReason, RevocationReason } from '../../core/grants/revocation-reason.ts'
import { readUser } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { markRevoked } from '../../store/grants/grants.ts'
import { insertMail } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'

/** The ids of a grant, as events name them. */
export function aboutGrant({ id, accountId, userId, applicationId }: Grant) {
  return { accountId, userId, applicationId, grantId: id }
}

/** False when it had ended before: of many who do it at once, one does. */
export async function revokeGrant(
  tx: Transaction,
  actor: Actor,
  grant: Grant,
  reason: RevocationReason,
): Promise<boolean> {
  if (!(await markRevoked(tx, grant.id, reason))) return false
  await recordEvent(tx, { kind: 'grant.revoked', actor, ...aboutGrant(grant), detail: { reason } })
  return true
}

/** Something is wrong with its credentials: the user hears of it, once. */
export async function revokeGrantWithMail(
  tx: Transaction,
  actor: Actor,
  grant: Grant,
  reason: AlarmingReason,
): Promise<boolean> {
  if (!(await revokeGrant(tx, actor, grant, reason))) return false
  const { accountId, userId } = grant
  const user = await readUser(tx, userId)
  const application = await findApplication(tx, grant.applicationId)
  const about = { accountId, userId, linkId: null, language: user?.language ?? 'en' }
  await insertMail(tx, { kind: 'grant_ended', ...about, detail: { application: application?.name ?? '', reason } })
  return true
}
