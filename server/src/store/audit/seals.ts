/**
 * The table audit_seals: the hash chain over audit_events, one link per event.
 *
 * Events are written concurrently, and no writer waits for the chain. One process at a time builds it afterwards, from
 * events whose transaction is older than every running one: no more events can appear among those, so their order by
 * transaction and id is final, and none can turn up before a sealed one. (As in store/grants/changes.ts.)
 */
import { tryLockByName } from '../postgres/advisory-locks.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type AuditSeal = {
  readonly position: number
  /** Ids and transaction numbers are text, as PostgreSQL writes them: they may exceed 2^53. */
  readonly eventId: string
  /** The event's `at`, in the format of EntryRow. */
  readonly eventAt: string
  readonly xid: string
  readonly keyId: number
  readonly hash: Buffer
}

/**
 * Every column of an event, as text that does not depend on any PostgreSQL setting. `at` in microseconds since 1970.
 */
export type EntryRow = {
  readonly id: string
  readonly at: string
  readonly kind: string
  readonly actor_kind: string
  readonly actor_id: string
  readonly via: string
  readonly account_id: string | null
  readonly user_id: string | null
  readonly application_id: string | null
  readonly grant_id: string | null
  readonly device_code_id: string | null
  readonly detail: string
  readonly request_id: string | null
  readonly xid: string
}

/** Columns for a query over `audit_events e`. */
const ENTRY = `e.id::text as id, trunc(extract(epoch from e.at) * 1000000)::text as at, e.kind, e.actor_kind, e.actor_id, e.via,
  e.account_id, e.user_id,
  e.application_id, e.grant_id::text as grant_id, e.device_code_id::text as device_code_id, e.detail::text as detail,
  e.request_id, e.xid::text as xid`

const EVENT_AT = 'trunc(extract(epoch from s.event_at) * 1000000)::text as "eventAt"'

/** Columns for a query over `audit_seals s`. */
const SEAL = `s.position, s.event_id::text as "eventId", ${EVENT_AT}, s.xid::text as xid, s.key_id as "keyId", s.hash`

const XMIN = 'pg_snapshot_xmin(pg_current_snapshot())'
const XMAX = 'pg_snapshot_xmax(pg_current_snapshot())'

/**
 * One look-up per event: `offset 0` keeps the planner from reading the whole chain for a few events. The condition on
 * the time restricts it to the partition of that month.
 */
const NOT_SEALED = 'not exists (select from audit_seals s where s.event_id = e.id and s.event_at = e.at offset 0)'

/** Held until the transaction ends. False when another process is sealing. */
export function lockSealing(tx: Transaction): Promise<boolean> {
  return tryLockByName(tx, 'audit_seals')
}

export type LastSeal = AuditSeal & {
  /**
   * Its transaction number has not been given out here yet: the database was moved from another PostgreSQL server,
   * which has its own numbering.
   */
  readonly fromElsewhere: boolean
}

export async function readLastSeal(db: Queryable): Promise<LastSeal | null> {
  const { rows } = await db.query<LastSeal>({
    name: 'read-last-seal',
    text: `select ${SEAL}, s.xid >= ${XMAX} as "fromElsewhere" from audit_seals s order by s.position desc limit 1`,
  })
  return rows[0] ?? null
}

export async function readSeal(db: Queryable, position: number): Promise<AuditSeal | null> {
  const { rows } = await db.query<AuditSeal>({
    name: 'read-seal',
    text: `select ${SEAL} from audit_seals s where s.position = $1`,
    values: [position],
  })
  return rows[0] ?? null
}

/** The next events to seal, in the order of the chain. */
export async function readSealable(
  tx: Transaction,
  last: LastSeal | null,
  limit: number,
): Promise<readonly EntryRow[]> {
  if (!last) return readEntries(tx, `e.xid < ${XMIN}`, [limit])
  const after = [limit, last.xid, last.eventId]
  const beyond = '(e.xid, e.id) > ($2::xid8, $3::bigint)'
  if (!last.fromElsewhere) return readEntries(tx, `${beyond} and e.xid < ${XMIN}`, after)
  // First the unsealed events of the old server, still in its order; then those written here.
  const moved = await readEntries(tx, beyond, after)
  if (moved.length > 0) return moved
  return readEntries(tx, `e.xid < ${XMIN} and e.id > (select max(event_id) from audit_seals)`, [limit])
}

async function readEntries(tx: Transaction, condition: string, values: unknown[]): Promise<readonly EntryRow[]> {
  const text = `select ${ENTRY} from audit_events e where ${condition} and ${NOT_SEALED} order by e.xid, e.id limit $1`
  const { rows } = await tx.query<EntryRow>(text, values)
  return rows
}

