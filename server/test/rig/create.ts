/** Accounts, roles, users and applications, created and changed as the command line does. */
import type { Config } from '../../src/config.ts'
import { explainSettings } from '../../src/core/applications/settings-in-words.ts'
import { BY_COMMAND_LINE } from '../../src/core/audit/actor.ts'
import { type ByCaller, COMMAND_LINE_CALLER } from '../../src/flows/accounts/administrator.ts'
import {
  addAccount,
  createScope as addScope,
  done,
  type NewAccount,
  type Registered,
  refused,
} from '../../src/flows/accounts/register.ts'
import { saveRole } from '../../src/flows/accounts/roles.ts'
import {
  addOwnSecret,
  changeSettings,
  type NewOwnApplication,
  registerApplication,
  revokeOwnSecret,
} from '../../src/flows/applications/own.ts'
import type { Context } from '../../src/flows/context.ts'
import { createManagedUser } from '../../src/flows/manage/users.ts'
import type { Keyset } from '../../src/secrets/keyset.ts'
import { digestPassword } from '../../src/secrets/password.ts'
import { findAccount } from '../../src/store/accounts/accounts.ts'
import { listRoles } from '../../src/store/accounts/roles.ts'
import { findApplication } from '../../src/store/applications/applications.ts'
import { readOwnApplication } from '../../src/store/applications/own.ts'
import type { Postgres } from '../../src/store/postgres/postgres.ts'
import { savePassword } from '../../src/store/sign-in/methods.ts'

export async function byCommandLine(db: Postgres, account: string): Promise<ByCaller> {
  const { id: accountId = '' } = (await findAccount(db, account)) ?? {}
  return { ...COMMAND_LINE_CALLER, accountId }
}

export function createAccount(db: Postgres, account: NewAccount): Promise<Registered<{ id: string }>> {
  return db.transaction((tx) => addAccount(tx, account, BY_COMMAND_LINE))
}

export function createScope(db: Postgres, scope: Parameters<typeof addScope>[1]): ReturnType<typeof addScope> {
  return addScope(db, scope, BY_COMMAND_LINE)
}

export async function createRole(
  db: Postgres,
  { account, ...role }: { account: string; name: string; scopes: readonly string[] },
): Promise<Registered<{ id: string }>> {
  const result = await saveRole({ db }, await byCommandLine(db, account), { id: null, ...role })
  return result.outcome === 'saved' ? done({ id: result.id }) : refused(result.outcome)
}

export type NewUser = {
  readonly account: string
  readonly email: string
  /** By name. */
  readonly roles: readonly string[]
  readonly password: string | null
  readonly externalId?: string | null | undefined
}

export async function createUser(
  db: Postgres,
  { account, email, roles, password, externalId = null }: NewUser,
  operatorAccount: string | null = null,
  signInUrl: string | null = null,
): Promise<Registered<{ id: string }>> {
  const by = await byCommandLine(db, account)
  const chosen = (await listRoles(db, by.accountId)).filter(({ name }) => roles.includes(name))
  const wish = { email, name: null, externalId, roleIds: chosen.map(({ id }) => id), permissions: [], invite: false }
  const made = await createManagedUser({ db, config: { operatorAccount, signInUrl } }, by, wish)
  if (made.outcome !== 'created') return refused(made.outcome)
  const digest = password === null ? null : await digestPassword(password)
  if (digest !== null) await db.transaction((tx) => savePassword(tx, made.userId, digest))
  return done({ id: made.userId })
}

export type NewApplication = NewOwnApplication & { readonly account: string }

export async function createApplication(
  db: Postgres,
  keys: Keyset,
  { account, ...wish }: NewApplication,
): Promise<Registered<{ id: string; secret: string | null }>> {
  const context = { db, config: { keys } as Config }
  const by = await byCommandLine(db, account)
  const result = await registerApplication(context, by, { ...wish, approved: true })
  if (result.outcome === 'unfit') return refused(explainSettings(result.problem))
  return result.outcome === 'registered' ? done(result) : refused(result.outcome)
}

async function readApplication({ db }: Context, id: string) {
  const { accountId = '' } = (await findApplication(db, id)) ?? {}
  const application = await readOwnApplication(db, accountId, id)
  if (!application) throw new Error(`there is no application ${id}`)
  return { by: { ...COMMAND_LINE_CALLER, accountId }, application }
}

export async function setRedirects(context: Context, id: string, redirectUris: readonly string[]): Promise<string> {
  const { by, application } = await readApplication(context, id)
  return (await changeSettings(context, by, id, { ...application, redirectUris })).outcome
}

/** The fourth secret ends the oldest. */
export async function rotateSecret(context: Context, id: string): Promise<string> {
  const { by, application } = await readApplication(context, id)
  for (const oldest of application.secretLines.slice(2)) await revokeOwnSecret(context, by, id, oldest.id)
  const added = await addOwnSecret(context, by, id, null)
  if (added.outcome !== 'added') throw new Error(added.outcome)
  return added.secret
}
