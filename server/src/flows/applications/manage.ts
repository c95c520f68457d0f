/**
 * Application management, mainly for the command line: create, set redirect URIs and publisher, rotate secrets,
 * suspend, restore.
 */
import { isPublisherName, MAX_LIVE_SECRETS, type Publisher } from '../../core/applications/application.ts'
import { type ApplicationSettings, type ScopeFacts, settingsProblem } from '../../core/applications/settings.ts'
import { explainSettings } from '../../core/applications/settings-in-words.ts'
import { type Actor, BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import type { SuspensionReason } from '../../core/reviews/review.ts'
import { createApplicationSecret, digestApplicationSecret } from '../../secrets/application-secret.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { createId } from '../../secrets/random.ts'
import { findAccount, lockAccount } from '../../store/accounts/accounts.ts'
import {
  findApplication,
  insertApplication,
  insertSecret,
  markApplicationChanged,
  revokeOldestSecrets,
  setRedirects,
  setSuspended,
} from '../../store/applications/applications.ts'
import { readScopeFacts } from '../../store/applications/scopes.ts'
import { type AuditEvent, recordEvent } from '../../store/audit/events.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { done, type Registered, refused } from '../accounts/register.ts'
import { isNameTaken } from './reserved-names.ts'
import { vouchFor } from './verify-publisher.ts'

export type NewApplication = ApplicationSettings & {
  readonly account: string
  readonly public: boolean
  readonly pkceRequired: boolean
  readonly resourceServer: boolean
}

/** The secret is returned here only and never stored in plain text. Null for a public application. */
export type CreatedApplication = { readonly id: string; readonly secret: string | null }

export function createApplication(
  db: Postgres,
  keys: Keyset,
  application: NewApplication,
  actor: Actor = BY_COMMAND_LINE,
): Promise<Registered<CreatedApplication>> {
  return db.transaction(async (tx) => {
    const known = await findAccount(tx, application.account)
    const account = known && (await lockAccount(tx, known.id))
    if (!account) return refused(`There is no account "${application.account}".`)
    const problem = settingsProblem(application, await readScopeFacts(tx, application.allowedScopes))
    if (problem) return refused(explainSettings(problem))
    if (await isNameTaken(tx, account.id, application.name)) {
      return refused(explainSettings({ field: 'name', problem: 'taken' }))
    }
    if (application.public && application.resourceServer)
      return refused('A resource server proves itself with a secret, so it cannot be public.')

    const id = createId('app')
    // A public application has no secret: only PKCE binds the code exchange to it.
    const pkceRequired = application.public || application.pkceRequired
    await insertApplication(tx, { ...application, id, accountId: account.id, pkceRequired })
    const secret = application.public ? null : (await addSecret(tx, keys, id)).secret
    await recordEvent(tx, {
      kind: 'application.created',
      actor,
      accountId: account.id,
      applicationId: id,
    })
    return done({ id, secret })
  })
}

/** Scopes do not change here, so there is nothing to validate. */
const UNCHANGED_SCOPES: ScopeFacts = { unknown: [], notByDevice: [] }

/** Replaces the redirect URIs. Open dialogs with a URI that is no longer listed fail. */
export function setApplicationRedirects(
  db: Postgres,
  id: string,
  redirectUris: readonly string[],
): Promise<Registered<{ id: string }>> {
  return db.transaction(async (tx) => {
    const application = await findApplication(tx, id)
    const problem = application && settingsProblem({ ...application, redirectUris }, UNCHANGED_SCOPES)
    if (problem) return refused(explainSettings(problem))
    if (!(await markApplicationChanged(tx, id))) return refused(`There is no application "${id}".`)
    await setRedirects(tx, id, redirectUris)
    await recordEvent(tx, {
      kind: 'application.redirects_set',
      actor: BY_COMMAND_LINE,
      ...(await about(tx, id)),
      detail: { redirectUris },
    })
    return done({ id })
  })
}

export type RotatedSecret = { readonly secret: string; readonly revokedSecrets: readonly string[] }

/** Adds a secret. Older secrets stay valid; the fourth one revokes the oldest (`MAX_LIVE_SECRETS`). */
export function rotateSecret(db: Postgres, keys: Keyset, id: string): Promise<Registered<RotatedSecret>> {
  return db.transaction(async (tx) => {
    if (!(await markApplicationChanged(tx, id))) return refused(`There is no application "${id}".`)
    if ((await findApplication(tx, id))?.public) return refused(`The application "${id}" is public and has no secret.`)
    const revokedSecrets = await revokeOldestSecrets(tx, id, MAX_LIVE_SECRETS - 1)
    const { secret } = await addSecret(tx, keys, id)
    await recordEvent(tx, {
      kind: 'application.secret_rotated',
      actor: BY_COMMAND_LINE,
      ...(await about(tx, id)),
      detail: { revokedSecrets },
    })
    return done({ secret, revokedSecrets })
  })
}

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

/** Returns the plain secret, which cannot be read again. */
export async function addSecret(
  tx: Transaction,
  keys: Keyset,
  applicationId: string,
  label: string | null = null,
): Promise<{ readonly id: string; readonly secret: string }> {
  const id = createId('sec')
  const secret = createApplicationSecret()
  const digest = digestApplicationSecret(keys, secret)
  await insertSecret(tx, applicationId, { id, keyId: keys.signing.id, digest, label })
  return { id, secret }
}
