/** Revocation of a grant: row, audit event and feed change in one transaction, for every actor and reason. */
import type { Actor } from '../../core/audit/actor.ts'
import type { Grant } from '../../core/grants/grant.ts'
import type { AlarmingReason, RevocationReason } from '../../core/grants/revocation-reason.ts'
import { readUser } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { markRevoked } from '../../store/grants/grants.ts'
import { insertMail } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'

/** The ids of a grant as audit events name them. */
export function aboutGrant({ id, accountId, userId, applicationId }: Grant) {
  return { accountId, userId, applicationId, grantId: id }
}

/** False if it was revoked before: of concurrent calls exactly one returns true. */
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

/** For a credential that may have leaked: notifies the user, once per grant. */
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
