/**
 * Applications as the account that registered them sees them: with metadata of their secrets, never the secrets
 * themselves.
 */
import type { Application } from '../../core/applications/application.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { countGrants, cutPage, pageClauses, type SortedList, startingWith } from '../postgres/sorted-list.ts'
import { findApplication, markApplicationChanged } from './applications.ts'

export type SecretLine = {
  readonly id: string
  readonly label: string | null
  readonly createdAt: number
  /** The start of a day, in UTC. */
  readonly lastUsedOn: number | null
}

export type OwnApplication = Application & {
  readonly createdAt: number
  readonly secretLines: readonly SecretLine[]
  /** When its publisher's DNS record was last seen; null when none is checked. */
  readonly publisherProvenAt: number | null
  readonly publisherMissingSince: number | null
}

export type OwnApplicationLine = Pick<
  Application,
  'id' | 'name' | 'suspended' | 'deviceFlow' | 'public' | 'logoVersion'
> & {
  readonly createdAt: number
  readonly dialog: boolean
  readonly testMode: boolean
  /** Live grants, counted up to a thousand. */
  readonly grants: number
}

const OWN: SortedList<OwnColumn> = {
  table: 'applications a',
  key: 'a.id',
  columns: { name: 'lower(a.name) collate "C"', created: 'a.created_at' },
}

export const ownColumns = ['name', 'created'] as const
export type OwnColumn = (typeof ownColumns)[number]

/** `search`: the beginning of the name, or the whole id. */
export async function listOwnApplications(
  db: Queryable,
  accountId: string,
  wish: TableWish<OwnColumn>,
): Promise<TablePage<OwnApplicationLine>> {
  const { beyond, order } = pageClauses(OWN, wish, '$2', 'a.account_id = $1')
  const { rows } = await db.query<OwnApplicationLine>(
    `select a.id, a.name, a.suspended_at is not null as suspended, a.device_flow as "deviceFlow", a.public_client as public,
       a.logo_version as "logoVersion",
       a.created_at as "createdAt", a.redirect_uris <> '{}' as dialog, exists (
         select from application_test_modes t where t.application_id = a.id and t.ends_at > now()) as "testMode",
       ${countGrants('g.application_id = a.id')} as grants
     from applications a where a.account_id = $1 and a.deleted_at is null
       and ($3 = '%' or a.id = $4 or lower(a.name) collate "C" like $3) and ${beyond} ${order}`,
    [accountId, wish.after, startingWith(wish.search.toLowerCase()), wish.search],
  )
  return cutPage(rows, ({ id }) => id, wish.lines)
}

/** Null for an application of another account. */
export async function readOwnApplication(db: Queryable, accountId: string, id: string): Promise<OwnApplication | null> {
  const application = await findApplication(db, id)
  if (!application || application.deleted || application.accountId !== accountId) return null
  const { rows } = await db.query<SecretLine>(
    `select s.id, s.label, s.created_at as "createdAt", s.last_used_on::timestamptz as "lastUsedOn"
     from application_secrets s where s.application_id = $1 and s.revoked_at is null order by s.created_at desc, s.id`,
    [id],
  )
  const about = await db.query<Pick<OwnApplication, 'createdAt' | 'publisherProvenAt' | 'publisherMissingSince'>>(
    `select created_at as "createdAt", publisher_proven_at as "publisherProvenAt",
       publisher_missing_since as "publisherMissingSince" from applications where id = $1`,
    [id],
  )
  const known = about.rows[0] ?? { createdAt: 0, publisherProvenAt: null, publisherMissingSince: null }
  return { ...application, ...known, secretLines: rows }
}

/** The same, locked until the transaction ends: operators change applications as well as the account's own users. */
export async function lockOwnApplication(
  tx: Transaction,
  accountId: string,
  id: string,
): Promise<OwnApplication | null> {
  if (!(await readOwnApplication(tx, accountId, id))) return null
  await markApplicationChanged(tx, id)
  return readOwnApplication(tx, accountId, id)
}

/** False when it was revoked before, or belongs to another application. */
export async function revokeSecret(tx: Transaction, applicationId: string, secretId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update application_secrets set revoked_at = now() where id = $2 and application_id = $1 and revoked_at is null',
    [applicationId, secretId],
  )
  return rowCount === 1
}

export type Settings = Pick<
  Application,
  'name' | 'allowedScopes' | 'defaultScopes' | 'requiredScopes' | 'deviceFlow' | 'redirectUris' | 'pkceRequired'
>

export async function saveSettings(tx: Transaction, id: string, settings: Settings): Promise<void> {
  await tx.query(
    `update applications set name = $2, allowed_scopes = $3, default_scopes = $4, required_scopes = $5, device_flow = $6,
       redirect_uris = $7, pkce_required = $8
     where id = $1`,
    [
      id,
      settings.name,
      settings.allowedScopes,
      settings.defaultScopes,
      settings.requiredScopes,
      settings.deviceFlow,
      settings.redirectUris,
      settings.pkceRequired,
    ],
  )
}

/** The same secret, hashed under another key. */
export type RehashedSecret = {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly digest: Buffer
}

/** Secrets that were rehashed or revoked meanwhile stay as they are. */
export async function saveRehashedSecrets(db: Queryable, secrets: readonly RehashedSecret[]): Promise<void> {
  await db.query(
    `with rehashed as (
       select s.id, r.new_key_id, r.new_digest
       from unnest($1::text[], $2::smallint[], $3::smallint[], $4::bytea[]) as r(id, old_key_id, new_key_id, new_digest)
         join application_secrets s on s.id = r.id and s.key_id = r.old_key_id
       where s.revoked_at is null order by s.id for no key update of s)
     update application_secrets s set key_id = r.new_key_id, digest = r.new_digest from rehashed r where r.id = s.id`,
    [
      secrets.map(({ id }) => id),
      secrets.map(({ from }) => from),
      secrets.map(({ to }) => to),
      secrets.map(({ digest }) => digest),
    ],
  )
}

/** Stores the day (UTC) of last use: at most one write per secret and day. */
export async function markSecretsUsed(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query(
    `update application_secrets set last_used_on = now()::date where id in (
       select id from application_secrets where id = any($1) and last_used_on is distinct from now()::date
       order by id for no key update skip locked)`,
    [ids],
  )
}
