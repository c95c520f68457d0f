/**
 * Evidence against applications: grants and early_polls counted into windows, reports from audit_events, and polling rates. Reads several applications at once.
 */
import type { PollCounts } from '../../core/reviews/early-polls.ts'
import { markOverloads, type Overloads, type Span } from '../../core/reviews/evidence.ts'
import type { Evidence, Thresholds, Window } from '../../core/reviews/suspension.ts'
import { LONG_QUERY, type Queryable } from '../postgres/postgres.ts'

/** Events by which users, or a crowd of users, report an application. Matches the condition of the partial index. */
const REPORTS = `kind in ('code.reported', 'application.reported', 'credential.reported', 'code.crowd')`

/**
 * Applications with codes that ignored slow_down since `from`, with reports of the last day, or with an open review.
 */
export async function listSuspects(
  db: Queryable,
  from: number,
  { earlyPolls }: Thresholds,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select application_id as id from early_polls where last_at >= $1 and polls >= $2
     union select application_id from audit_events
       where ${REPORTS} and at > now() - interval '1 day' and application_id is not null
     union select application_id from reviews where closed_at is null
     order by 1`,
    [new Date(from), earlyPolls],
  )
  return rows.map(({ id }) => id)
}

/** Polls of each application with early ones in the steps that began after `since`. */
export async function listPollCounts(
  db: Queryable,
  since: number,
): Promise<readonly (PollCounts & { readonly applicationId: string })[]> {
  const { rows } = await db.query<PollCounts & { applicationId: string }>(
    `select application_id as "applicationId", sum(polls)::bigint as polls, sum(early_polls)::bigint as early
     from application_minutes where at > $1 group by application_id having sum(early_polls) > 0`,
    [new Date(since)],
  )
  return rows
}

/** Evidence from before the last closed review is not counted again. For a query over `applications a`. */
const SINCE = `coalesce((select max(r.closed_at) from reviews r where r.application_id = a.id), '-infinity')`

/** Roughly one site, as in core/network.ts. */
const NETWORK = `network(set_masklen(g.requested_from, case family(g.requested_from) when 4 then 24 else 48 end))`

const COUNTS = `count(distinct account_id) filter (where good) as granted,
  count(distinct account_id) filter (where good and ignored) as ignoring,
  count(distinct network) filter (where good and ignored) as networks,
  count(distinct account_id) as any_granted,
  count(distinct account_id) filter (where ignored) as any_ignoring,
  count(distinct network) filter (where ignored) as any_networks`

type Row = {
  application_id: string
  /** Null: the total over all windows. */
  number: number | null
  granted: number
  ignoring: number
  networks: number
  any_granted: number
  any_ignoring: number
  any_networks: number
}

export type WindowEvidence = Pick<Evidence, 'windows' | 'touched'>

/** Returns windows by application. `span` is that of `options.now`. */
export async function readWindows(
  db: Queryable,
  applicationIds: readonly string[],
  span: Span,
  options: Overloads,
  thresholds: Thresholds,
): Promise<ReadonlyMap<string, WindowEvidence>> {
  const { rows } = await db.query<Row>({
    ...LONG_QUERY,
    text: `with codes as (
       select g.application_id, g.account_id, ${NETWORK} as network, coalesce(e.polls, 0) >= $5 as ignored,
         g.account_id <> a.account_id and g.created_at - c.created_at >= $6 * interval '1 day' as good,
         floor(extract(epoch from g.created_at - $2::timestamptz) * 1000 / $4)::integer as number
       from applications a join grants g on g.application_id = a.id join accounts c on c.id = g.account_id
         left join early_polls e on e.device_code_id = g.device_code_id
       where a.id = any($1) and g.device_code_id is not null
         and g.created_at >= $2::timestamptz and g.created_at >= ${SINCE} and g.created_at < $3)
     select application_id, number, ${COUNTS}
     from codes group by grouping sets ((application_id, number), (application_id))`,
    values: [
      applicationIds,
      new Date(span.from),
      new Date(span.to),
      span.windowMs,
      thresholds.earlyPolls,
      thresholds.accountAgeDays,
    ],
  })
  const byApplication = Map.groupBy(rows, (row) => row.application_id)
  const evidenceOf = (id: string): WindowEvidence => {
    const own = byApplication.get(id) ?? []
    const windows = Array.from({ length: thresholds.windows }, (_, number) =>
      windowFrom(
        span.from + number * span.windowMs,
        own.find((row) => row.number === number),
      ),
    )
    return {
      windows: markOverloads(windows, options, span.windowMs),
      touched: own.find((row) => row.number === null)?.any_ignoring ?? 0,
    }
  }
  return new Map(applicationIds.map((id) => [id, evidenceOf(id)]))
}

function windowFrom(startsAt: number, row: Row | undefined): Omit<Window, 'overloaded'> {
  return {
    startsAt,
    grantedAccounts: row?.granted ?? 0,
    ignoringAccounts: row?.ignoring ?? 0,
    ignoringNetworks: row?.networks ?? 0,
    anyAccount: {
      grantedAccounts: row?.any_granted ?? 0,
      ignoringAccounts: row?.any_ignoring ?? 0,
      ignoringNetworks: row?.any_networks ?? 0,
    },
  }
}

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Number of accounts that reported each application within the day before `now` and since its last closed review. The time
 * is a parameter, so that PostgreSQL plans for the newest partitions alone.
 */
export async function readReports(
  db: Queryable,
  applicationIds: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.query<{ id: string; accounts: number }>(
    `select a.id, count(distinct e.account_id) as accounts
     from applications a join audit_events e on e.application_id = a.id
     where a.id = any($1) and e.${REPORTS} and e.at > $2 and e.at > ${SINCE}
     group by a.id`,
    [applicationIds, new Date(now - DAY_MS)],
  )
  return new Map(rows.map(({ id, accounts }) => [id, accounts]))
}

/** Ratio of polls to allowed polls of its devices since `from`; null without polls. */
export async function readFactor(db: Queryable, applicationId: string, from: number): Promise<number | null> {
  const { rows } = await db.query<{ polls: number; early: number }>(
    `select coalesce(sum(polls), 0)::bigint as polls, coalesce(sum(early_polls), 0)::bigint as early
     from application_minutes where application_id = $1 and at >= $2`,
    [applicationId, new Date(from)],
  )
  const { polls = 0, early = 0 } = rows[0] ?? {}
  return polls === 0 ? null : polls / Math.max(1, polls - early)
}
