/** The table management_keys. It holds digests only: the store never sees a key. */
import type { ManagementKeyDigest } from '../../secrets/manage/key.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type ManagementKey = {
  readonly id: string
  /** Null: reaches the whole service. */
  readonly accountId: string | null
  /** Slug of the account. */
  readonly account: string | null
  readonly label: string
  readonly scopes: readonly string[]
  readonly createdAt: number
  /** E-mail address of the user who created it in a console; null: created on the command line. */
  readonly createdBy: string | null
  readonly rotatedAt: number | null
  /** Until when the replaced secret is accepted; null: it is not. */
  readonly previousUntil: number | null
  readonly expiresAt: number
  readonly lastUsedAt: number | null
  /** From which network it was used then; null: unknown. */
  readonly lastNetwork: string | null
  /** The only networks from which it is accepted; empty: from everywhere. */
  readonly networks: readonly string[]
  readonly state: 'live' | 'expired' | 'revoked'
}

const KEY = `select k.id, k.account_id as "accountId", a.slug as account, k.label, k.scopes, k.created_at as "createdAt",
    c.email as "createdBy",
    k.rotated_at as "rotatedAt", case when k.previous_until > now() then k.previous_until end as "previousUntil",
    k.expires_at as "expiresAt", k.last_used_at as "lastUsedAt",
    k.last_network::text as "lastNetwork", k.networks::text[] as networks,
    case when k.revoked_at is not null then 'revoked' when k.expires_at <= now() then 'expired' else 'live' end as state
  from management_keys k left join accounts a on a.id = k.account_id
    left join users c on c.id = k.created_by`

export type NewManagementKey = Pick<ManagementKey, 'id' | 'accountId' | 'label' | 'scopes' | 'networks'> &
  ManagementKeyDigest & {
    readonly lifetimeMs: number
    /** Id of the actor. */
    readonly createdBy: string
  }

export async function insertManagementKey(tx: Transaction, key: NewManagementKey): Promise<void> {
  await tx.query(
    `insert into management_keys (id, account_id, label, scopes, key_id, digest, created_by, created_at, expires_at, networks)
     values ($1, $2, $3, $4, $5, $6, $7, now(), now() + $8 * interval '1 millisecond',
       array(select network(given::inet) from unnest($9::text[]) given))`,
    [
      ...[key.id, key.accountId, key.label, key.scopes, key.keyId, key.digest, key.createdBy, key.lifetimeMs],
      key.networks,
    ],
  )
}

/** `accountId`: only keys of this account; null: all. */
export async function listManagementKeys(db: Queryable, accountId: string | null): Promise<readonly ManagementKey[]> {
  const { rows } = await db.query<ManagementKey>(
    `${KEY} where $1::text is null or k.account_id = $1 order by k.created_at, k.id`,
    [accountId],
  )
  return rows
}

/** A page of a console: live keys first, then the newest. `accountId` null: only keys of the whole service. */
export async function listKeysOf(
  db: Queryable,
  accountId: string | null,
  limit: number,
): Promise<readonly ManagementKey[]> {
  const { rows } = await db.query<ManagementKey>(
    // Not `is not distinct from`, for which PostgreSQL uses no index.
    `${KEY} where (k.account_id = $1 or ($1::text is null and k.account_id is null))
     order by k.revoked_at is null and k.expires_at > now() desc, k.created_at desc, k.id limit $2`,
    [accountId, limit],
  )
  return rows
}

/** Null also for a key of another reach. */
export async function findKeyOf(db: Queryable, accountId: string | null, id: string): Promise<ManagementKey | null> {
  const { rows } = await db.query<ManagementKey>(`${KEY} where k.account_id is not distinct from $1 and k.id = $2`, [
    accountId,
    id,
  ])
  return rows[0] ?? null
}

export type PresentedKey = ManagementKey & {
  /** The server key of its digest. */
  readonly keyId: number
  /** Null: never. */
  readonly usedLately: boolean | null
  /** The secret is the one before, and the overlap is over. */
  readonly replaced: boolean
  readonly fromItsNetworks: boolean
  /** It was not used from this network before, as far as is known. */
  readonly newNetwork: boolean
}

