/** The tables application_hours, application_minutes and application_requests: requests and polls of applications. */

import type { Queryable } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

export type Counts = {
  readonly requested: number
  readonly polls: number
  readonly earlyPolls: number
  readonly secretsInUrl: number
}

export type CountedApplication = Counts & { readonly applicationId: string }

/** Five minutes: fine enough to see when a problem began, coarse enough to keep for two days. */
const STEP = "interval '5 minutes'"

/** Adds to the current hour and five minutes. Several processes add concurrently, each its own counts. */
export async function addCounts(db: Queryable, counted: readonly CountedApplication[]): Promise<void> {
  const column = <Name extends keyof CountedApplication>(name: Name) => counted.map((each) => each[name])
  await db.query(
    `insert into application_hours (application_id, hour, requested, polls, early_polls, secrets_in_url)
     select id, date_trunc('hour', now()), requested, polls, early, in_url
     from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
       as counted(id, requested, polls, early, in_url)
     order by id
     on conflict (application_id, hour) do update set
       requested = application_hours.requested + excluded.requested,
       polls = application_hours.polls + excluded.polls,
       early_polls = application_hours.early_polls + excluded.early_polls,
       secrets_in_url = application_hours.secrets_in_url + excluded.secrets_in_url`,
    [column('applicationId'), column('requested'), column('polls'), column('earlyPolls'), column('secretsInUrl')],
  )
  await db.query(
    `insert into application_minutes (application_id, at, polls, early_polls)
     select id, date_bin(${STEP}, now(), 'epoch'), polls, early
     from unnest($1::text[], $2::bigint[], $3::bigint[]) as counted(id, polls, early)
     where polls > 0
     order by id
     on conflict (application_id, at) do update set
       polls = application_minutes.polls + excluded.polls,
       early_polls = application_minutes.early_polls + excluded.early_polls`,
    [column('applicationId'), column('polls'), column('earlyPolls')],
  )
}

/** Sums over the last `hours`, including the current one. */
export async function readCounts(db: Queryable, applicationId: string, hours: number): Promise<Counts> {
  const { rows } = await db.query<Counts>(
    `select coalesce(sum(requested), 0)::bigint as requested, coalesce(sum(polls), 0)::bigint as polls,
       coalesce(sum(early_polls), 0)::bigint as "earlyPolls", coalesce(sum(secrets_in_url), 0)::bigint as "secretsInUrl"
     from application_hours
     where application_id = $1 and hour > date_trunc('hour', now()) - $2 * interval '1 hour'`,
    [applicationId, hours],
  )
  return rows[0] ?? { requested: 0, polls: 0, earlyPolls: 0, secretsInUrl: 0 }
}

/** Outcomes of an application's codes, counted from audit events. */
export type Decisions = { readonly entered: number; readonly granted: number; readonly rejected: number }

/**
 * Counts codes requested in the last `hours`, including the current one: the same codes that `requested` counts, so
 * that no more can be granted than were requested. A code's id starts with its time in milliseconds
 * (secrets/random.ts).
 */
export async function readDecisions(db: Queryable, applicationId: string, hours: number): Promise<Decisions> {
  const { rows } = await db.query<Decisions>(
    `select count(distinct device_code_id) filter (where kind = 'code.claimed') as entered,
       count(*) filter (where kind = 'grant.created') as granted,
       count(*) filter (where kind = 'code.rejected') as rejected
     from audit_events, lateral (select date_trunc('hour', now()) - ($2 - 1) * interval '1 hour' as start) since
     where application_id = $1 and at >= since.start and kind in ('code.claimed', 'grant.created', 'code.rejected')
       and device_code_id >= rpad(lpad(to_hex((extract(epoch from since.start) * 1000)::bigint), 12, '0'), 32, '0')::uuid`,
    [applicationId, hours],
  )
  return rows[0] ?? { entered: 0, granted: 0, rejected: 0 }
}

export type NotedRequest = {
  readonly applicationId: string
  readonly at: number
  /** The request was authenticated as the application's own. */
  readonly authenticated: boolean
  readonly operation: string
  /** Null: the request succeeded. */
  readonly refusal: string | null
  readonly message: string | null
}

export const MAX_REQUESTS = 50

/**
 * Separate limit for unauthenticated requests, which any client can send: they must not push the application's own out
 * of the list.
 */
export const MAX_UNAUTHENTICATED = 10

export async function insertRequests(db: Queryable, noted: readonly NotedRequest[]): Promise<void> {
  const column = (name: keyof NotedRequest) => noted.map((each) => each[name])
  await db.query(
    `insert into application_requests (application_id, at, authenticated, operation, refusal, message)
     select id, to_timestamp(at / 1000.0), authenticated, operation, refusal, message
     from unnest($1::text[], $2::float8[], $3::boolean[], $4::text[], $5::text[], $6::text[])
       as noted(id, at, authenticated, operation, refusal, message)`,
    [
      column('applicationId'),
      column('at'),
      column('authenticated'),
      column('operation'),
      column('refusal'),
      column('message'),
    ],
  )
}

/**
 * Keeps the last requests of each application, authenticated and unauthenticated separately. Call after the commit of
 * the inserts. Skips rows that another process is deleting, so that two processes never wait for each other.
 */
export async function trimRequests(db: Queryable, applicationIds: readonly string[]): Promise<void> {
  await db.query(
    `delete from application_requests where id in (
       select r.id from unnest($1::text[]) as touched(id)
       cross join (values (true, $2::int), (false, $3::int)) as kind(authenticated, most)
       cross join lateral (
         select id from application_requests
         where application_id = touched.id and authenticated = kind.authenticated
         order by id desc offset kind.most limit 1) newest_to_go
       join application_requests r on r.application_id = touched.id and r.authenticated = kind.authenticated
         and r.id <= newest_to_go.id
       for update of r skip locked)`,
    [applicationIds, MAX_REQUESTS, MAX_UNAUTHENTICATED],
  )
}

export type RequestLine = Omit<NotedRequest, 'applicationId' | 'authenticated'>

/** Newest first, in order of insertion: several processes insert, each every few seconds. */
export async function listRequests(db: Queryable, applicationId: string): Promise<readonly RequestLine[]> {
  const { rows } = await db.query<RequestLine>(
    `select at, operation, refusal, message from application_requests
     where application_id = $1 order by id desc limit $2`,
    [applicationId, MAX_REQUESTS],
  )
  return rows
}

export async function forgetCounts(db: Queryable): Promise<void> {
  await forget(db, 'application_hours', "hour < now() - interval '90 days'")
  await forget(db, 'application_minutes', "at < now() - interval '2 days'")
}
