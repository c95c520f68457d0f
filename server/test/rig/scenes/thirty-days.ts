/**
 * Thirty days of a service in use: forty applications of fifteen developers, nine hundred accounts that connect them, one
 * phishing application, and one whose devices received a broken firmware the day before yesterday. Rows are inserted as the
 * service would have inserted them; the service judges them.
 */
import type { Queryable } from '../../../src/store/postgres/postgres.ts'
import { APPLICATIONS, type Habit, PUBLISHERS } from './thirty-days-applications.ts'

export type ThirtyDays = {
  /** Application ids by name. */
  readonly applications: ReadonlyMap<string, string>
  readonly phisher: string
  readonly firmware: string
}

const PHISHER = 'Account Security Update'
const FIRMWARE = 'Brightframe Player'

export async function seedThirtyDays(db: Queryable): Promise<ThirtyDays> {
  await db.query(`insert into scopes (name, title, created_at) values
    ('orders:read', 'See orders', now()), ('displays:write', 'Decide what the displays show', now())
    on conflict do nothing`)
  await makeAccounts(db)
  const applications = new Map<string, string>()
  for (const [index, [name, habit]] of Object.entries(APPLICATIONS).entries()) {
    const id = `app_demo${String(index + 1).padStart(8, '0')}`
    applications.set(name, id)
    await makeApplication(db, id, name, index)
    await makeHistory(db, id, habit, index)
  }
  const phisher = applications.get(PHISHER) ?? ''
  const firmware = applications.get(FIRMWARE) ?? ''
  await report(db, phisher)
  await breakFirmware(db, firmware)
  await makeCodesOfNow(db, firmware)
  return { applications, phisher, firmware }
}

/** Fifteen developers, then nine hundred customers, each with an administrator. Old enough to count as established. */
async function makeAccounts(db: Queryable): Promise<void> {
  const slugs = PUBLISHERS.map(([slug]) => slug)
  const names = PUBLISHERS.map(([, name]) => name)
  await db.query(
    `with made as (
       insert into accounts (id, slug, name, created_at)
       select 'acc_dev' || lpad(n::text, 9, '0'), slug, name, now() - interval '300 days' - n * interval '5 days'
       from unnest($1::text[], $2::text[]) with ordinality as publisher(slug, name, n)
       union all
       select 'acc_demo' || lpad(n::text, 8, '0'), 'customer-' || n, 'Customer ' || n, now() - interval '40 days' - n * interval '9 hours'
       from generate_series(1, 900) n
       returning id, slug, created_at),
     roles_made as (
       insert into roles (id, account_id, name, holds_every_scope, created_at)
       select replace(id, 'acc_', 'rol_'), id, 'administrator', true, created_at from made returning id, account_id, created_at),
     users_made as (
       insert into users (id, account_id, email, created_at)
       select replace(id, 'acc_', 'usr_'), id, 'admin@' || slug || '.example', created_at from made returning id)
     insert into user_roles (user_id, role_id) select id, replace(id, 'usr_', 'rol_') from users_made`,
    [slugs, names],
  )
}

async function makeApplication(db: Queryable, id: string, name: string, index: number): Promise<void> {
  const [, , domain] = PUBLISHERS[index % PUBLISHERS.length] ?? []
  const verified = name !== PHISHER && domain !== undefined
  await db.query(
    `insert into applications (id, account_id, name, publisher, publisher_status, allowed_scopes, default_scopes,
       required_scopes, device_flow, created_at, change_number)
     values ($1, 'acc_dev' || lpad($2::text, 9, '0'), $3, $4, $5, '{orders:read,displays:write}', '{orders:read}', '{}', true,
       now() - $6 * interval '1 day', nextval('application_changes'))`,
    [
      id,
      String((index % PUBLISHERS.length) + 1),
      name,
      verified ? domain : null,
      verified ? 'verified' : 'unverified',
      name === PHISHER ? 2 : 90 + index * 7,
    ],
  )
}

/**
 * Requests and polls per hour (more by day than at night, fewer at weekends), and what users decided. The numbers look random
 * and are the same in every run: they are hashes of the hour.
 */
