/** The tables applications and application_secrets. Servers hold all of it in process and pull what changed. */
import type { Application } from '../core/application.ts'
import type { Queryable, Transaction } from './postgres.ts'

type Row = {
  id: string
  account_id: string
  name: string
  allowed_scopes: string[]
  default_scopes: string[]
  required_scopes: string[]
  device_flow: boolean
  suspended_at: number | null
  deleted_at: number | null
  secrets: { id: string; keyId: number; digest: string }[]
  changed: number
  now: number
}

/** For a query over `applications a`. */
const LIVE_SECRETS = `(select coalesce(jsonb_agg(jsonb_build_object(
    'id', s.id, 'keyId', s.key_id, 'digest', encode(s.digest, 'hex'))), '[]')
  from application_secrets s where s.application_id = a.id and s.revoked_at is null) as secrets`

export type ApplicationChanges = {
  readonly applications: readonly Application[]
  /** Ask again from here. */
  readonly changed: number
  /** PostgreSQL's clock, for those who must judge time without asking it. */
  readonly now: number
}

export async function readApplicationChanges(db: Queryable, after: number): Promise<ApplicationChanges> {
  const { rows } = await db.query<Row & { id: string | null }>({
    name: 'read-application-changes',
    text: `select a.id, a.account_id, a.name, a.allowed_scopes, a.default_scopes, a.required_scopes, a.device_flow,
        a.suspended_at, a.deleted_at, a.changed, clock.now,
        ${LIVE_SECRETS}
      from (select now() as now) clock left join applications a on a.changed > $1 order by a.changed`,
    values: [after],
  })
  const changed = rows.filter((row) => row.id !== null)
  return {
    applications: changed.map(fromRow),
    changed: changed.at(-1)?.changed ?? after,
    now: rows[0]?.now ?? 0,
  }
}

export async function findApplication(db: Queryable, id: string): Promise<Application | null> {
  const { rows } = await db.query<Row>(`select a.*, ${LIVE_SECRETS} from applications a where a.id = $1`, [id])
  return rows[0] ? fromRow(rows[0]) : null
}

export type NewApplication = Omit<Application, 'secrets' | 'suspended' | 'deleted'>

export async function insertApplication(tx: Transaction, application: NewApplication): Promise<void> {
  const changed = await nextChange(tx)
  await tx.query(
    `insert into applications
       (id, account_id, name, allowed_scopes, default_scopes, required_scopes, device_flow, created_at, changed)
     values ($1, $2, $3, $4, $5, $6, $7, now(), $8)`,
    [
      application.id,
      application.accountId,
      application.name,
      application.allowedScopes,
      application.defaultScopes,
      application.requiredScopes,
      application.deviceFlow,
      changed,
    ],
  )
}

/** Also the lock under which an application's secrets and standing are changed. False when there is no such application. */
export async function markApplicationChanged(tx: Transaction, id: string): Promise<boolean> {
  const changed = await nextChange(tx)
  const { rowCount } = await tx.query('update applications set changed = $2 where id = $1 and deleted_at is null', [
    id,
    changed,
  ])
  return rowCount === 1
}

/** False when it was so already. */
export async function setSuspended(tx: Transaction, id: string, suspended: boolean): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update applications set suspended_at = case when $2 then now() end where id = $1 and (suspended_at is not null) <> $2`,
    [id, suspended],
  )
  return rowCount === 1
}

export type NewSecret = { readonly id: string; readonly keyId: number; readonly digest: Buffer }

export async function insertSecret(tx: Transaction, applicationId: string, secret: NewSecret): Promise<void> {
  await tx.query(
    'insert into application_secrets (id, application_id, key_id, digest, created_at) values ($1, $2, $3, $4, now())',
    [secret.id, applicationId, secret.keyId, secret.digest],
  )
}

/** Keeps the newest `keep` live secrets and revokes the rest; returns the ids of those. */
export async function revokeOldestSecrets(
  tx: Transaction,
  applicationId: string,
  keep: number,
): Promise<readonly string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `update application_secrets set revoked_at = now() where id in (
       select id from application_secrets where application_id = $1 and revoked_at is null
       order by created_at desc, id offset $2) returning id`,
    [applicationId, keep],
  )
  return rows.map((row) => row.id)
}

/**
 * Numbers that are handed out in the order of commit: without the lock, a slow transaction could publish 7 after a
 * server has read up to 8 and would never be seen.
 */
async function nextChange(tx: Transaction): Promise<number> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('application_changes', 0))")
  const { rows } = await tx.query<{ next: number }>("select nextval('application_changes') as next")
  return rows[0]?.next ?? 0
}

function fromRow(row: Row): Application {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    allowedScopes: row.allowed_scopes,
    defaultScopes: row.default_scopes,
    requiredScopes: row.required_scopes,
    deviceFlow: row.device_flow,
    suspended: row.suspended_at !== null,
    deleted: row.deleted_at !== null,
    secrets: row.secrets.map((secret) => ({ ...secret, digest: Buffer.from(secret.digest, 'hex') })),
  }
}
