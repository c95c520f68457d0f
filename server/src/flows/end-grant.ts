/** A grant ends: whoever ends it and for whatever reason, the row, the event and the feed say so together. */
import type { Grant } from '../core/grant.ts'
import type { MailMatter } from '../core/mail.ts'
import { findApplication } from '../store/applications.ts'
import { recordEvent } from '../store/audit-events.ts'
import { revokeGrant } from '../store/grants.ts'
import { insertMail } from '../store/mails.ts'
import type { Transaction } from '../store/postgres.ts'
import { readUser } from '../store/users.ts'

/** The ids of a grant, as events name them. */
export function aboutGrant({ id, accountId, userId, applicationId }: Grant) {
  return { accountId, userId, applicationId, grantId: id }
}

/** False when it had ended before: of many who do it at once, one does. */
export async function endGrant(tx: Transaction, grant: Grant, why: string): Promise<boolean> {
  if (!(await revokeGrant(tx, grant.id, why))) return false
  await recordEvent(tx, { kind: 'grant.revoked', ...aboutGrant(grant), detail: { why } })
  return true
}

type Alarm = Extract<MailMatter, { kind: 'grant_ended' }>['detail']['why']

/** Something is wrong with its credentials: the user hears of it, once. */
export async function endGrantWithMail(tx: Transaction, grant: Grant, why: Alarm): Promise<boolean> {
  if (!(await endGrant(tx, grant, why))) return false
  const { accountId, userId } = grant
  const user = await readUser(tx, userId)
  const application = await findApplication(tx, grant.applicationId)
  const about = { accountId, userId, linkId: null, language: user?.language ?? 'en' }
  await insertMail(tx, { kind: 'grant_ended', ...about, detail: { application: application?.name ?? '', why } })
  return true
}
