/**
 * Hourly partitions of device_codes, by expiry. They are created ahead of time and dropped when all their codes are
 * past retention: the cleanup costs the same for ten codes and for ten million.
 */

import { recordAll } from '../audit/events.ts'
import { announceGrants } from '../grants/changes.ts'
import { chooseGrants } from '../grants/grants.ts'
import { lockByName, tryLockByName } from '../postgres/advisory-locks.ts'
import type { Postgres, Queryable, Transaction } from '../postgres/postgres.ts'

const HOUR = 60 * 60 * 1000

/** Creates every partition needed for codes that expire between the two times. */
export async function ensurePartitions(db: Postgres, from: number, to: number): Promise<void> {
  for (const start of await missingStarts(db, from, to)) await makePartition(db, start)
}

/** Number of partitions that `ensurePartitions` would create. */
export async function countMissing(db: Postgres, from: number, to: number): Promise<number> {
  return (await missingStarts(db, from, to)).length
}

async function missingStarts(db: Postgres, from: number, to: number): Promise<readonly number[]> {
  const existing = new Set((await listPartitions(db)).map((partition) => partition.start))
  const missing: number[] = []
  for (let start = from - (from % HOUR); start <= to; start += HOUR) {
    if (!existing.has(start)) missing.push(start)
  }
  return missing
}

/**
 * Calls a function that runs with the rights of the table's owner: the service itself may run under a role that owns
 * nothing.
 */
async function makePartition(db: Postgres, start: number): Promise<void> {
  await db.transaction(async (tx) => {
    await lockByName(tx, 'device_code_partitions')
    if ((await listPartitions(tx)).some((partition) => partition.start === start)) return
    await tx.query('select make_device_code_partition($1)', [new Date(start).toISOString()])
  })
}

export type Dropped = {
  readonly partitions: readonly string[]
  /** Due as well, but the table was in use at every attempt: the next sweep tries again. */
  readonly left: readonly string[]
  readonly revokedGrants: number
}

/**
 * Drops every partition in which all codes expired before `before`, and revokes grants from it that were never
 * collected. Does nothing while another process is dropping partitions.
 */
export async function dropPartitions(db: Postgres, before: number): Promise<Dropped> {
  const over = (await listPartitions(db)).filter(({ start }) => start + HOUR <= before).map(({ name }) => name)
  const partitions: string[] = []
  let revokedGrants = 0
  for (const name of over) {
    revokedGrants += (await withDropLock(db, name, (tx) => revokeUncollected(tx, name))) ?? 0
    const dropped = await withDropLock(db, name, (tx) => dropPartition(tx, name))
    if (dropped) partitions.push(name)
    // The cause that blocks one drop blocks the others as well.
    if (dropped === false) return { partitions, left: over.slice(over.indexOf(name)), revokedGrants }
  }
  return { partitions, left: [], revokedGrants }
}

/** Null when another process is dropping partitions, or has already dropped this one. */
function withDropLock<T>(db: Postgres, partition: string, work: (tx: Transaction) => Promise<T>): Promise<T | null> {
  return db.transaction(async (tx) => {
    if (!(await tryLockByName(tx, 'dropping_partitions'))) return null
    if (!(await listPartitions(tx)).some(({ name }) => name === partition)) return null
    return work(tx)
  })
}

/**
 * False when the table was in use. Dropping does not wait for locks, so that no poll queues behind it
 * (migrations/0001_schema.sql).
 */
async function dropPartition(tx: Transaction, partition: string): Promise<boolean> {
  // The table stays locked until the commit ends, so the commit does not wait for a standby. A drop that is lost is
  // repeated.
  await tx.query('set local synchronous_commit = local')
  const { rows } = await tx.query<{ dropped: boolean }>(
    'select drop_device_code_partition(relname) as dropped from pg_class where oid = $1::regclass',
    [partition],
  )
  return rows[0]?.dropped ?? false
}

/**
 * Revokes grants of codes that were accepted and have no lease: no poll ever held the answer, or the client
 * disconnected before it was sent. A process may have died right after answering an accepted code *with* a lease, so
 * its grant stays. Codes of that age are no longer polled, so reading them all blocks no poll.
 */
async function revokeUncollected(tx: Transaction, partition: string): Promise<number> {
  await tx.allowSeconds(60)
  const { rows } = await tx.query<{ grant_id: string }>({
    text: `with ${chooseGrants(`revoked_at is null
          and id in (select grant_id from ${partition} where status = 'accepted' and lease_id is null)`)},
      voided as (
        update grants g set revoked_at = now(), revocation_reason = 'never_collected'
        from chosen where g.id = chosen.id
        returning g.id, g.account_id, g.user_id, g.application_id),
      ${recordAll(`select now(), 'grant.revoked', 'service', 'expiry', 'job', account_id, user_id, application_id, id, null::uuid,
        '{"reason":"never_collected"}'::jsonb from voided`)}
      select grant_id from recorded`,
    query_timeout: 61_000,
  })
  await announceGrants(
    tx,
    rows.map((row) => row.grant_id),
  )
  return rows.length
}

/** How far into the future partitions exist. */
export async function readAheadMs(db: Queryable): Promise<number> {
  const partitions = await listPartitions(db)
  return Math.max(0, ...partitions.map(({ start }) => start + HOUR)) - (await readClock(db))
}

type Partition = { readonly name: string; readonly start: number }

async function listPartitions(db: Queryable): Promise<readonly Partition[]> {
  const { rows } = await db.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'device_codes'::regclass order by 1",
  )
  return rows.map((row) => ({ ...row, start: startOf(row.name) }))
}

function startOf(name: string): number {
  const [, year, month, day, hour] = /_(\d{4})(\d\d)(\d\d)(\d\d)$/.exec(name) ?? []
  return Date.parse(`${year}-${month}-${day}T${hour}:00:00Z`)
}

export async function readClock(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ now: number }>('select now() as now')
  return rows[0]?.now ?? 0
}
