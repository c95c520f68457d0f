/** Registration of accounts and scopes. */
import { NAME, problemOfAccount } from '../../core/accounts/account.ts'
import { isName } from '../../core/applications/name.ts'
import type { Actor } from '../../core/audit/actor.ts'
import { isScopeName } from '../../core/grants/scope.ts'
import { createId } from '../../secrets/random.ts'
import { findAccount, findAccountId, insertAccount } from '../../store/accounts/accounts.ts'
import { insertRole } from '../../store/accounts/roles.ts'
import { insertScope } from '../../store/applications/scopes.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'

/** A refusal carries a sentence, because a person may have typed the command. */
export type Registered<T> =
  | { readonly outcome: 'done'; readonly value: T }
  /** `exists`: there is such a thing already. */
  | { readonly outcome: 'refused'; readonly reason: string; readonly exists?: true }

export const refused = (reason: string) => ({ outcome: 'refused', reason }) as const
const exists = (reason: string) => ({ outcome: 'refused', reason, exists: true }) as const
export const done = <T>(value: T) => ({ outcome: 'done', value }) as const

async function alreadyThere(tx: Transaction, { slug, externalId = null }: NewAccount): Promise<string> {
  if ((await findAccountId(tx, slug)) !== null && !(await findAccount(tx, slug)))
    return `The account "${slug}" was closed. Its slug is not given again: choose another one.`
  const named = externalId === null ? `"${slug}"` : `"${slug}", or one with the external id ${externalId},`
  return `An account ${named} exists already.`
}

export type NewAccount = { readonly slug: string; readonly name: string; readonly externalId?: string | null }

/** `administrators`: id of the role with every scope that it starts with, so that one user can grant everything. */
export async function addAccount(
  tx: Transaction,
  account: NewAccount,
  actor: Actor,
): Promise<Registered<{ id: string; administrators: string }>> {
  const { slug, name } = account
  const problem = problemOfAccount({ externalId: null, ...account })
  if (problem !== null) return refused(problem.message)
  const id = createId('acc')
  const { externalId = null } = account
  if (!(await insertAccount(tx, { id, slug, name, externalId }))) return exists(await alreadyThere(tx, account))
  const role = { id: createId('rol'), accountId: id, name: 'administrator', holdsEveryScope: true, scopes: [] }
  await insertRole(tx, role)
  await recordEvent(tx, { kind: 'account.created', actor, accountId: id })
  return done({ id, administrators: role.id })
}

export function createScope(
  db: Postgres,
  scope: { name: string; title: string; dangerous?: boolean; deviceFlow?: boolean },
  actor: Actor,
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
