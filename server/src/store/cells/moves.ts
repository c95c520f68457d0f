/** The table bucket_moves, the triggers that refuse changes of a moving bucket, and what a move does besides copying rows. */
import { setTimeout as sleep } from 'node:timers/promises'
import { recordAll } from '../audit/events.ts'
import { lockByName } from '../postgres/advisory-locks.ts'
import { type Queryable, type Session, type Transaction, Unavailable } from '../postgres/postgres.ts'
import { HANDED_CODES, MOVING, type MovingTable, ofBucket } from './moving-tables.ts'

export type BucketMove = { readonly bucket: number; readonly source: number; readonly target: number }

export type StoredMove = BucketMove & { readonly moved: boolean; readonly startedAt: number }

export async function listMoves(db: Queryable): Promise<readonly StoredMove[]> {
  const { rows } = await db.query<StoredMove>(
    'select bucket, source, target, moved, started_at as "startedAt" from bucket_moves order by bucket',
  )
  return rows
}

/** False: it has begun before. */
export async function insertMove(db: Queryable, { bucket, source, target }: BucketMove): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into bucket_moves (bucket, source, target, started_at) values ($1, $2, $3, now()) on conflict do nothing`,
    [bucket, source, target],
  )
  return rowCount === 1
}

export async function deleteMove(db: Queryable, bucket: number): Promise<void> {
  await db.query('delete from bucket_moves where bucket = $1', [bucket])
}

/** A command that was killed a moment ago loses the lock with its connection. */
const ALONE_MS = 100
const ALONE_TRIES = 50

/**
 * One command at a time moves buckets out of a cell, until its session ends. A second one would copy outdated rows over
 * those that have moved, and delete in the target what the first has deleted in the source. False: another one is running.
 */
export async function lockMoves(source: Session): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const { rows } = await source.query<{ locked: boolean }>(
      "select pg_try_advisory_lock(hashtextextended('moving buckets', 0)) as locked",
    )
    if (rows[0]?.locked) return true
    if (attempt === ALONE_TRIES) return false
    await sleep(ALONE_MS)
  }
}

/** `state`: of the row in the map, which only the home cell changes. */
export async function saveBucket(
  tx: Transaction,
  bucket: number,
  place: { readonly cell: number; readonly state: 'settled' | 'moving'; readonly version: number },
): Promise<void> {
  await tx.query('update bucket_map set cell = $2, state = $3, version = $4 where bucket = $1', [
    bucket,
    place.cell,
    place.state,
    place.version,
  ])
}

/**
 * Buckets with accounts that have to stay: those that registered an application, and the operators', also former ones,
 * to whose users reviews and changes of operators refer.
 */
export async function readFixedBuckets(db: Queryable): Promise<ReadonlyMap<number, string>> {
  const { rows } = await db.query<{ bucket: number; slug: string }>(
    `select a.bucket, min(a.slug) as slug from accounts a
     where a.publisher or a.has_operators or exists (select from applications p where p.account_id = a.id)
       or a.id in (select account_id from operator_changes)
       or a.id in (select u.account_id from users u where u.id in (
         select unnest(array[decided_by, confirmed_by, undone_by]) from review_decisions
         union all select created_by from suspension_rules))
     group by a.bucket`,
  )
  return new Map(rows.map(({ bucket, slug }) => [bucket, slug]))
}

/** Requests queue behind a statement that waits for a table, so it waits this long and tries again. */
const LOCK_MS = 50
const LOCK_TRIES = 600

/**
 * Makes the triggers. A trigger is made when every transaction that wrote to the table before has ended: from then on all
 * see the row in `bucket_moves`. So it is made again for each move.
 */
export async function fenceTables(session: Session): Promise<void> {
  await session.query(`set lock_timeout = '${LOCK_MS}ms'`)
  for (const table of [...MOVING, HANDED_CODES]) {
    const statement = await triggerOf(session, table)
    for (let attempt = 1; ; attempt += 1) {
      try {
        await session.query(statement)
        break
      } catch (error) {
        if (!(error instanceof Unavailable) || error.silent || attempt === LOCK_TRIES) throw error
        await sleep(LOCK_MS)
      }
    }
  }
  await session.query('set lock_timeout = 0')
}

async function triggerOf(db: Queryable, table: Omit<MovingTable, 'copied'>): Promise<string> {
  const { name, owner, column, unfenced = [] } = table
  const { rows } = await db.query<{ columns: string }>(
    `select string_agg(attname, ', ' order by attnum) as columns from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attname <> all($2)`,
    [name, unfenced],
  )
  return `create or replace trigger moving before insert or delete or update of ${rows[0]?.columns} on ${name}
    for each row execute function refuse_moving('${owner}', '${column}')`
}

const LOCK = "hashtextextended('bucket:' || $1::smallint, 0)"

/**
 * Waits for transactions that change the bucket, and refuses new ones until it thaws or the session ends. False: one of
 * them took too long.
 */
export async function freezeBucket(session: Session, bucket: number, waitMs: number): Promise<boolean> {
  await session.query(`set lock_timeout = '${waitMs}ms'`)
  try {
    await session.query(`select pg_advisory_lock(${LOCK})`, [bucket])
    return true
  } catch (error) {
    if (!(error instanceof Unavailable) || error.silent) throw error
    return false
  } finally {
    await session.query('set lock_timeout = 0').catch(() => {})
  }
}

export async function thawBucket(session: Session, bucket: number): Promise<void> {
  await session.query(`select pg_advisory_unlock(${LOCK})`, [bucket])
}

/** Authorization codes of the bucket that were not exchanged yet, or whose answer is on its way. */
export async function countOpenDialogs(db: Queryable, bucket: number, lifetimeMs: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*) as count from dialogs where ${ofBucket({ owner: 'user', column: 'user_id' })}
       and grant_id is not null and used_at is null and decided_at > now() - $2 * interval '1 millisecond'`,
    [bucket, lifetimeMs],
  )
  return rows[0]?.count ?? 0
}

