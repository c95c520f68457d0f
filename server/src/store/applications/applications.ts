/** The tables applications and application_secrets. Every process holds a copy of all rows and pulls changes. */
import type { Application, Publisher } from '../../core/applications/application.ts'
import type { TestMode } from '../../core/applications/test-mode.ts'
import { lockByName } from '../postgres/advisory-locks.ts'
import { HISTORY, type History, type HistoryRow, historyFrom } from '../postgres/history.ts'
import { allowLongQueries, LONG_QUERY, type Postgres, type Queryable, type Transaction } from '../postgres/postgres.ts'

type Row = {
  id: string
  account_id: string
  name: string
  publisher: string | null
  publisher_status: Publisher['status']
  vouched_for: boolean
  logo_version: string | null
  allowed_scopes: string[]
  default_scopes: string[]
  required_scopes: string[]
  device_flow: boolean
  device_scopes: string[]
  redirect_uris: string[]
  public_client: boolean
  pkce_required: boolean
  resource_server: boolean
  test_mode: { userId: string; keyId: number; digest: string; endsAt: number } | null
  poll_interval_seconds: number | null
  suspended_at: number | null
  deleted_at: number | null
  secrets: { id: string; keyId: number; digest: string }[]
  change_number: number
  now: number
}

/** Column for a query over `applications a`. */
const LIVE_SECRETS = `(select coalesce(jsonb_agg(jsonb_build_object(
    'id', s.id, 'keyId', s.key_id, 'digest', encode(s.digest, 'hex'))), '[]')
  from application_secrets s where s.application_id = a.id and s.revoked_at is null) as secrets`

/** Column for a query over `applications a`. */
const TEST_MODE = `(select jsonb_build_object('userId', t.user_id, 'keyId', t.key_id, 'digest', encode(t.digest, 'hex'),
    'endsAt', extract(epoch from t.ends_at) * 1000)
  from application_test_modes t where t.application_id = a.id) as test_mode`

/**
 * Column for a query over `applications a`. A scope's properties never change, so this changes only with the
 * application.
 */
const DEVICE_SCOPES = `array(select allowed.name from unnest(a.allowed_scopes) with ordinality allowed(name, place)
  join scopes s on s.name = allowed.name where s.device_flow order by allowed.place) as device_scopes`

/** Columns for a query over `applications a`, without the logo, which is large. */
const APPLICATION = `a.id, a.account_id, a.name, a.publisher, a.publisher_status, a.vouched_at is not null as vouched_for,
  a.logo_version, a.allowed_scopes, a.default_scopes, a.required_scopes, a.device_flow, a.redirect_uris, a.public_client,
  a.pkce_required, a.resource_server, a.poll_interval_seconds, a.suspended_at, a.deleted_at, a.change_number,
  ${DEVICE_SCOPES}, ${LIVE_SECRETS}, ${TEST_MODE}`

export type ApplicationChanges = {
  readonly applications: readonly Application[]
  /** Position to continue from. */
  readonly changed: number
  /** Highest position of any application; below `after` if changes up to there were lost. */
  readonly newest: number
  /** PostgreSQL's clock, for callers that judge time without a query. */
  readonly now: number
  readonly history: History
}

/** All of them, which may take longer than other statements are allowed to: 10,000 take seconds on a busy machine. */
export function readEveryApplication(db: Postgres): Promise<ApplicationChanges> {
  return db.transaction(async (tx) => {
    await allowLongQueries(tx)
    return readApplicationChanges(tx, 0, LONG_QUERY)
  })
}

export async function readApplicationChanges(
  db: Queryable,
  after: number,
  limit: Partial<typeof LONG_QUERY> = {},
): Promise<ApplicationChanges> {
  const { rows } = await db.query<Row & HistoryRow & { id: string | null; newest: number }>({
    name: 'read-application-changes',
    text: `select ${APPLICATION}, state.*
      from (select now() as now, ${HISTORY}, coalesce((select max(change_number) from applications), 0) as newest) state
        left join applications a on a.change_number > $1 order by a.change_number`,
    values: [after],
    ...limit,
  })
  const changed = rows.filter((row) => row.id !== null)
  return {
    applications: changed.map(fromRow),
    changed: changed.at(-1)?.change_number ?? after,
    newest: rows[0]?.newest ?? 0,
    now: rows[0]?.now ?? 0,
    history: historyFrom(rows[0]),
  }
}

