/** The user's yes, from a typed code or from the dialog: one row, one event, one mail, in the transaction that decides. */
import type { Application } from '../core/application.ts'
import { recordEvent } from '../store/audit-events.ts'
import { insertGrant, type NewGrant } from '../store/grants.ts'
import { insertMail } from '../store/mails.ts'
import type { Transaction } from '../store/postgres.ts'
import { readScopes } from '../store/scopes.ts'
import type { User } from '../store/users.ts'
import { createLink } from './links.ts'

export async function createGrant(
  tx: Transaction,
  user: User,
  application: Pick<Application, 'id' | 'name' | 'testedAs'>,
  given: Omit<NewGrant, 'accountId' | 'userId' | 'applicationId'>,
): Promise<void> {
  const about = { accountId: user.accountId, userId: user.id, applicationId: application.id }
  await insertGrant(tx, { ...given, ...about })
  const deviceCode = given.deviceCodeId === null ? {} : { deviceCodeId: given.deviceCodeId }
  const detail = { scopes: given.scopes, by: given.deviceCodeId === null ? 'dialog' : 'code' }
  await recordEvent(tx, { kind: 'grant.created', ...about, ...deviceCode, grantId: given.id, detail })
  // Their own tests are no news to a developer.
  if (application.testedAs === user.id) return
  await insertMail(tx, {
    kind: 'grant_created',
    accountId: user.accountId,
    userId: user.id,
    linkId: await createLink(tx, 'remove_grant', user, given.id),
    language: user.language ?? 'en',
    detail: {
      application: application.name,
      permissions: (await readScopes(tx, given.scopes)).map(({ title }) => title),
      requestedFrom: given.requestedFrom,
    },
  })
}