async function makeHistory(db: Queryable, id: string, habit: Habit, index: number): Promise<void> {
  const { perDay, days = 30, entered, granted, rejected, factor } = habit
  await db.query(
    `insert into application_hours (application_id, hour, requested, polls, early_polls, secrets_in_url)
     select $1, hour, requested, polls, (polls * (1 - 1 / $4::float8))::bigint, 0
     from (
       select hour, (busy * $3 / 24.0)::bigint as requested, (busy * $3 / 24.0 * 14 * $4)::bigint as polls
       from (
         select hour, (0.45 + 1.4 * greatest(0, sin((extract(hour from hour)::int - 6) * pi() / 15)))
           * case when extract(isodow from hour) > 5 then 0.55 else 1.1 end
           * (0.85 + (hashtextextended($1 || hour::text, 7) & 1023) / 3400.0) as busy
         from generate_series(date_trunc('hour', now()) - $2 * interval '1 day', date_trunc('hour', now()), interval '1 hour') hour
       ) hours) counted
     on conflict do nothing`,
    [id, days, perDay, factor],
  )
  await db.query(
    `insert into application_minutes (application_id, at, polls, early_polls)
     select h.application_id, h.hour + m * interval '5 minutes', five.polls, (five.polls * (1 - 1 / $2::float8))::bigint
     from application_hours h cross join generate_series(0, 11) m
       cross join lateral (select (h.polls / 12.0 * (0.8 + ((h.polls * 31 + m * 17) % 40) / 100.0))::bigint as polls) five
     where h.application_id = $1 and h.hour > now() - interval '2 days' and h.hour + m * interval '5 minutes' < now()
     on conflict do nothing`,
    [id, factor],
  )
  await decideAbout(db, id, { days, entered, granted, rejected }, perDay, index)
}

type Decided = Required<Pick<Habit, 'days' | 'entered' | 'granted' | 'rejected'>>

/** Events, and grants of granted codes, for every entered code. A code's id starts with its time. */
async function decideAbout(db: Queryable, id: string, decided: Decided, perDay: number, index: number): Promise<void> {
  await db.query(
    `with codes as (
       select n, at, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || substr(md5($1 || n::text), 1, 20))::uuid as code,
         'grt_' || left(md5($1 || 'grant' || n::text), 20) as grant_id, fate,
         1 + (hashtextextended($1 || n::text, 1) & 1073741823) % 900 as customer,
         ('198.18.' || ((n * 7 + $5::int * 13) % 60)::text || '.' || (1 + n % 250)::text)::inet as address
       from (
         select n, now() - $2 * interval '1 day' * power((hashtextextended($1 || n::text, 2) & 65535) / 65536.0, 0.93) - interval '3 minutes' as at,
           ((hashtextextended($1 || n::text, 3) & 65535) / 65536.0) as fate
         from generate_series(1, ($2::int * $3::float8 * $4::float8)::int) n) drawn),
     claimed as (
       insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, device_code_id)
       select at + interval '1 minute', 'code.claimed', 'user', 'usr_demo' || lpad(customer::text, 8, '0'), 'web', 'acc_demo' || lpad(customer::text, 8, '0'), 'usr_demo' || lpad(customer::text, 8, '0'), $1, code
       from codes),
     refused as (
       insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, device_code_id)
       select at + interval '2 minutes', 'code.rejected', 'user', 'usr_demo' || lpad(customer::text, 8, '0'), 'web', 'acc_demo' || lpad(customer::text, 8, '0'), 'usr_demo' || lpad(customer::text, 8, '0'), $1, code
       from codes where fate > $6 and fate <= $6 + $7),
     granted as (
       insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at, issued_at, last_used_on, requested_from, first_of_user)
       select grant_id, gen_random_uuid(), 'acc_demo' || lpad(customer::text, 8, '0'), 'usr_demo' || lpad(customer::text, 8, '0'), $1,
         case when n % 4 = 0 then 'access_key' else 'token_set' end, '{orders:read}', code, 1,
         at + interval '2 minutes', at + interval '2 minutes 4 seconds', (now() - (n % 5) * interval '1 day')::date, address,
         row_number() over (partition by customer order by at) = 1
       from codes where fate <= $6)
     insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, grant_id, device_code_id, detail)
     select at + interval '2 minutes', 'grant.created', 'user', 'usr_demo' || lpad(customer::text, 8, '0'), 'web', 'acc_demo' || lpad(customer::text, 8, '0'), 'usr_demo' || lpad(customer::text, 8, '0'),
       $1, grant_id, code, '{"by":"code","scopes":["orders:read"]}'
     from codes where fate <= $6`,
    [id, decided.days, perDay, decided.entered, index, decided.granted, decided.rejected],
  )
}

/** Eleven users reported that they had not started it. */
async function report(db: Queryable, id: string): Promise<void> {
  await db.query(
    `insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id)
     select now() - n * interval '83 minutes', 'code.reported', 'user', 'usr_demo' || lpad((n * 37)::text, 8, '0'), 'web', 'acc_demo' || lpad((n * 37)::text, 8, '0'),
       'usr_demo' || lpad((n * 37)::text, 8, '0'), $1
     from generate_series(1, 11) n`,
    [id],
  )
}

