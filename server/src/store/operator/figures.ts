/** Figures over the whole installation, for operators. */
import type { Postgres, Queryable } from '../postgres/postgres.ts'

export async function readServer(db: Queryable): Promise<{ version: string; now: number }> {
  const { rows } = await db.query<{ version: string; now: number }>(
    "select current_setting('server_version') as version, clock_timestamp() as now",
  )
  return rows[0] ?? { version: '', now: 0 }
}

/** Polls per second of all applications, over the last complete five-minute interval and the current one. */
export async function readPollRate(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ rate: number }>(
    `select coalesce(sum(m.polls), 0)::float8 / extract(epoch from now() - since.start)::float8 as rate
     from (select date_bin('5 minutes', now(), 'epoch') - interval '5 minutes' as start) since
       left join application_minutes m on m.at >= since.start
     group by since.start`,
  )
  return rows[0]?.rate ?? 0
}

export type TransactionAges = {
  /** How many transaction ids the oldest row that is not frozen is behind; PostgreSQL stops writing at two billion. */
  readonly ids: number
  /** Time since the oldest running transaction began; of other roles only with pg_read_all_stats. */
  readonly oldestMs: number
}

export async function readTransactionAges(db: Queryable): Promise<TransactionAges> {
  const { rows } = await db.query<TransactionAges>(
    `select (select max(age(datfrozenxid)) from pg_database) as ids, coalesce(extract(epoch from
       (select max(clock_timestamp() - xact_start) from pg_stat_activity where backend_type = 'client backend')) * 1000, 0)::float8
       as "oldestMs"`,
  )
  return rows[0] ?? { ids: 0, oldestMs: 0 }
}

export type CodeOutcomes = { readonly granted: number; readonly rejected: number; readonly expired: number }

/** Outcomes of device codes within the last hour. Reads one row per code, hence the longer timeout. */
export function readOutcomes(db: Postgres): Promise<CodeOutcomes> {
  return db.transaction(async (tx) => {
    await tx.allowSeconds(5)
    const { rows } = await tx.query<CodeOutcomes>({
      text: `select count(*) filter (where decided_at > now() - interval '1 hour' and grant_id is not null) as granted,
          count(*) filter (where decided_at > now() - interval '1 hour' and grant_id is null) as rejected,
          count(*) filter (where decided_at is null and expires_at <= now()) as expired
        from device_codes where expires_at > now() - interval '1 hour'`,
      query_timeout: 6_000,
    })
    return rows[0] ?? { granted: 0, rejected: 0, expired: 0 }
  })
}

export type MailFigures = {
  readonly waiting: number
  /** When the oldest waiting mail was written. */
  readonly oldest: number | null
  /** Within the last day. */
  readonly givenUp: number
}

export type WebhookFigures = {
  readonly waiting: number
  /** When the oldest waiting delivery was queued. An unreachable receiver makes it old. */
  readonly oldest: number | null
  /** How long the oldest due delivery has been due. Growing values mean that no process is sending. */
  readonly overdueMs: number
}

/** Counts only enabled endpoints: deliveries to disabled ones are never sent and are purged later. */
export async function readWebhookFigures(db: Queryable): Promise<WebhookFigures> {
  const { rows } = await db.query<WebhookFigures>(
    `select count(*) as waiting, min(d.created_at) as oldest,
       coalesce(extract(epoch from now() - min(d.due_at) filter (where d.due_at <= now())) * 1000, 0)::float8 as "overdueMs"
     from webhook_deliveries d join webhook_endpoints w on w.id = d.endpoint_id
     where d.delivered_at is null and d.given_up_at is null and w.disabled_at is null`,
  )
  return rows[0] ?? { waiting: 0, oldest: null, overdueMs: 0 }
}

/** Without those given up, for which all mails of two days are read. */
export async function readWaitingMails(db: Queryable): Promise<Pick<MailFigures, 'waiting' | 'oldest'>> {
  const { rows } = await db.query<Pick<MailFigures, 'waiting' | 'oldest'>>(
    'select count(*) as waiting, min(created_at) as oldest from mails where sent_at is null and given_up_at is null',
  )
  return rows[0] ?? { waiting: 0, oldest: null }
}

export async function readMailFigures(db: Queryable): Promise<MailFigures> {
  const { rows } = await db.query<MailFigures>(
    `select waiting, oldest, (select count(*) from mails
         where created_at > now() - interval '2 days' and given_up_at > now() - interval '1 day') as "givenUp"
     from (select count(*) as waiting, min(created_at) as oldest from mails
       where sent_at is null and given_up_at is null) waiting`,
  )
  return rows[0] ?? { waiting: 0, oldest: null, givenUp: 0 }
}