/** By its current secret or by the one before, whatever its state. Asked anew for every request. */
export async function findManagementKey(
  db: Queryable,
  digests: readonly ManagementKeyDigest[],
  address: string | null,
  network: string | null,
): Promise<PresentedKey | null> {
  const { rows } = await db.query<PresentedKey>({
    name: 'find-management-key',
    text: `select found.*, k.key_id as "keyId", k.last_used_at > now() - interval '1 minute' as "usedLately",
        not (k.digest = any($1::bytea[]) or k.previous_until > now()) as replaced,
        cardinality(k.networks) = 0 or coalesce($2::inet <<= any(k.networks), false) as "fromItsNetworks",
        $3::cidr is not null and $3 <> all(k.used_networks)
          and coalesce(k.network_noted_at < now() - interval '1 minute', true) as "newNetwork"
      from (${KEY}) found join management_keys k on k.id = found.id
      where k.digest = any($1::bytea[]) or k.previous_digest = any($1::bytea[])`,
    values: [digests.map(({ digest }) => digest), address, network],
  })
  return rows[0] ?? null
}

/** Networks remembered of a key. */
const MAX_USED_NETWORKS = 100

/** How many are remembered with it. Null: it is known, or the last one was added less than a minute ago. */
export async function addUsedNetwork(tx: Transaction, id: string, network: string): Promise<number | null> {
  const { rows } = await tx.query<{ networks: number }>(
    `update management_keys set network_noted_at = now(),
       used_networks = used_networks[greatest(1, cardinality(used_networks) - ${MAX_USED_NETWORKS - 2}):] || $2::cidr
     where id = $1 and $2 <> all(used_networks) and coalesce(network_noted_at < now() - interval '1 minute', true)
     returning cardinality(used_networks) as networks`,
    [id, network],
  )
  return rows[0]?.networks ?? null
}

/** False when a new network of the key was mailed within a day. */
export async function markNetworkMailed(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update management_keys set network_mailed_at = now()
     where id = $1 and coalesce(network_mailed_at < now() - interval '1 day', true)`,
    [id],
  )
  return rowCount === 1
}

/** Writes the minute and network of last use, and the digest under the signing key if it was made with an older one. */
export async function markManagementKeyUsed(
  db: Queryable,
  id: string,
  network: string | null,
  digests: readonly ManagementKeyDigest[],
  renewed: ManagementKeyDigest,
): Promise<void> {
  await db.query({
    name: 'mark-management-key-used',
    text: `update management_keys set last_used_at = now(), last_network = $5,
        key_id = case when digest = any($2::bytea[]) then $3 else key_id end,
        digest = case when digest = any($2::bytea[]) then $4 else digest end
      where id = $1 and (last_used_at is null or last_used_at < now() - interval '1 minute'
        or (digest = any($2::bytea[]) and key_id <> $3))`,
    values: [id, digests.map(({ digest }) => digest), renewed.keyId, renewed.digest, network],
  })
}

export async function lockManagementKey(tx: Transaction, id: string): Promise<ManagementKey | null> {
  const { rows } = await tx.query<ManagementKey>(`${KEY} where k.id = $1 for no key update of k`, [id])
  return rows[0] ?? null
}

/** The current secret stays valid for the overlap, and no longer than the key itself was. */
export async function rotateManagementKey(
  tx: Transaction,
  id: string,
  next: ManagementKeyDigest & { readonly overlapMs: number; readonly lifetimeMs: number },
): Promise<void> {
  await tx.query(
    `update management_keys set previous_key_id = key_id, previous_digest = digest,
       previous_until = least(expires_at, now() + $4 * interval '1 millisecond'),
       key_id = $2, digest = $3, rotated_at = now(), expires_at = now() + $5 * interval '1 millisecond'
     where id = $1`,
    [id, next.keyId, next.digest, next.overlapMs, next.lifetimeMs],
  )
}

/** False when it was revoked before. */
export async function revokeManagementKey(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update management_keys set revoked_at = now() where id = $1 and revoked_at is null',
    [id],
  )
  return rowCount === 1
}