/** Rolled out for two days, its owner warned since yesterday, and today rolled out to many: one in three newly granted devices ignores slow_down. */
async function breakFirmware(db: Queryable, id: string): Promise<void> {
  await db.query(
    `with warned as (
       insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, application_id, detail)
       select now() - interval '26 hours', 'application.warned', 'service', 'suspension-rule', 'job', account_id, id, '{}' from applications where id = $1)
     insert into reviews (id, application_id, opened_at, reason, verdict, harm, evidence, thresholds, judged_at, last_escalated_at, warned_at)
     select 'rev_demo00000001', $1, at, 'polling', 'warn', 0, '{}', '{}', at, at, at from (select now() - interval '26 hours' as at) then_`,
    [id],
  )
  await db.query(
    `with codes as (
       select n, at, 1 + (n * 7) % 900 as customer,
         (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || substr(md5('firmware' || n::text), 1, 20))::uuid as code,
         'grt_' || left(md5('firmware grant' || n::text), 20) as grant_id
       from (select n, now() - n * interval '7 seconds' as at from generate_series(1, 1030) n) drawn),
     granted as (
       insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at, issued_at, requested_from, first_of_user)
       select grant_id, gen_random_uuid(), 'acc_demo' || lpad(customer::text, 8, '0'), 'usr_demo' || lpad(customer::text, 8, '0'), $1, 'token_set', '{orders:read}',
         code, 1, at, at + interval '3 seconds', ('198.19.' || (n * 11 % 120)::text || '.' || (1 + n % 250)::text)::inet,
         not exists (select from grants before where before.user_id = 'usr_demo' || lpad(customer::text, 8, '0') and before.application_id = $1)
           and row_number() over (partition by customer order by at) = 1
       from codes),
     early as (
       insert into early_polls (device_code_id, application_id, polls, last_at)
       select code, $1, 40 + n % 90, at from codes where n % 3 = 0),
     entered as (
       insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, device_code_id)
       select at, 'code.claimed', 'user', 'usr_demo' || lpad(customer::text, 8, '0'), 'web', 'acc_demo' || lpad(customer::text, 8, '0'), 'usr_demo' || lpad(customer::text, 8, '0'), $1, code from codes)
     insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, grant_id, device_code_id, detail)
     select at, 'grant.created', 'user', 'usr_demo' || lpad(customer::text, 8, '0'), 'web', 'acc_demo' || lpad(customer::text, 8, '0'), 'usr_demo' || lpad(customer::text, 8, '0'), $1, grant_id, code,
       '{"by":"code","scopes":["orders:read"]}'
     from codes`,
    [id],
  )
  await db.query(
    `update application_minutes set polls = polls * 4, early_polls = polls * 3
     where application_id = $1 and at > now() - interval '46 hours'`,
    [id],
  )
  await db.query(
    `update application_hours set polls = polls * 4, early_polls = polls * 3
     where application_id = $1 and hour > now() - interval '46 hours'`,
    [id],
  )
  await db.query(
    `update application_hours set requested = requested + 590, polls = polls + 13000, early_polls = early_polls + 7900
     where application_id = $1 and hour > now() - interval '3 hours'`,
    [id],
  )
  await db.query(
    `update application_minutes set polls = polls + 980 + swing, early_polls = early_polls + 620 + swing
     from (select at as then_, (hashtextextended(at::text, 5) & 127) as swing from application_minutes where application_id = $1) swings
     where application_id = $1 and at = then_ and at > now() - interval '150 minutes'`,
    [id],
  )
}

/** Currently pending codes, and some that expired within the last hour. */
async function makeCodesOfNow(db: Queryable, id: string): Promise<void> {
  await db.query(
    `insert into device_codes (id, expires_at, created_at, application_id, variant, status, key_id, user_code_digits, user_code_digest,
       scopes, state, claimed_by, decided_at, grant_id, outcome, lease_id, leased_until, used_at)
     select md5('now' || n)::uuid, now() + n * interval '4 seconds', now() - interval '1 minute', $1, 'token_set',
       case when n <= 168 then 'pending' else 'used' end, 1, 9, uuid_send(md5('user code' || n)::uuid), '{orders:read}', '',
       case when n > 168 then 'usr_demo00000001' end, case when n > 168 then now() - n * interval '9 seconds' end,
       case when n > 168 and n % 9 > 0 then 'grt_' || left(md5('now grant' || n), 20) end,
       case when n > 168 then case when n % 9 > 0 then 'accepted' else 'rejected' end end,
       case when n > 168 then md5('lease' || n)::uuid end, case when n > 168 then now() end, case when n > 168 then now() end
     from generate_series(1, 220) n`,
    [id],
  )
}