/** In the source: device codes that `markMoved` handed to the target, as PostgreSQL's text of the rows. */
export async function readHandedCodes(db: Queryable, { bucket, target }: BucketMove): Promise<readonly string[]> {
  const { rows } = await db.query<{ row: string }>(
    `select c::text as row from device_codes c where handed_to = $2 and ${ofBucket(HANDED_CODES)}`,
    [bucket, target],
  )
  return rows.map(({ row }) => row)
}

/** In the target. Rows that know of this hand-over stay as they are. Codes without a partition expired long ago. */
export async function receiveCodes(tx: Transaction, codes: readonly string[], move: BucketMove): Promise<void> {
  const { rows } = await tx.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = 'device_codes'::regclass and attnum > 0
     and not attisdropped order by attnum`,
  )
  const columns = rows.map(({ name }) => name)
  const issuer = 'coalesce((r.row).issued_by, $2::smallint)'
  const values = columns.map((name) => {
    if (name === 'issued_by') return `nullif(${issuer}, $3::smallint)`
    return name === 'handed_to' ? 'null' : `(r.row).${name}`
  })
  await tx.query(
    `insert into device_codes as known (${columns.join(', ')}) select ${values.join(', ')}
     from (select given::device_codes as row from unnest($1::text[]) given offset 0) r
     where to_regclass('device_codes_' || to_char((r.row).expires_at at time zone 'UTC', 'YYYYMMDDHH24')) is not null
     on conflict (id, expires_at) do update set ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}
       where known.handovers < excluded.handovers`,
    [codes, move.source, move.target],
  )
}

/**
 * In the source, when the target has everything: nothing of the bucket can be changed here from now on. Returns the device
 * codes that are handed over, like `readHandedCodes`.
 */
export async function markMoved(tx: Transaction, { bucket, target }: BucketMove): Promise<readonly string[]> {
  const { rows } = await tx.query<{ row: string }>(
    `update device_codes c set handed_to = $2, handovers = handovers + 1
     where handed_to is null and ${ofBucket(HANDED_CODES)} returning c::text as row`,
    [bucket, target],
  )
  await tx.query('update bucket_moves set moved = true where bucket = $1', [bucket])
  return rows.map(({ row }) => row)
}

/**
 * In the target, for the time in which the source may leave out what ends all grants of an application. Waits for
 * transactions of the home cell that are doing so: they saw the bucket as it was before.
 */
export async function markArriving(tx: Transaction, bucket: number, arriving: boolean): Promise<void> {
  await lockByName(tx, 'application_changes')
  await tx.query('update bucket_moves set arriving = $2 where bucket = $1', [bucket, arriving])
}

/** In the target, when the map gives it the bucket. False: this was done before. */
export async function markArrived(tx: Transaction, bucket: number): Promise<boolean> {
  const { rowCount } = await tx.query('update bucket_moves set arriving = false where bucket = $1 and arriving', [
    bucket,
  ])
  return rowCount === 1
}

/** Whether a bucket is arriving here that the map does not give to this cell yet. */
export async function isArriving(db: Queryable): Promise<boolean> {
  const { rows } = await db.query(
    `select from bucket_moves m join bucket_map b on b.bucket = m.bucket cross join this_cell t
     where m.arriving and b.cell <> t.cell limit 1`,
  )
  return rows.length > 0
}

/** Whether the account is in another cell, which has not reached the map of every process yet. */
export async function hasMoved(db: Queryable, accountId: string): Promise<boolean> {
  const { rows } = await db.query(
    'select from bucket_moves m join accounts a on a.bucket = m.bucket where m.moved and a.id = $1',
    [accountId],
  )
  return rows.length > 0
}

/** Whether the account is being moved to another cell, or was and the move is not finished. */
export async function isMoving(db: Queryable, accountId: string): Promise<boolean> {
  const { rows } = await db.query('select from bucket_moves m join accounts a on a.bucket = m.bucket where a.id = $1', [
    accountId,
  ])
  return rows.length > 0
}

/** Entries of these accounts in the caches of processes are dropped. */
export async function announceBucket(tx: Transaction, bucket: number): Promise<void> {
  await tx.query(
    'insert into grant_changes (at, account_id) select now(), id from accounts where bucket = $1 and not publisher',
    [bucket],
  )
}

/** One event per account, in the log of source or target. Once per move, which the version of the map identifies. */
export async function recordAccountsMoved(tx: Transaction, move: BucketMove & { version: number }): Promise<void> {
  const { bucket, source, target, version } = move
  await tx.query(
    `with ${recordAll(`select now(), 'account.moved', 'operator', 'cli', 'cli', a.id, null, null, null, null::uuid,
        jsonb_build_object('bucket', $1::smallint, 'from', $2::smallint, 'to', $3::smallint, 'version', $4::bigint)
      from accounts a where a.bucket = $1 and not exists (
        select from audit_events e where e.account_id = a.id and e.kind = 'account.moved'
          and e.detail ->> 'version' = $4::text and e.at > now() - interval '30 days')`)} select`,
    [bucket, source, target, version],
  )
}
