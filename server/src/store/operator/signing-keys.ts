/** The table signing_keys: which keys of LATCHKEY_KEYS signed lately, and which were retired. Keys are not stored. */
import { allowLongQueries, LONG_QUERY, type Postgres, type Queryable, type Transaction } from '../postgres/postgres.ts'

/** Notes that this process signs with the key. */
export async function markSigning(db: Queryable, keyId: number): Promise<void> {
  await db.query({
    name: 'mark-signing',
    text: `insert into signing_keys (id, last_signed_at) values ($1, now())
      on conflict (id) do update set last_signed_at = excluded.last_signed_at`,
    values: [keyId],
  })
}

export async function readRetiredKeys(db: Queryable): Promise<readonly number[]> {
  const { rows } = await db.query<{ id: number }>({
    name: 'read-retired-keys',
    text: 'select id from signing_keys where retired_at is not null',
  })
  return rows.map(({ id }) => id)
}

export type SigningKeyState = {
  /** How long ago a process last signed with it; null: none did. */
  readonly idleMs: number | null
  readonly retired: boolean
}

export async function readSigningKey(db: Queryable, keyId: number): Promise<SigningKeyState> {
  const { rows } = await db.query<SigningKeyState>(
    `select (extract(epoch from now() - last_signed_at) * 1000)::float8 as "idleMs", retired_at is not null as retired
     from signing_keys where id = $1`,
    [keyId],
  )
  return rows[0] ?? { idleMs: null, retired: false }
}

export async function markRetired(tx: Transaction, keyId: number): Promise<void> {
  await tx.query(
    `insert into signing_keys (id, retired_at) values ($1, now())
     on conflict (id) do update set retired_at = coalesce(signing_keys.retired_at, excluded.retired_at)`,
    [keyId],
  )
}

/** Whether the user cannot sign in, because the key of their only second factor was retired. */
export async function hasRetiredFactor(db: Queryable, userId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from authenticators t join signing_keys k on k.id = t.key_id
     where t.user_id = $1 and k.retired_at is not null and not exists (select from passkeys p where p.user_id = $1)`,
    [userId],
  )
  return rowCount === 1
}

/**
 * What stops working when a key is retired. What cannot be used does not count: ended sessions, and whatever belongs to
 * disabled users and deleted applications.
 */
export type KeyUse = {
  /** Includes secrets of test mode. */
  readonly applicationSecrets: number
  /** Includes access tokens issued before their token set moved to another key. */
  readonly tokenSets: number
  /** Includes replaced ones that are still accepted. */
  readonly accessKeys: number
  readonly authenticators: number
  readonly recoveryCodes: number
  readonly sessions: number
  readonly webhooks: number
  /** Client secrets at identity providers. */
  readonly providers: number
  readonly managementKeys: number
  /** Unused links in mails. */
  readonly links: number
  /** Device codes and dialogs under way. */
  readonly codes: number
}

export type Lifetimes = {
  readonly accessTokenLifetimeMs: number
  readonly accessKeyOverlapMs: number
  readonly refreshTokenLifetimeMs: number
  readonly grantLifetimeMs: number
  readonly sessionIdleMs: number
  readonly operatorSessionIdleMs: number
}

/** Reads all grants: a second for each few million. */
export function countKeyUse(db: Postgres, keyId: number, lifetimes: Lifetimes): Promise<KeyUse> {
  return db.transaction(async (tx) => {
    await allowLongQueries(tx)
    const { rows } = await tx.query<KeyUse>({
      text: COUNTS,
      values: [
        keyId,
        lifetimes.accessTokenLifetimeMs,
        lifetimes.accessKeyOverlapMs,
        lifetimes.refreshTokenLifetimeMs,
        lifetimes.grantLifetimeMs,
        Math.max(lifetimes.sessionIdleMs, lifetimes.operatorSessionIdleMs),
      ],
      ...LONG_QUERY,
    })
    const [counted] = rows
    if (!counted) throw new Error('a query without a table returned no row')
    return counted
  })
}

const ago = (parameter: string) => `now() - ${parameter} * interval '1 millisecond'`

/** For tables without a key id: a row counts as signed by the key if it is not newer than the key's last use. */
const SIGNED_BEFORE = 'created_at <= (select last_signed_at from signing_keys where id = $1)'

const OF_ENABLED_USER = 'user_id in (select id from users where disabled_at is null)'

const GRANT_IN_USE = `revoked_at is null and ${OF_ENABLED_USER}
    and application_id in (select id from applications where deleted_at is null)`

const COUNTS = `select
  (select count(*) from application_secrets s join applications a on a.id = s.application_id
    where s.key_id = $1 and s.revoked_at is null and a.deleted_at is null)
    + (select count(*) from application_test_modes where key_id = $1 and ends_at > now()) as "applicationSecrets",
  (select count(*) from grants where ${GRANT_IN_USE} and variant = 'token_set' and (
      (key_id = $1 and coalesce(issued_at, created_at) > ${ago('$4')} and created_at > ${ago('$5')})
      or (previous_key_id = $1 and key_changed_at > ${ago('$2')}))) as "tokenSets",
  (select count(*) from grants where ${GRANT_IN_USE} and variant = 'access_key' and (
      key_id = $1 or (previous_key_id = $1 and key_changed_at > ${ago('$3')}))) as "accessKeys",
  (select count(*) from authenticators where key_id = $1 and ${OF_ENABLED_USER}) as authenticators,
  (select count(*) from recovery_codes where key_id = $1 and ${OF_ENABLED_USER}) as "recoveryCodes",
  (select count(*) from sessions
    where key_id = $1 and expires_at > now() and last_used_at > ${ago('$6')}) as sessions,
  (select count(*) from webhook_endpoints where disabled_at is null and (
      key_id = $1 or (previous_key_id = $1 and rotated_at > now() - interval '24 hours'))) as webhooks,
  (select count(*) from identity_providers where get_byte(client_secret, 0) = $1) as providers,
  (select count(*) from management_keys where revoked_at is null and expires_at > now()
      and (key_id = $1 or (previous_key_id = $1 and previous_until > now()))) as "managementKeys",
  (select count(*) from links where used_at is null and expires_at > now() and ${SIGNED_BEFORE}) as links,
  (select count(*) from device_codes where status <> 'used' and expires_at > now() and key_id = $1)
    + (select count(*) from dialogs where used_at is null and expires_at > now() and ${SIGNED_BEFORE}) as codes`
