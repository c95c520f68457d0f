/** The table audit_archives: months of the audit log that were written to a file and removed from the database. */
import { type ArchiveRecord, plainRuns, readRuns } from '../../secrets/audit-archive.ts'
import { ARCHIVE_LOCK } from '../postgres/advisory-locks.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** Held until the session's connection ends. False when another session holds it. */
export async function lockArchiving(session: Queryable): Promise<boolean> {
  const { rows } = await session.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [ARCHIVE_LOCK])
  return rows[0]?.locked ?? false
}

type Row = Omit<ArchiveRecord, 'runs'> & { readonly runs: Parameters<typeof readRuns>[0] }

/** Oldest month first. Signatures are not verified here. */
export async function readArchives(db: Queryable): Promise<readonly ArchiveRecord[]> {
  const { rows } = await db.query<Row>(
    'select month, events, runs, sha256, key_id as "keyId", mac from audit_archives order by month',
  )
  return rows.map((row) => ({ ...row, runs: readRuns(row.runs) }))
}

export async function insertArchive(tx: Transaction, record: ArchiveRecord): Promise<void> {
  const { month, events, runs, sha256, keyId, mac } = record
  await tx.query(
    'insert into audit_archives (month, events, runs, sha256, key_id, mac) values ($1, $2, $3, $4, $5, $6)',
    [month, events, JSON.stringify(plainRuns(runs)), sha256, keyId, mac],
  )
}

/** Whether the event at this position of the chain is in an archive. */
export async function isArchived(db: Queryable, position: number): Promise<boolean> {
  const { rows } = await db.query<{ archived: boolean }>(
    `select exists (select from audit_archives, jsonb_to_recordset(runs) as run("from" bigint, "to" bigint)
       where $1 between run."from" and run."to") as archived`,
    [position],
  )
  return rows[0]?.archived ?? false
}

export type ArchivingFacts = {
  readonly role: string
  readonly owner: boolean
  /** The month of one hour ago, in UTC: no transaction that began before that is still running. */
  readonly month: string
}

export async function readArchivingFacts(db: Queryable): Promise<ArchivingFacts> {
  const { rows } = await db.query<ArchivingFacts>(
    `select current_user as role, pg_has_role(relowner, 'usage') as owner,
       to_char(now() at time zone 'UTC' - interval '1 hour', 'YYYY-MM') as month
     from pg_class where oid = 'audit_events'::regclass`,
  )
  return rows[0] ?? { role: '', owner: false, month: '' }
}
