/** Management keys: created, listed, rotated and revoked. docs/decisions/0049-management-keys.md. */
import type { Actor } from '../../core/audit/actor.ts'
import {
  isKeyLabel,
  isManagementScope,
  isWithinReach,
  MAX_LABEL_LENGTH,
  MAX_LIFETIME_MS,
  MAX_NETWORKS,
  MAX_OVERLAP_MS,
  managementScopes,
} from '../../core/manage/key.ts'
import type { Keyset } from '../../secrets/keyset.ts'
import { createManagementKey, digestManagementKey } from '../../secrets/manage/key.ts'
import { createId } from '../../secrets/random.ts'
import { networks } from '../../setting-texts.ts'
import { findAccount } from '../../store/accounts/accounts.ts'
import { recordEvent } from '../../store/audit/events.ts'
import {
  insertManagementKey,
  lockManagementKey,
  type ManagementKey,
  revokeManagementKey,
  rotateManagementKey,
} from '../../store/manage/keys.ts'
import type { Postgres, Transaction } from '../../store/postgres/postgres.ts'
import { done, type Registered, refused } from '../accounts/register.ts'
import { hasOperators } from '../operator/operator.ts'

export type KeyWish = {
  /** Slug of the only account that the key reaches; null: the whole service. */
  readonly account: string | null
  readonly label: string
  readonly scopes: readonly string[]
  readonly lifetimeMs: number
  /** The only networks from which it is accepted, as typed: addresses or CIDR notation. Empty: from everywhere. */
  readonly networks: string
}

/** The key is returned here only and never stored in plain text. */
export type CreatedKey = { readonly id: string; readonly key: string; readonly expiresAt: number }

/** Who makes, rotates or revokes keys, with the settings that this needs. */
export type KeyMaker = {
  readonly db: Postgres
  readonly keys: Keyset
  readonly operatorAccount: string | null
  readonly actor: Actor
}

export function createKey(maker: KeyMaker, wish: KeyWish): Promise<Registered<CreatedKey>> {
  return maker.db.transaction(async (tx): Promise<Registered<CreatedKey>> => {
    const account = wish.account === null ? null : await findAccount(tx, wish.account)
    if (wish.account !== null && !account) return refused(`There is no account "${wish.account}".`)
    if (account && hasOperators(maker, account))
      return refused(`"${account.slug}" is the operators’ account: no management key reaches it.`)
    const problem = problemOf(wish)
    if (problem !== null) return refused(problem)
    const accepted = readKeyNetworks(wish.networks)
    if (accepted === null)
      return refused(`Networks are written as 192.0.2.0/24 or 2001:db8::/32, at most ${MAX_NETWORKS} of them.`)
    const id = createId('mgk')
    const key = createManagementKey()
    const scopes = managementScopes.filter((scope) => wish.scopes.includes(scope))
    const accountId = account?.id ?? null
    const digest = digestManagementKey(maker.keys, key)
    await insertManagementKey(tx, {
      id,
      accountId,
      label: wish.label,
      scopes,
      ...digest,
      lifetimeMs: wish.lifetimeMs,
      networks: accepted,
      createdBy: maker.actor.id,
    })
    const limits = accepted.length === 0 ? {} : { networks: accepted }
    await record(tx, maker.actor, 'management_key.created', { id, accountId }, { scopes, ...limits })
    return shown(tx, id, key)
  })
}

/** Null: too many, or something else than networks. */
export function readKeyNetworks(text: string): readonly string[] | null {
  try {
    const given = networks(text)
    return given.length <= MAX_NETWORKS ? given : null
  } catch {
    return null
  }
}

function problemOf({ account, label, scopes, lifetimeMs }: KeyWish): string | null {
  if (!isKeyLabel(label)) return `A label has 1 to ${MAX_LABEL_LENGTH} characters and contains no address to open.`
  if (scopes.length === 0) return `A key needs a scope. There are: ${managementScopes.join(', ')}.`
  const unknown = scopes.filter((scope) => !isManagementScope(scope))
  if (unknown.length > 0)
    return `Not scopes of a key: ${unknown.join(', ')}. There are: ${managementScopes.join(', ')}.`
  const beyond = scopes.filter((scope) => isManagementScope(scope) && !isWithinReach(scope, account))
  const reach = account === null ? 'one account' : 'the whole service'
  if (beyond.length > 0) return `Only a key that reaches ${reach} can have ${beyond.join(', ')}.`
  return lifetimeMs > 0 && lifetimeMs <= MAX_LIFETIME_MS ? null : 'A key lives at most 366 days.'
}

export type Rotation = {
  /** How long the replaced secret is still accepted. */
  readonly overlapMs: number
  readonly lifetimeMs: number
}

/** Replaces the secret of a key; its id, reach and scopes stay. */
export function rotateKey(maker: KeyMaker, id: string, rotation: Rotation): Promise<Registered<CreatedKey>> {
  return maker.db.transaction(async (tx): Promise<Registered<CreatedKey>> => {
    const { overlapMs, lifetimeMs } = rotation
    if (overlapMs < 0 || overlapMs > MAX_OVERLAP_MS) return refused('The overlap is at most 7 days.')
    if (lifetimeMs <= 0 || lifetimeMs > MAX_LIFETIME_MS) return refused('A key lives at most 366 days.')
    const known = await lockManagementKey(tx, id)
    if (!known) return refused(`There is no management key "${id}".`)
    if (known.state !== 'live') return refused(`The management key "${id}" is ${known.state}: create a new one.`)
    const key = createManagementKey()
    await rotateManagementKey(tx, id, { ...digestManagementKey(maker.keys, key), overlapMs, lifetimeMs })
    await record(tx, maker.actor, 'management_key.rotated', known, { overlapSeconds: overlapMs / 1000 })
    return shown(tx, id, key)
  })
}

/** Effective at once everywhere: every request asks PostgreSQL about its key. */
export function revokeKey(maker: Pick<KeyMaker, 'db' | 'actor'>, id: string): Promise<Registered<{ id: string }>> {
  return maker.db.transaction(async (tx): Promise<Registered<{ id: string }>> => {
    const known = await lockManagementKey(tx, id)
    if (!known) return refused(`There is no management key "${id}".`)
    if (!(await revokeManagementKey(tx, id))) return refused(`The management key "${id}" is revoked already.`)
    await record(tx, maker.actor, 'management_key.revoked', known, {})
    return done({ id })
  })
}

async function shown(tx: Transaction, id: string, key: string): Promise<Registered<CreatedKey>> {
  const saved = await lockManagementKey(tx, id)
  return done({ id, key, expiresAt: saved?.expiresAt ?? 0 })
}

function record(
  tx: Transaction,
  actor: Actor,
  kind: 'management_key.created' | 'management_key.rotated' | 'management_key.revoked',
  { id, accountId }: Pick<ManagementKey, 'id' | 'accountId'>,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  return recordEvent(tx, {
    kind,
    actor,
    ...(accountId === null ? {} : { accountId }),
    detail: { managementKey: id, ...detail },
  })
}
