/**
 * Audit events as the web interface lists them: filtered, page by page, with their position in the chain and the names
 * behind the ids.
 */
import type { ActorKind, Interface } from '../../core/audit/actor.ts'
import type { Queryable } from '../postgres/postgres.ts'

export type ListedEvent = {
  readonly id: number
  readonly at: number
  readonly kind: string
  readonly actorKind: ActorKind
  readonly actorId: string
  readonly via: Interface
  readonly accountId: string | null
  readonly userId: string | null
  readonly applicationId: string | null
  readonly grantId: string | null
  readonly deviceCodeId: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly requestId: string | null
  /** Position in the chain and seal; null until the event is sealed. */
  readonly position: number | null
  readonly hash: Buffer | null
}

/** A null field does not filter. A list matches any of its members; an empty list matches nothing. */
export type EventFilter = {
  /** Null: events of all accounts, and events without an account. */
  readonly accountId: string | null
  readonly kinds: readonly string[] | null
  /** Matches the user concerned and the actor. */
  readonly userIds: readonly string[] | null
  readonly applicationIds: readonly string[] | null
  readonly requestId: string | null
  /** Epoch milliseconds: `from` inclusive, `until` exclusive. */
  readonly from: number | null
  readonly until: number | null
}

export type EventOrder = 'newest_first' | 'oldest_first'

export type EventPage = {
  readonly events: readonly ListedEvent[]
  /** Event id to continue after; null at the end. A page may be short or empty although more pages follow. */
  readonly after: number | null
}

/** Number of rows scanned for one filtered page: a rare match takes more pages, but no page takes long. */
const MAX_SCAN = 5_000

/**
 * One look-up per event, in the partition of its month. `offset 0` keeps the planner from scanning the chain instead.
 */
const WITH_SEAL = `left join lateral (
  select s.position, s.hash from audit_seals s where s.event_id = e.id and s.event_at = e.at offset 0) s on true`

/**
 * `after` is the id of the last event of the previous page and not a time: PostgreSQL's timestamps are finer than
 * milliseconds. The id of an event of another account is not a valid position.
 */
export async function listEvents(
  db: Queryable,
  filter: EventFilter,
  { after, max, order }: { readonly after: number | null; readonly max: number; readonly order: EventOrder },
): Promise<EventPage> {
  const { accountId, kinds, userIds, applicationIds, requestId, from, until } = filter
  // The few events of one request are found by its index.
  const filtered = requestId === null && (kinds !== null || userIds !== null || applicationIds !== null)
  const [beyond, within, farthest, direction] =
    order === 'newest_first' ? ['<', '>=', '-infinity', 'desc'] : ['>', '<=', 'infinity', 'asc']
  const sorted = `order by e.at ${direction}, e.id ${direction}`
  const inReach = `($1::text is null or e.account_id = $1)
    and ($2::timestamptz is null or e.at >= $2) and ($3::timestamptz is null or e.at < $3)
    and ($4::bigint is null or (e.at, e.id) ${beyond} (select c.at, c.id from audit_events c
      where c.id = $4 and ($1::text is null or c.account_id = $1)))`
  const { rows } = await db.query<ListedEvent & { edge: number | null }>(
    `with edge as (select e.at, e.id from audit_events e where ${inReach} and $8 ${sorted} offset ${MAX_SCAN} limit 1),
     found as (
       select e.* from audit_events e
       where ${inReach}
         and (e.at, e.id) ${within} (select coalesce(max(at), '${farthest}'), coalesce(max(id), 0) from edge)
         and ($5::text[] is null or e.application_id = any($5)) and ($6::text[] is null or e.kind = any($6))
         and ($7::text[] is null or e.user_id = any($7) or e.actor_id = any($7))
         and ($10::text is null or e.request_id = $10)
       ${sorted} limit $9)
     select (select id from edge) as edge, e.id, e.at, e.kind, e.actor_kind as "actorKind", e.actor_id as "actorId", e.via, e.account_id as "accountId", e.user_id as "userId",
       e.application_id as "applicationId", e.grant_id as "grantId", e.device_code_id as "deviceCodeId", e.detail,
       e.request_id as "requestId", s.position, s.hash
     from (select 1) one left join found e on true ${WITH_SEAL}
     ${sorted}`,
    [accountId, moment(from), moment(until), after, applicationIds, kinds, userIds, filtered, max + 1, requestId],
  )
  const found = rows.filter((row) => row.id !== null).map(({ edge: _, ...event }) => event)
  if (found.length > max) return { events: found.slice(0, max), after: found[max - 1]?.id ?? null }
  return { events: found, after: rows[0]?.edge ?? null }
}

function moment(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

/** Events of this account (null: of all accounts) are sealed up to this one. */
export type SealedUpTo = { readonly position: number; readonly at: number }

export async function readSealedUpTo(db: Queryable, accountId: string | null): Promise<SealedUpTo | null> {
  const { rows } = await db.query<SealedUpTo>(
    accountId === null
      ? 'select position, event_at as at from audit_seals order by position desc limit 1'
      : `select s.position, e.at
         from (select id, at from audit_events where account_id = $1 order by at desc, id desc limit 200) e ${WITH_SEAL}
         where s.position is not null order by s.position desc limit 1`,
    accountId === null ? [] : [accountId],
  )
  return rows[0] ?? null
}

/**
 * Names of users, roles, applications and accounts. In the list of an account, only its own users and roles are named.
 */
export async function readNames(
  db: Queryable,
  accountId: string | null,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await db.query<{ id: string; name: string }>(
    `select id, email as name from users where id = any($1) and ($2::text is null or account_id = $2)
     union all select id, name from roles where id = any($1) and ($2::text is null or account_id = $2)
     union all select id, name from applications where id = any($1)
     union all select id, label from management_keys where id = any($1) and ($2::text is null or account_id = $2)
     union all select id, slug from accounts where id = any($1) and ($2::text is null or id = $2)`,
    [ids, accountId],
  )
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Finds users by e-mail address: at most one per account. The index over all accounts has the collation "C". */
export async function findUserIds(db: Queryable, accountId: string | null, email: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from users where email collate "C" = lower($1) and ($2::text is null or account_id = $2)',
    [email, accountId],
  )
  return rows.map(({ id }) => id)
}

/** Finds applications by id or name; names are not unique. */
export async function findApplicationIds(db: Queryable, text: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from applications where id = $1 or lower(name) = lower($1) order by id',
    [text],
  )
  return rows.map(({ id }) => id)
}
