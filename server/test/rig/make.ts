/** Builders, one per noun. Each creates a real row through the flow that creates it in production, and returns what a test needs. */
import { type Config, everyOption, readConfig } from '../../src/config.ts'
import type { Registered } from '../../src/flows/accounts/register.ts'
import { joining } from '../../src/flows/manage/change.ts'
import { createKey } from '../../src/secrets/keyset.ts'
import { listRoles } from '../../src/store/accounts/roles.ts'
import type { Postgres, Queryable } from '../../src/store/postgres/postgres.ts'
import { makeRegistration } from './application-settings.ts'
import { createAccount, createApplication, createRole, createScope, createUser } from './create.ts'
import { elsewhereOf, elsewhereSettings } from './origins/users-from.ts'

export const TEST_KEYS = createKey(1)

/** Configuration of a test's service: defaults, a quiet log, and the given settings. */
export function makeConfig(environment: Record<string, string>): Config {
  return readConfig(everyOption, { ...makeEnvironment(environment) })
}

export function makeEnvironment(environment: Record<string, string>): Record<string, string> {
  return {
    LATCHKEY_KEYS: TEST_KEYS,
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'error',
    DRAIN_SECONDS: '0',
    // All tests send requests from one network, as fast as they can.
    CODE_REQUESTS_PER_NETWORK: '0',
    CODE_REQUESTS_PER_APPLICATION: '0',
    DIALOGS_PER_NETWORK: '0',
    OVERLOAD_DELAY: '0',
    ...elsewhereSettings(environment.DATABASE_URL),
    ...environment,
  }
}

let count = 0
const next = () => {
  count += 1
  return count
}

export async function makeAccount(db: Postgres, given: { slug?: string } = {}): Promise<{ id: string; slug: string }> {
  const slug = given.slug ?? `account-${process.pid}-${next()}`
  return { ...done(await createAccount(db, { slug, name: `Account ${slug}` })), slug }
}

export async function makeScopes(db: Postgres, names: readonly string[]): Promise<void> {
  for (const name of names) await createScope(db, { name, title: `May ${name}` })
}

export type MadeUser = { readonly id: string; readonly email: string }

/**
 * `holds`: exactly these scopes. `role`: a role of the account. Neither: an administrator, who holds every scope. Only Latchkey's
 * own users have a password.
 */
export async function makeUser(
  db: Postgres,
  account: string,
  given: { holds?: readonly string[]; role?: string; password?: string | null; email?: string } = {},
): Promise<MadeUser> {
  const number = next()
  const role = given.holds ? `role ${number}` : (given.role ?? 'administrator')
  if (given.holds) done(await createRole(db, { account, name: role, scopes: given.holds }))
  const email = given.email ?? `user${number}@${account}.example`
  const user = { account, email, roles: [role] }
  const elsewhere = elsewhereOf(db, account)
  if (elsewhere) {
    const made = await elsewhere.addUser(user)
    await forgetAnnouncement(db, made)
    return { ...made, email }
  }
  return db.transaction(async (tx) => {
    const inside = joining({ db }, tx).db
    const made = done(await createUser(inside, { ...user, password: given.password ?? null }))
    await forgetAnnouncement(tx, made)
    return { ...made, email }
  })
}

/** Administrators whom tests make are there from the start: the others are not told of them. */
async function forgetAnnouncement(db: Queryable, { id }: { id: string }): Promise<void> {
  await db.query("delete from mails where kind = 'administrator_made' and detail->>'user' = $1", [id])
}

export type StaffedAccount = {
  readonly account: { readonly id: string; readonly slug: string }
  /** Their ids. */
  readonly roles: { readonly administrator: string; readonly clerk: string }
}

/** An account with the two usual roles and no users. */
export async function makeStaffedAccount(db: Postgres): Promise<StaffedAccount> {
  const account = await makeAccount(db)
  await makeScopes(db, ['orders:read'])
  done(await createRole(db, { account: account.slug, name: 'clerk', scopes: ['orders:read'] }))
  const known = await listRoles(db, account.id)
  const idOf = (name: string) => known.find((role) => role.name === name)?.id ?? ''
  return { account, roles: { administrator: idOf('administrator'), clerk: idOf('clerk') } }
}

/** The secret of a public application is empty, as in a form. */
export type MadeApplication = { readonly id: string; readonly secret: string }

/** Redirect URI of the rig's applications, without a listener. */
export const CALLBACK = 'https://app.example/callback'

export async function makeApplication(
  db: Postgres,
  config: Config,
  account: string,
  given: Partial<Parameters<typeof createApplication>[2]> = {},
): Promise<MadeApplication> {
  const allowedScopes = given.allowedScopes ?? ['orders:read', 'orders:write']
  await makeScopes(db, allowedScopes)
  const { id, secret } = done(
    await createApplication(
      db,
      config.keys,
      makeRegistration(account, {
        name: `Application ${next()}`,
        allowedScopes,
        defaultScopes: ['orders:read'].filter((name) => allowedScopes.includes(name)),
        ...given,
      }),
    ),
  )
  return { id, secret: secret ?? '' }
}

function done<T>(result: Registered<T>): T {
  if (result.outcome === 'refused') throw new Error(result.reason)
  return result.value
}