export async function insertSeals(tx: Transaction, seals: readonly AuditSeal[]): Promise<void> {
  await tx.query({
    name: 'insert-seals',
    text: `insert into audit_seals (position, event_id, event_at, xid, key_id, hash)
      select position, event_id, timestamptz 'epoch' + us * interval '1 microsecond', xid, key_id, hash
      from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::xid8[], $5::smallint[], $6::bytea[])
        as seal(position, event_id, us, xid, key_id, hash)`,
    values: [
      seals.map(({ position }) => position),
      seals.map(({ eventId }) => eventId),
      seals.map(({ eventAt }) => eventAt),
      seals.map(({ xid }) => xid),
      seals.map(({ keyId }) => keyId),
      seals.map(({ hash }) => hash),
    ],
  })
}

/** A seal with its event; null if the event is missing. */
export type SealedEntry = AuditSeal & { readonly entry: EntryRow | null }

type SealedRow = Omit<AuditSeal, 'xid'> & { sealXid: string } & (EntryRow | { id: null })

/**
 * `same` matches id and time and reads only the partition of that month. `moved` matches the id alone and also finds an
 * event whose time was changed.
 */
const JOINS = {
  same: 'e.id = s.event_id and e.at = s.event_at',
  moved: 'e.id = s.event_id',
} as const

/** The tables that hold events and seals: those of the log, or those of one month (store/audit/partitions.ts). */
export type ChainTables = { readonly events: string; readonly seals: string }

export const LOG: ChainTables = { events: 'audit_events', seals: 'audit_seals' }

type ChainOptions = { readonly join?: keyof typeof JOINS; readonly tables?: ChainTables }

/** Not a named statement: a generic plan for any limit would be one for a large part of the table. */
export async function readChain(
  db: Queryable,
  after: number,
  limit: number,
  { join = 'same', tables: { events, seals } = LOG }: ChainOptions = {},
): Promise<readonly SealedEntry[]> {
  const { rows } = await db.query<SealedRow>(
    `select s.position, s.event_id::text as "eventId", ${EVENT_AT}, s.xid::text as "sealXid", s.key_id as "keyId", s.hash, ${ENTRY}
     from ${seals} s left join ${events} e on ${JOINS[join]}
     where s.position > $1 order by s.position, s.event_at limit $2`,
    [after, limit],
  )
  return rows.map(({ position, eventId, eventAt, sealXid: xid, keyId, hash, ...entry }) => ({
    position,
    eventId,
    eventAt,
    xid,
    keyId,
    hash,
    entry: entry.id === null ? null : entry,
  }))
}

/** Events get their ids before they commit, so an event of a slow transaction may be a few ids behind the last seal. */
const MAX_IDS_BEHIND = 200

/** Age of the oldest unsealed event; 0 when there is none. With a long backlog, that of one of the oldest. */
export async function readSealLagMs(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ lagMs: number }>(
    `select coalesce(max(extract(epoch from now() - e.at) * 1000), 0)::float8 as "lagMs"
     from (select e.at from audit_events e
       where e.id > (select coalesce(max(s.event_id), 0) - $1 from audit_seals s) and ${NOT_SEALED}
       order by e.id limit 1) e`,
    [MAX_IDS_BEHIND],
  )
  return Math.max(0, rows[0]?.lagMs ?? 0)
}

export type UnsealedEntry = {
  readonly id: string
  /**
   * The chain is already past it, or its transaction number has not been given out yet: the service did not write this
   * event at the time it claims.
   */
  readonly outOfOrder: boolean
  readonly ageMs: number
}

export type Unsealed = {
  readonly entries: readonly UnsealedEntry[]
  /** Event id to continue after; null when that was all. */
  readonly after: string | null
}

/** Checks `limit` events with ids above `after`; null: from the first. */
export async function readUnsealed(db: Queryable, after: string | null, limit: number): Promise<Unsealed> {
  const { rows } = await db.query<UnsealedEntry & { looked: number; last: string | null }>(
    `with looked as (select e.id, e.xid, e.at from audit_events e
       where $1::bigint is null or e.id > $1 order by e.id limit $2),
     last as (select s.xid, s.event_id, s.xid >= ${XMAX} as elsewhere from audit_seals s order by s.position desc limit 1)
     select all_of.looked, all_of.last, e.id::text as id,
       coalesce(case when last.elsewhere
         then (e.xid, e.id) < (last.xid, last.event_id) and e.id <= (select max(event_id) from audit_seals)
         else (e.xid, e.id) < (last.xid, last.event_id) or e.xid >= ${XMAX} end, false) as "outOfOrder",
       (extract(epoch from now() - e.at) * 1000)::float8 as "ageMs"
     from (select count(*) as looked, max(id)::text as last from looked) all_of
       left join lateral (select * from looked e where ${NOT_SEALED}) e on true
       left join last on true
     order by e.id`,
    [after, limit],
  )
  const entries = rows.flatMap(({ id, outOfOrder, ageMs }) => (id === null ? [] : [{ id, outOfOrder, ageMs }]))
  return { entries, after: rows[0]?.looked === limit ? (rows[0]?.last ?? null) : null }
}
