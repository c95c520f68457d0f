/** Applications of an account, managed by its administrators in the console, by a management key or on the command line. */
import { MAX_LIVE_SECRETS } from '../../core/applications/application.ts'
import { type ApplicationSettings, type SettingsProblem, settingsProblem } from '../../core/applications/settings.ts'
import { MAX_UNVETTED_APPLICATIONS } from '../../core/applications/vetting.ts'
import { Refusal } from '../../core/refusal.ts'
import { createApplicationSecret, digestApplicationSecret } from '../../secrets/application-secret.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { createId } from '../../secrets/random.ts'
import {
  insertApplication,
  insertSecret,
  markApplicationChanged,
  setDeleted,
} from '../../store/applications/applications.ts'
import { lockOwnApplication, readOwnApplication, revokeSecret, saveSettings } from '../../store/applications/own.ts'
import { deleteProposal, readProposal } from '../../store/applications/proposals.ts'
import { readScopeFacts } from '../../store/applications/scopes.ts'
import { countUnvettedApplications, insertVetting } from '../../store/applications/vettings.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { revokeGrants } from '../../store/grants/grants.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { actorOf, asAdministratorOrKey, type By, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { proposeProfile } from './proposals.ts'
import { isNameTaken } from './reserved-names.ts'
import { endTestModeOf } from './test-mode.ts'

export type NewOwnApplication = ApplicationSettings & {
  readonly public: boolean
  readonly pkceRequired?: boolean
  readonly resourceServer?: boolean
  /** As if an operator had approved it. */
  readonly approved?: boolean
}

export type RegistrationResult =
  /** The secret is returned here only; null for a public application. */
  | { readonly outcome: 'registered'; readonly id: string; readonly secret: string | null }
  | { readonly outcome: 'unfit'; readonly problem: SettingsProblem }
  /** The account has too many that no operator has approved. */
  | { readonly outcome: 'too_many_unvetted' }
  | Forbidden

export function registerApplication(
  context: Pick<Context, 'db' | 'config'>,
  by: By,
  wish: NewOwnApplication,
): Promise<RegistrationResult> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<RegistrationResult> => {
    const problem = settingsProblem(wish, await readScopeFacts(tx, wish.allowedScopes))
    if (problem) return { outcome: 'unfit', problem }
    if (await isNameTaken(tx, account.id, wish.name)) return NAME_TAKEN
    const { approved = false, resourceServer = false } = wish
    if (!approved && (await countUnvettedApplications(tx, account.id)) >= MAX_UNVETTED_APPLICATIONS)
      return { outcome: 'too_many_unvetted' }
    const id = createId('app')
    // A public application has no secret: only PKCE binds the code exchange to it.
    const pkceRequired = wish.public || (wish.pkceRequired ?? false)
    await insertApplication(tx, { ...wish, id, accountId: account.id, pkceRequired, resourceServer })
    if (!approved) await insertVetting(tx, id)
    const secret = wish.public ? null : (await addSecret(tx, context.config.keys, id, null)).secret
    const about = { actor: actorOf(by), accountId: account.id, applicationId: id }
    await recordEvent(tx, { kind: 'application.created', ...about })
    return { outcome: 'registered', id, secret }
  })
}

const NAME_TAKEN = { outcome: 'unfit', problem: { field: 'name', problem: 'taken' } } as const

export type SettingsResult =
  | { readonly outcome: 'saved' | 'not_found' }
  | { readonly outcome: 'unfit'; readonly problem: SettingsProblem }
  | Forbidden

export type ChangedSettings = ApplicationSettings & {
  /** Requires PKCE in the dialog; always on for public applications. */
  readonly pkceRequired: boolean
}

