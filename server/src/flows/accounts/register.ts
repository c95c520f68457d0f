/** Registration on the command line: accounts, roles, users, scopes. */

import { EXTERNAL_ID, isExternalId, NAME, problemOfAccount } from '../../core/accounts/account.ts'
import { isName } from '../../core/applications/name.ts'
import { type Actor, BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import { isScopeName } from '../../core/grants/scope.ts'
import { readEmail } from '../../core/sign-in/email.ts'
import { originOfNewUsers } from '../../core/sign-in/origin.ts'
import { MAX_CHARACTERS, MIN_CHARACTERS } from '../../core/sign-in/password.ts'
import { digestPassword } from '../../secrets/password.ts'
import { createId } from '../../secrets/random.ts'
import { findAccount, findAccountId, insertAccount } from '../../store/accounts/accounts.ts'
import { insertRole, listRoles } from '../../store/accounts/roles.ts'
import { insertUser } from '../../store/accounts/users.ts'
import { insertScope, unknownScopes } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { noteOperatorChange } from '../operator/by-command-line.ts'
import { problemOfPassword } from '../sign-in/chosen-password.ts'
import { announceAdministrator } from './announce-administrator.ts'

/** Name of the role with every scope that each new account starts with, so that one user can grant everything. */
export const ADMINISTRATOR = 'administrator'

/** A refusal carries a sentence, because a person typed the command. */
export type Registered<T> =
  | { readonly outcome: 'done'; readonly value: T }
  /** `exists`: there is such a thing already. */
  | { readonly outcome: 'refused'; readonly reason: string; readonly exists?: true }

export const refused = (reason: string) => ({ outcome: 'refused', reason }) as const
export const exists = (reason: string) => ({ outcome: 'refused', reason, exists: true }) as const
export const done = <T>(value: T) => ({ outcome: 'done', value }) as const

async function alreadyThere(tx: Transaction, { slug, externalId = null }: NewAccount): Promise<string> {
  if ((await findAccountId(tx, slug)) !== null && !(await findAccount(tx, slug)))
    return `The account "${slug}" was closed. Its slug is not given again: choose another one.`
  const named = externalId === null ? `"${slug}"` : `"${slug}", or one with the external id ${externalId},`
  return `An account ${named} exists already.`
}

export type NewAccount = { readonly slug: string; readonly name: string; readonly externalId?: string | null }

export function createAccount(db: Postgres, account: NewAccount): Promise<Registered<{ id: string }>> {
  return db.transaction((tx) => addAccount(tx, account))
}

export async function addAccount(
  tx: Transaction,
  account: NewAccount,
  actor: Actor = BY_COMMAND_LINE,
): Promise<Registered<{ id: string }>> {
  const { slug, name } = account
  const problem = problemOfAccount({ externalId: null, ...account })
  if (problem !== null) return refused(problem.message)
  const id = createId('acc')
  const { externalId = null } = account
  if (!(await insertAccount(tx, { id, slug, name, externalId }))) return exists(await alreadyThere(tx, account))
  const role = { id: createId('rol'), accountId: id, name: ADMINISTRATOR, holdsEveryScope: true, scopes: [] }
  await insertRole(tx, role)
  await recordEvent(tx, { kind: 'account.created', actor, accountId: id })
  return done({ id })
}

export function createRole(
  db: Postgres,
  role: { account: string; name: string; scopes: readonly string[] },
): Promise<Registered<{ id: string }>> {
  return db.transaction(async (tx) => {
    const account = await findAccount(tx, role.account)
    if (!account) return refused(`There is no account "${role.account}".`)
    if (!isName(role.name)) return refused(NAME)
    const unknown = await unknownScopes(tx, role.scopes)
    if (unknown.length > 0) return refused(`Not in the scope catalogue: ${unknown.join(', ')}.`)
    const id = createId('rol')
    const inserted = await insertRole(tx, { ...role, id, accountId: account.id, holdsEveryScope: false })
    if (!inserted) return refused(`The account "${role.account}" has a role "${role.name}" already.`)
    await recordEvent(tx, { kind: 'role.created', actor: BY_COMMAND_LINE, accountId: account.id, detail: { role: id } })
    return done({ id })
  })
}

type NewUser = {
  readonly account: string
  readonly email: string
  readonly roles: readonly string[]
  /** Id at the service that adopted Latchkey; needed if users sign in there. */
  readonly externalId?: string | undefined
}

/** `operatorAccount`: its slug; its administrators are notified of a new operator. */
export async function createUser(
  db: Postgres,
  user: NewUser & { readonly password: string | null },
  operatorAccount: string | null = null,
  signInUrl: string | null = null,
): Promise<Registered<{ id: string }>> {
  if (user.password !== null) {
    const given = { password: user.password, again: user.password }
    const problem = await problemOfPassword(given, { email: user.email, names: [user.account] })
    if (problem === 'common')
      return refused('This password is easy to guess. Choose one that is not made of common words.')
    if (problem) return refused(`A password has ${MIN_CHARACTERS} to ${MAX_CHARACTERS} characters.`)
  }
  const passwordDigest = user.password === null ? null : await digestPassword(user.password)
  return db.transaction((tx) => addUser(tx, { ...user, passwordDigest }, operatorAccount, signInUrl))
}

export async function addUser(
  tx: Transaction,
  user: NewUser & { readonly passwordDigest: string | null },
  operatorAccount: string | null,
  signInUrl: string | null,
  actor: Actor = BY_COMMAND_LINE,
): Promise<Registered<{ id: string }>> {
  const email = readEmail(user.email)
  if (email === null) return refused(`"${user.email}" is not an e-mail address.`)
  const account = await findAccount(tx, user.account)
  if (!account) return refused(`There is no account "${user.account}".`)
  const { externalId = null } = user
  const operators = account.slug === operatorAccount || account.hasOperators
  const origin = originOfNewUsers({ operators, handOver: signInUrl !== null })
  if (operators && externalId !== null)
    return refused('Operators are users of Latchkey itself: leave out --external-id.')
  if (origin === 'host' && externalId === null)
    return refused(`Users of "${user.account}" sign in at ${signInUrl}: give their id there with --external-id.`)
  if (origin === 'host' && user.passwordDigest !== null)
    return refused('A user who signs in elsewhere has no password here.')
  if (externalId !== null && !isExternalId(externalId)) return refused(EXTERNAL_ID)
  const known = await listRoles(tx, account.id)
  const missing = user.roles.filter((name) => !known.some((role) => role.name === name))
  if (missing.length > 0) {
    const offered = known.map((role) => role.name).join(', ')
    return refused(`The account "${user.account}" has no role "${missing.join('", "')}". It has: ${offered}.`)
  }
  const chosen = known.filter((role) => user.roles.includes(role.name))
  const roleIds = chosen.map((role) => role.id)
  const id = createId('usr')
  const { passwordDigest } = user
  const inserted = await insertUser(tx, {
    id,
    accountId: account.id,
    email,
    passwordDigest,
    roleIds,
    origin,
    externalId,
  })
  if (!inserted) {
    const named = externalId === null ? email : `${email}, or one with the external id ${externalId},`
    return exists(`The account "${user.account}" has a user ${named} already.`)
  }
  await recordEvent(tx, { kind: 'user.created', actor, accountId: account.id, userId: id })
  const administrator = chosen.some((role) => role.holdsEveryScope)
  if (administrator && !operators) await announceAdministrator(tx, actor, { id, accountId: account.id })
  await noteOperatorChange(tx, { account, operatorAccount, change: 'create', user: { id, email, administrator } })
  return done({ id })
}

export function createScope(
  db: Postgres,
  scope: { name: string; title: string; dangerous?: boolean; deviceFlow?: boolean },
  actor: Actor = BY_COMMAND_LINE,
): Promise<Registered<{ name: string }>> {
  const { name, title, dangerous = false, deviceFlow = true } = scope
  return db.transaction(async (tx) => {
    if (!isScopeName(name)) {
      return refused(`"${name}" cannot be a scope: use a-z, 0-9 and _ . : - inside, at most 64 characters.`)
    }
    if (!isName(title)) return refused(NAME)
    if (!(await insertScope(tx, { name, title, dangerous, deviceFlow })))
      return exists(`The scope "${name}" exists already.`)
    await recordEvent(tx, {
      kind: 'scope.created',
      actor,
      detail: { scope: name, dangerous, deviceFlow },
    })
    return done({ name })
  })
}
