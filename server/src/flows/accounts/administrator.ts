/** Guard for everything that only an administrator may change: people, roles, policy, branding. */
import { type Actor, BY_COMMAND_LINE, byUser } from '../../core/audit/actor.ts'
import { type Gives, managementScopes, scopeToGive } from '../../core/manage/key.ts'
import { MissingScope } from '../../core/manage/missing-scope.ts'
import { type Account, lockAccount } from '../../store/accounts/accounts.ts'
import { lockUser, readUser, type User } from '../../store/accounts/users.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

export type Forbidden = { readonly outcome: 'forbidden' }

/** Who calls the management API: a management key, or the command line on the machine itself. */
export type Caller = {
  readonly actor: Actor
  /** The only account that it reaches; null: the whole service. */
  readonly accountId: string | null
  readonly scopes: readonly string[]
}

/** May do everything, and alone reaches the operators' account. No request over HTTP acts as it. */
export const COMMAND_LINE_CALLER: Caller = { actor: BY_COMMAND_LINE, accountId: null, scopes: managementScopes }

/** A caller that acts as an administrator of one account. */
export type ByCaller = Caller & { readonly accountId: string }

/** Who asks: an administrator, by their id, or a caller of the management API. */
export type By = string | ByCaller

export function actorOf(by: By): Actor {
  return typeof by === 'string' ? byUser(by) : by.actor
}

export function isCommandLine({ actor }: Pick<Caller, 'actor'>): boolean {
  return actor === BY_COMMAND_LINE
}

/** `email`: null for a caller of the management API, which has none. `givers`: empty for such a caller. */
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

/** The same for changes that a caller of the management API may make as well. */
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
    if (!account || (account.hasOperators && !isCommandLine(by))) return { outcome: 'forbidden' }
    const { actor, accountId } = by
    return work(tx, account, { id: actor.id, accountId, email: null, language: null, actor, givers: [] })
  })
}