export function changeSettings(
  context: Context,
  by: By,
  id: string,
  settings: ChangedSettings,
): Promise<SettingsResult> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<SettingsResult> => {
    const problem = settingsProblem(settings, await readScopeFacts(tx, settings.allowedScopes))
    if (problem) return { outcome: 'unfit', problem }
    const application = await lockOwnApplication(tx, account.id, id)
    if (!application) return { outcome: 'not_found' }
    const known = [application.name, (await readProposal(tx, id))?.name]
    if (!known.includes(settings.name) && (await isNameTaken(tx, account.id, settings.name))) return NAME_TAKEN
    // A proposal is a person's wish, which an operator answers.
    if (application.vouchedFor && typeof by !== 'string' && settings.name !== application.name)
      throw new Refusal('conflict', 'The publisher is verified: a new name is proposed in the console.')
    // Once the publisher has been verified, users see the old name until an operator accepts the new one.
    const name = application.vouchedFor ? application.name : settings.name
    const pkceRequired = application.public || settings.pkceRequired
    await saveSettings(tx, id, { ...settings, name, pkceRequired })
    const about = { actor: actorOf(by), accountId: account.id, applicationId: id }
    await recordEvent(tx, { kind: 'application.changed', ...about, detail: { ...settings, name, pkceRequired } })
    if (application.vouchedFor && typeof by === 'string')
      await proposeProfile(tx, application, by, { name: settings.name })
    return { outcome: 'saved' }
  })
}

export type SecretResult =
  | { readonly outcome: 'added'; readonly id: string; readonly secret: string }
  /** `public`: has no secrets. `too_many`: one has to be revoked first. */
  | { readonly outcome: 'not_found' | 'public' | 'too_many' }
  | Forbidden

/** Adds a secret next to the existing ones. None is revoked automatically: devices that use it would stop working. */
export function addOwnSecret(context: Context, by: By, id: string, label: string | null): Promise<SecretResult> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<SecretResult> => {
    const application = await readOwnApplication(tx, account.id, id)
    if (!application) return { outcome: 'not_found' }
    if (application.public) return { outcome: 'public' }
    if (application.secretLines.length >= MAX_LIVE_SECRETS) return { outcome: 'too_many' }
    await markApplicationChanged(tx, id)
    const added = await addSecret(tx, context.config.keys, id, label)
    const about = { actor: actorOf(by), accountId: account.id, applicationId: id }
    await recordEvent(tx, { kind: 'application.secret_rotated', ...about, detail: { revokedSecrets: [] } })
    return { outcome: 'added', ...added }
  })
}

/** Returns the plain secret, which cannot be read again. */
async function addSecret(
  tx: Transaction,
  keys: Keyset,
  applicationId: string,
  label: string | null,
): Promise<{ readonly id: string; readonly secret: string }> {
  const id = createId('sec')
  const secret = createApplicationSecret()
  const digest = digestApplicationSecret(keys, secret)
  await insertSecret(tx, applicationId, { id, keyId: keys.signing.id, digest, label })
  return { id, secret }
}

export type SecretRemoval = { readonly outcome: 'revoked' | 'not_found' | 'last' } | Forbidden

/** Refuses to revoke the last secret: the application would stop working, with no way to tell its devices. */
export function revokeOwnSecret(context: Context, by: By, id: string, secretId: string): Promise<SecretRemoval> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<SecretRemoval> => {
    const application = await readOwnApplication(tx, account.id, id)
    if (!application?.secretLines.some((secret) => secret.id === secretId)) return { outcome: 'not_found' }
    if (application.secretLines.length === 1) return { outcome: 'last' }
    await markApplicationChanged(tx, id)
    await revokeSecret(tx, id, secretId)
    const about = { actor: actorOf(by), accountId: account.id, applicationId: id }
    await recordEvent(tx, { kind: 'application.secret_revoked', ...about, detail: { secret: secretId } })
    return { outcome: 'revoked' }
  })
}

export type ApplicationRemoval = { readonly outcome: 'deleted' | 'not_found' } | Forbidden

/** Ends every grant. The name can be used again; the id never is. */
export function deleteOwnApplication(context: Pick<Context, 'db'>, by: By, id: string): Promise<ApplicationRemoval> {
  return asAdministratorOrKey(context, by, async (tx, account): Promise<ApplicationRemoval> => {
    const actor = actorOf(by)
    if (!(await readOwnApplication(tx, account.id, id))) return { outcome: 'not_found' }
    await endTestModeOf(tx, actor, id)
    if (!(await lockOwnApplication(tx, account.id, id))) return { outcome: 'not_found' }
    await revokeGrants(tx, actor, { applicationId: id }, 'application_deleted')
    await deleteProposal(tx, id)
    await setDeleted(tx, id)
    await recordEvent(tx, { kind: 'application.deleted', actor, accountId: account.id, applicationId: id })
    return { outcome: 'deleted' }
  })
}
