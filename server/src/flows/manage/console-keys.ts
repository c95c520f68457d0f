/**
 * Management keys in the consoles: administrators manage those of their account, operators those of the whole service
 * (docs/history.md#0052).
 */
import { byOperator, byUser } from '../../core/audit/actor.ts'
import {
  isKeyLabel,
  isManagementScope,
  isWithinReach,
  managementScopes,
  mayOperatorGive,
} from '../../core/manage/key.ts'
import { findKeyOf, type ManagementKey } from '../../store/manage/keys.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { asAdministrator, type Forbidden } from '../accounts/administrator.ts'
import type { Context } from '../context.ts'
import { asOperator } from '../operator/operator.ts'
import { joining } from './change.ts'
import {
  type CreatedKey,
  createKey,
  type KeyMaker,
  type Rotation,
  readKeyNetworks,
  revokeKey,
  rotateKey,
} from './keys.ts'

/** Whose keys: the account's, or the whole service's. */
export type KeysOf = 'account' | 'service'

/** Scopes that a key may get in this console. */
export function scopesOffered(of: KeysOf): readonly string[] {
  return managementScopes.filter((scope) => (of === 'account' ? isWithinReach(scope, of) : mayOperatorGive(scope)))
}

/** Whether a new secret of this key may be shown in the console. */
export function isRotatable(of: KeysOf, { state, scopes }: Pick<ManagementKey, 'state' | 'scopes'>): boolean {
  return state === 'live' && scopes.every((scope) => isManagementScope(scope) && scopesOffered(of).includes(scope))
}

export type ConsoleKeyWish = {
  readonly label: string
  readonly scopes: readonly string[]
  readonly lifetimeMs: number
  readonly networks: string
}

export type ShownKey = CreatedKey & { readonly outcome: 'shown'; readonly label: string }

export type KeyCreation =
  | ShownKey
  /** The invalid input. */
  | { readonly outcome: 'label' | 'scope' | 'networks' | 'invalid' }
  | Forbidden

export function createConsoleKey(context: Context, of: KeysOf, by: string, wish: ConsoleKeyWish): Promise<KeyCreation> {
  return asKeeper<KeyCreation>(context, of, by, async (_, { maker, slug }) => {
    if (!isKeyLabel(wish.label)) return { outcome: 'label' }
    const offered = scopesOffered(of)
    if (wish.scopes.some((scope) => !offered.includes(scope))) return { outcome: 'invalid' }
    if (wish.scopes.length === 0) return { outcome: 'scope' }
    if (readKeyNetworks(wish.networks) === null) return { outcome: 'networks' }
    const made = await createKey(maker, { ...wish, account: slug })
    return made.outcome === 'refused' ? { outcome: 'invalid' } : { ...made.value, outcome: 'shown', label: wish.label }
  })
}

type Missing = { readonly outcome: 'not_found' | 'invalid' }

export function rotateConsoleKey(
  context: Context,
  of: KeysOf,
  by: string,
  id: string,
  rotation: Rotation,
): Promise<ShownKey | Missing | Forbidden> {
  return asKeeper<ShownKey | Missing>(context, of, by, async (tx, { maker, accountId }) => {
    const known = await findKeyOf(tx, accountId, id)
    if (!known) return { outcome: 'not_found' }
    if (!isRotatable(of, known)) return { outcome: 'invalid' }
    const made = await rotateKey(maker, id, rotation)
    return made.outcome === 'refused' ? { outcome: 'invalid' } : { ...made.value, outcome: 'shown', label: known.label }
  })
}

/** Revoking twice is the same as once. */
export function revokeConsoleKey(
  context: Context,
  of: KeysOf,
  by: string,
  id: string,
): Promise<{ readonly outcome: 'revoked' } | Missing | Forbidden> {
  return asKeeper<{ readonly outcome: 'revoked' } | Missing>(context, of, by, async (tx, { maker, accountId }) => {
    if (!(await findKeyOf(tx, accountId, id))) return { outcome: 'not_found' }
    await revokeKey(maker, id)
    return { outcome: 'revoked' }
  })
}

type Keeper = { readonly maker: KeyMaker; readonly accountId: string | null; readonly slug: string | null }

function asKeeper<T>(
  context: Context,
  of: KeysOf,
  by: string,
  work: (tx: Transaction, keeper: Keeper) => Promise<T>,
): Promise<T | Forbidden> {
  const { keys, operatorAccount } = context.config
  const makerIn = (tx: Transaction, actor: KeyMaker['actor']) => ({
    db: joining(context, tx).db,
    keys,
    operatorAccount,
    actor,
  })
  if (of === 'service') {
    const whole = { accountId: null, slug: null }
    return asOperator<T>(context, by, (tx) => work(tx, { ...whole, maker: makerIn(tx, byOperator(by)) }))
  }
  return asAdministrator<T | Forbidden>(context, by, async (tx, { id, slug, hasOperators }) => {
    if (hasOperators || slug === operatorAccount) return { outcome: 'forbidden' }
    return work(tx, { accountId: id, slug, maker: makerIn(tx, byUser(by)) })
  })
}
