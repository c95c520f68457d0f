/**
 * The table audit_seals: the chain over audit_events, one link per event.
 *
 * Events are written by many at once, and none of them waits for the chain. It is made afterwards, by one at a time, of events
 * whose transaction is older than every one that still runs: nobody can add to those any more, so they have one order, by
 * transaction and number, and none can turn up in front of one that is sealed. (As in store/grants/changes.ts.)
 */
import { tryLockByName } from '../postgres/advisory-locks.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type AuditSeal = {
  readonly position: number
  /** As PostgreSQL writes them: numbers of any size. */
  readonly eventId: string
  /** The event's `at`, as EntryRow has it. */
  readonly eventAt: string
  readonly xid: string
  readonly keyId: number
  readonly hash: Buffer
}

/** Every column of an event, as text that does not depend on any setting of PostgreSQL. `at` in microseconds since 1970. */
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
  readonly xid: string
}

/** For a query over `audit_events e`. */
const ENTRY = `e.id::text as id, trunc(extract(epoch from e.at) * 1000000)::text as at, e.kind, e.actor_kind, e.actor_id, e.via,
  e.account_id, e.user_id,
  e.application_id, e.grant_id::text as grant_id, e.device_code_id::text as device_code_id, e.detail::text as detail,
  e.xid::text as xid`

const EVENT_AT = 'trunc(extract(epoch from s.event_at) * 1000000)::text as "eventAt"'

/** For a query over `audit_seals s`. */
const SEAL = `s.position, s.event_id::text as "eventId", ${EVENT_AT}, s.xid::text as xid, s.key_id as "keyId", s.hash`

const XMIN = 'pg_snapshot_xmin(pg_current_snapshot())'
const XMAX = 'pg_snapshot_xmax(pg_current_snapshot())'

/**
 * Looked up one by one: the planner must not think of reading the whole chain for the few that are asked about. By its time as
 * well, so that only the partition of that month is looked into.
 */
const NOT_SEALED = 'not exists (select from audit_seals s where s.event_id = e.id and s.event_at = e.at offset 0)'

/** False when another process seals. Until the transaction ends. */
export function lockSealing(tx: Transaction): Promise<boolean> {
  return tryLockByName(tx, 'audit_seals')
}

export type LastSeal = AuditSeal & {
  /** Its transaction has not been here yet: the database was moved here from another PostgreSQL, which counted on its own. */
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

/** What comes next in the chain, in its order. */
export async function readSealable(
  tx: Transaction,
  last: LastSeal | null,
  limit: number,
): Promise<readonly EntryRow[]> {
  if (!last) return readEntries(tx, `e.xid < ${XMIN}`, [limit])
  const after = [limit, last.xid, last.eventId]
  const beyond = '(e.xid, e.id) > ($2::xid8, $3::bigint)'
  if (!last.fromElsewhere) return readEntries(tx, `${beyond} and e.xid < ${XMIN}`, after)
  // First what came along unsealed, still in the order of where it came from; then what was written here.
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

/** A seal and the event that it names, if that is still there. */
export type SealedEntry = AuditSeal & { readonly entry: EntryRow | null }

type SealedRow = Omit<AuditSeal, 'xid'> & { sealXid: string } & (EntryRow | { id: null })

/** By number and time only the month's partition is looked into; by number alone, an event whose time was changed is found, too. */
const JOINS = {
  same: 'e.id = s.event_id and e.at = s.event_at',
  moved: 'e.id = s.event_id',
} as const

/** Without a name: a plan that is kept for every limit would be one for a large part of the table. */
export function readChain(
  db: Queryable,
  after: number,
  limit: number,
  join: keyof typeof JOINS = 'same',
): Promise<readonly SealedEntry[]> {
  return readLinks(db, JOINS[join], 's.position > $1 order by s.position, s.event_at limit $2', [after, limit])
}

/** Of the events of one month. `from` and `to` are moments in PostgreSQL's writing. */
export function readMonthOfChain(
  db: Queryable,
  { from, to }: { readonly from: string; readonly to: string },
  after: number,
  limit: number,
): Promise<readonly SealedEntry[]> {
  const condition = 's.event_at >= $3 and s.event_at < $4 and s.position > $1 order by s.position, s.event_at limit $2'
  return readLinks(db, JOINS.same, condition, [after, limit, from, to])
}

async function readLinks(
  db: Queryable,
  join: string,
  condition: string,
  values: unknown[],
): Promise<readonly SealedEntry[]> {
  const { rows } = await db.query<SealedRow>(
    `select s.position, s.event_id::text as "eventId", ${EVENT_AT}, s.xid::text as "sealXid", s.key_id as "keyId", s.hash, ${ENTRY}
     from audit_seals s left join audit_events e on ${join}
     where ${condition}`,
    values,
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

/** Events get their numbers before they are committed, so one of a slow transaction may be a few numbers behind the last seal. */
const STRAGGLERS = 200

/** How long the oldest event waits for its seal; 0 when none does. Of a long backlog it is one of the oldest. */
export async function readSealLagMs(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ lagMs: number }>(
    `select coalesce(max(extract(epoch from now() - e.at) * 1000), 0)::float8 as "lagMs"
     from (select e.at from audit_events e
       where e.id > (select coalesce(max(s.event_id), 0) - $1 from audit_seals s) and ${NOT_SEALED}
       order by e.id limit 1) e`,
    [STRAGGLERS],
  )
  return Math.max(0, rows[0]?.lagMs ?? 0)
}

export type UnsealedEntry = {
  readonly id: string
  /** The chain went past it, or its transaction has not been yet: the service did not write it when it says it did. */
  readonly outOfOrder: boolean
  readonly ageMs: number
}

export type Unsealed = {
  readonly entries: readonly UnsealedEntry[]
  /** Ask again from here; null when that was all. */
  readonly after: string | null
}

/** Branding at `limit` events with higher numbers than `after`; null: from the first. */
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
