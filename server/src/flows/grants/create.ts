/** Grant creation, for device codes and dialogs: row, audit event and mail in the transaction of the decision. */
import type { Application } from '../../core/applications/application.ts'
import type { Actor } from '../../core/audit/actor.ts'
import { createGrantSecret } from '../../secrets/random.ts'
import type { User } from '../../store/accounts/users.ts'
import { readScopes } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { insertGrant, type NewGrant } from '../../store/grants/grants.ts'
import { addToWaitingMail, insertMail, lockRecentMails } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { createLink } from '../sign-in/mailed-link.ts'

export async function createGrant(
  tx: Transaction,
  actor: Actor,
  user: User,
  application: Pick<Application, 'id' | 'name'>,
  given: Omit<NewGrant, 'secret' | 'accountId' | 'userId' | 'applicationId'>,
): Promise<void> {
  const about = { accountId: user.accountId, userId: user.id, applicationId: application.id }
  await insertGrant(tx, { ...given, ...about, secret: createGrantSecret() })
  const deviceCode = given.deviceCodeId === null ? {} : { deviceCodeId: given.deviceCodeId }
  const testMode = given.testEndsAt !== null
  const flow = given.deviceCodeId === null ? 'dialog' : 'device'
  const detail = { scopes: given.scopes, flow, ...(testMode ? { testMode } : {}) }
  await recordEvent(tx, { kind: 'grant.created', actor, ...about, ...deviceCode, grantId: given.id, detail })
  // No mail about grants of the developer's own tests: there may be hundreds, and all of them end with test mode.
  if (testMode) return
  await notifyUser(tx, user, application, given)
}

/** Separate mails per user and hour. More would go unread and could hide the one that matters. */
const SINGLE_MAILS = 10

/** Further grants are collected in one mail, sent this long after its first: the maximum delay of a notification. */
const GATHER_MS = 10 * 60 * 1000

async function notifyUser(
  tx: Transaction,
  user: User,
  application: Pick<Application, 'name'>,
  given: Pick<NewGrant, 'id' | 'scopes' | 'requestedFrom'>,
): Promise<void> {
  const about = { accountId: user.accountId, userId: user.id, language: user.language ?? 'en' }
  if ((await lockRecentMails(tx, user.id, ['grant_created'])) >= SINGLE_MAILS) {
    if (await addToWaitingMail(tx, user.id, application.name)) return
    const detail = { count: 1, applications: [application.name] }
    return insertMail(tx, { kind: 'grants_created', ...about, linkId: null, detail, afterMs: GATHER_MS })
  }
  await insertMail(tx, {
    kind: 'grant_created',
    ...about,
    linkId: await createLink(tx, 'remove_grant', user, given.id),
    detail: {
      application: application.name,
      permissions: (await readScopes(tx, given.scopes)).map(({ title }) => title),
      requestedFrom: given.requestedFrom,
    },
  })
}