export async function findApplication(db: Queryable, id: string): Promise<Application | null> {
  const { rows } = await db.query<Row>({
    name: 'find-application',
    text: `select ${APPLICATION} from applications a where a.id = $1`,
    values: [id],
  })
  return rows[0] ? fromRow(rows[0]) : null
}

/** In order of their ids, for jobs that go through all of them. */
export async function listApplicationIds(db: Queryable, after: string, limit: number): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from applications where id > $1 and deleted_at is null order by id limit $2',
    [after, limit],
  )
  return rows.map(({ id }) => id)
}

export type ListedApplication = Pick<Application, 'id' | 'name' | 'publisher'>

type ListedRow = Pick<Row, 'id' | 'name' | 'publisher' | 'publisher_status'>

const LISTED = 'select a.id, a.name, a.publisher, a.publisher_status from applications a where a.deleted_at is null'

/** The existing applications among `ids`, by name. */
export async function listApplications(db: Queryable, ids: readonly string[]): Promise<readonly ListedApplication[]> {
  const { rows } = await db.query<ListedRow>(`${LISTED} and a.id = any($1) order by a.name, a.id`, [ids])
  return rows.map(listedFrom)
}

/** Grants of an account that are looked at for the applications its users connect. */
const RECENT_GRANTS = 1_000
const MAX_RELATED = 100

/** Those in `ids`, and up to a hundred more that are related to an account: its own, and those its users connected lately. */
export async function listRelatedApplications(
  db: Queryable,
  accountId: string,
  ids: readonly string[],
): Promise<readonly ListedApplication[]> {
  const { rows } = await db.query<ListedRow>(
    `${LISTED} and (a.id = any($2) or a.account_id = $1 or a.id in (
       select g.application_id from grants g where g.account_id = $1 and g.revoked_at is null
       order by g.created_at desc, g.id desc limit ${RECENT_GRANTS}))
     order by a.id = any($2) desc, a.name, a.id limit ${MAX_RELATED} + cardinality($2::text[])`,
    [accountId, ids],
  )
  return rows.map(listedFrom)
}

function listedFrom(row: ListedRow): ListedApplication {
  return { id: row.id, name: row.name, publisher: publisherFrom(row) }
}

export type NewApplication = Omit<
  Application,
  | 'publisher'
  | 'vouchedFor'
  | 'logoVersion'
  | 'deviceScopes'
  | 'secrets'
  | 'testMode'
  | 'pollIntervalSeconds'
  | 'suspended'
  | 'deleted'
>

export async function insertApplication(tx: Transaction, application: NewApplication): Promise<void> {
  const changed = await nextChange(tx)
  await tx.query(
    `insert into applications
       (id, account_id, name, allowed_scopes, default_scopes, required_scopes, device_flow, redirect_uris, public_client,
        pkce_required, resource_server, created_at, change_number)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now(), $12)`,
    [
      application.id,
      application.accountId,
      application.name,
      application.allowedScopes,
      application.defaultScopes,
      application.requiredScopes,
      application.deviceFlow,
      application.redirectUris,
      application.public,
      application.pkceRequired,
      application.resourceServer,
      changed,
    ],
  )
}

/**
 * Assigns a new change number. Also the lock for changing an application's secrets and suspension. False when there is
 * no such application.
 */
export async function markApplicationChanged(tx: Transaction, id: string): Promise<boolean> {
  const changed = await nextChange(tx)
  const { rowCount } = await tx.query(
    'update applications set change_number = $2 where id = $1 and deleted_at is null',
    [id, changed],
  )
  return rowCount === 1
}

