/** The table audit_detachments: months of the audit log whose partitions were detached. */
import { type Detachment, plainRuns, readRuns } from '../../secrets/audit-detachment.ts'
import { DETACH_LOCK } from '../postgres/advisory-locks.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** Held until the session's connection ends. False when another session holds it. */
export async function lockDetaching(session: Queryable): Promise<boolean> {
  const { rows } = await session.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [DETACH_LOCK])
  return rows[0]?.locked ?? false
}

type Row = Omit<Detachment, 'runs'> & { readonly runs: Parameters<typeof readRuns>[0] }

/** Oldest month first. Signatures are not verified here. */
export async function readDetachments(db: Queryable): Promise<readonly Detachment[]> {
  const { rows } = await db.query<Row>(
    'select month, runs, key_id as "keyId", mac from audit_detachments order by month',
  )
  return rows.map((row) => ({ ...row, runs: readRuns(row.runs) }))
}

export async function insertDetachment(tx: Transaction, { month, runs, keyId, mac }: Detachment): Promise<void> {
  await tx.query('insert into audit_detachments (month, runs, key_id, mac) values ($1, $2, $3, $4)', [
    month,
    JSON.stringify(plainRuns(runs)),
    keyId,
    mac,
  ])
}

/** Whether the seal at this position of the chain is in a detached month. */
export async function isDetached(db: Queryable, position: number): Promise<boolean> {
  const { rows } = await db.query<{ detached: boolean }>(
    `select exists (select from audit_detachments, jsonb_to_recordset(runs) as run("from" bigint, "to" bigint)
       where $1 between run."from" and run."to") as detached`,
    [position],
  )
  return rows[0]?.detached ?? false
}

export type DetachingFacts = {
  readonly role: string
  readonly owner: boolean
  /** The month of one hour ago, in UTC: no transaction that began before that is still running. */
  readonly month: string
}

export async function readDetachingFacts(db: Queryable): Promise<DetachingFacts> {
  const { rows } = await db.query<DetachingFacts>(
    `select current_user as role, pg_has_role(relowner, 'usage') as owner,
       to_char(now() at time zone 'UTC' - interval '1 hour', 'YYYY-MM') as month
     from pg_class where oid = 'audit_events'::regclass`,
  )
  return rows[0] ?? { role: '', owner: false, month: '' }
}
