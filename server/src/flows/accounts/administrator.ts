/** Guard for everything that only an administrator may change: people, roles, policy, branding. */
import { type Actor, byManagementKey, byUser } from '../../core/audit/actor.ts'
import { type Gives, scopeToGive } from '../../core/manage/key.ts'
import { MissingScope } from '../../core/manage/missing-scope.ts'
import { type Account, lockAccount } from '../../store/accounts/accounts.ts'
import { lockUser, readUser, type User } from '../../store/accounts/users.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

export type Forbidden = { readonly outcome: 'forbidden' }

/** A management key, which acts as an administrator of one account at a time. */
export type ByKey = {
  readonly managementKeyId: string
  readonly label: string
  readonly accountId: string
  readonly scopes: readonly string[]
}

/** Who asks: an administrator, by their id, or a management key. */
export type By = string | ByKey

export function actorOf(by: By): Actor {
  return typeof by === 'string' ? byUser(by) : byManagementKey(by.managementKeyId)
}

/** `email`: null for a management key, which has none. `givers`: empty for a management key. */
export type Administrator = Pick<User, 'id' | 'accountId' | 'language'> & {
  readonly email: string | null
  readonly actor: Actor
  readonly givers: readonly string[]
}

/** Throws a MissingScope if a management key may not give this. An administrator may give everything. */
export function checkMayGive(by: By, gives: Gives): void {
  const missing = typeof by === 'string' ? null : scopeToGive(by.scopes, gives)
  if (missing !== null) throw new MissingScope(missing)
}

/**
 * Runs `work` in a transaction that locks the account, so changes of one account are serialized. The caller's role is
 * checked after the lock: of two administrators who remove each other's role, the second is rejected. The account is
 * always the administrator's own; callers cannot name another.
 */
export function asAdministrator<T>(
  context: Pick<Context, 'db'>,
  by: string,
  work: (tx: Transaction, account: Account, administrator: User) => Promise<T>,
): Promise<T | Forbidden> {
  return context.db.transaction(async (tx) => {
    const known = await readUser(tx, by)
    const account = known && (await lockAccount(tx, known.accountId))
    const user = account && (await lockUser(tx, by))
    if (!account || !user || user.disabled || !user.administrator) return { outcome: 'forbidden' }
    return work(tx, account, user)
  })
}

/** The same for changes that a management key may make as well. */
export function asAdministratorOrKey<T>(
  context: Pick<Context, 'db'>,
  by: By,
  work: (tx: Transaction, account: Account, administrator: Administrator) => Promise<T>,
): Promise<T | Forbidden> {
  if (typeof by === 'string') {
    return asAdministrator(context, by, (tx, account, user) =>
      work(tx, account, { ...user, actor: actorOf(by), givers: [user.id] }),
    )
  }
  return context.db.transaction(async (tx) => {
    const account = await lockAccount(tx, by.accountId)
    // No management key administers the operators' account, whatever the caller has checked.
    if (!account || account.hasOperators) return { outcome: 'forbidden' }
    const { managementKeyId: id, accountId } = by
    return work(tx, account, { id, accountId, email: null, language: null, actor: actorOf(by), givers: [] })
  })
}