/** False when it was already in that state. */
export async function setSuspended(tx: Transaction, id: string, suspended: boolean): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update applications set suspended_at = case when $2 then now() end where id = $1 and (suspended_at is not null) <> $2`,
    [id, suspended],
  )
  return rowCount === 1
}

/** It stays in the table, because grants and the audit log refer to it. Call after `markApplicationChanged`. */
export async function setDeleted(tx: Transaction, id: string): Promise<void> {
  await tx.query('update applications set deleted_at = now() where id = $1', [id])
}

/** Null: the configured default. */
export async function setPollInterval(tx: Transaction, id: string, seconds: number | null): Promise<void> {
  await tx.query('update applications set poll_interval_seconds = $2 where id = $1', [id, seconds])
}

/**
 * `proven`: verified by a DNS record, which is checked again regularly from now on. Otherwise verified by an operator,
 * which needs no further check.
 */
export async function setPublisher(
  tx: Transaction,
  id: string,
  { name, status }: Publisher,
  proven: boolean,
): Promise<void> {
  await tx.query(
    `update applications set publisher = $2, publisher_status = $3::text,
       vouched_at = case when $3::text = 'unverified' then vouched_at else coalesce(vouched_at, now()) end,
       publisher_proven_at = case when $4 then now() end, publisher_checked_at = case when $4 then now() end,
       publisher_missing_since = null
     where id = $1`,
    [id, name, status, proven],
  )
}

/**
 * Names of applications whose publisher is `own` or `verified`; applications of other accounts must not resemble them.
 */
export async function listVouchedNames(db: Queryable, besides: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select name from applications where publisher_status <> 'unverified' and deleted_at is null and account_id <> $1`,
    [besides],
  )
  return rows.map(({ name }) => name)
}

export type NewSecret = {
  readonly id: string
  readonly keyId: number
  readonly digest: Buffer
  readonly label: string | null
}

export async function insertSecret(tx: Transaction, applicationId: string, secret: NewSecret): Promise<void> {
  await tx.query(
    `insert into application_secrets (id, application_id, key_id, digest, label, created_at)
     values ($1, $2, $3, $4, $5, now())`,
    [secret.id, applicationId, secret.keyId, secret.digest, secret.label],
  )
}

/** No application changes until the transaction ends, except by it. */
export function lockApplicationChanges(tx: Transaction): Promise<void> {
  return lockByName(tx, 'application_changes')
}

/**
 * Change numbers are assigned in commit order: without the lock, a slow transaction could commit number 7 after a
 * process has read up to 8, and its change would never be seen.
 */
async function nextChange(tx: Transaction): Promise<number> {
  await lockApplicationChanges(tx)
  const { rows } = await tx.query<{ next: number }>("select nextval('application_changes') as next")
  return rows[0]?.next ?? 0
}

export function publisherFrom(row: Pick<Row, 'publisher' | 'publisher_status'>): Publisher {
  return { status: row.publisher_status, name: row.publisher }
}

function fromRow(row: Row): Application {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    publisher: publisherFrom(row),
    vouchedFor: row.vouched_for,
    logoVersion: row.logo_version,
    allowedScopes: row.allowed_scopes,
    defaultScopes: row.default_scopes,
    requiredScopes: row.required_scopes,
    deviceFlow: row.device_flow,
    deviceScopes: row.device_scopes,
    redirectUris: row.redirect_uris,
    public: row.public_client,
    pkceRequired: row.pkce_required,
    resourceServer: row.resource_server,
    testMode: row.test_mode && testModeFrom(row.test_mode),
    pollIntervalSeconds: row.poll_interval_seconds,
    suspended: row.suspended_at !== null,
    deleted: row.deleted_at !== null,
    secrets: row.secrets.map((secret) => ({ ...secret, digest: Buffer.from(secret.digest, 'hex') })),
  }
}

function testModeFrom({ userId, keyId, digest, endsAt }: NonNullable<Row['test_mode']>): TestMode {
  return { userId, secret: { keyId, digest: Buffer.from(digest, 'hex') }, endsAt }
}
