/**
 * A service with many accounts, applications, grants and events, inserted by a few statements: for pages that have to stay
 * short and fast. The sizes are of the caller; names and times are spread evenly, grants over applications unevenly.
 */
import type { Northwind } from './northwind.ts'
import { reviewed } from './reviewed.ts'

export type CrowdSize = {
  readonly accounts: number
  /** In accounts of the crowd, and besides in Northwind. */
  readonly applications: number
  readonly ownApplications: number
  /** Users of Northwind; every account of the crowd has two. */
  readonly members: number
  readonly grants: number
  readonly events: number
  /** Open reviews, closed reviews, proposals, requested and approved vettings: of each. */
  readonly queue: number
}

/** Enough for a second page everywhere, and a hundred entries of everything that waits. */
export const CROWD: CrowdSize = {
  accounts: 60,
  applications: 260,
  ownApplications: 60,
  members: 60,
  grants: 600,
  events: 300,
  queue: 100,
}

const NAMES = `(array['Amber','Birch','Cedar','Delta','Ember','Fjord','Grove','Harbour','Indigo','Juniper','Kestrel','Lumen',
  'Maple','Nimbus','Orchard','Pebble','Quartz','River','Summit','Timber'])[1 + n % 20] || ' ' || n`

/** The last day's grants are all of today, so that pages that count today count a whole day at any hour. */
const SHARE_OF_TODAY = `(extract(epoch from now() - date_trunc('day', now())) / 86400)`

const hex = (prefix: string, seed: string, digits = 12) =>
  `'${prefix}' || left(md5(${seed}) || md5(${seed} || 'x'), ${digits})`

export async function addCrowd(northwind: Northwind, size: CrowdSize): Promise<void> {
  const { service } = northwind
  const query = (text: string, ...values: unknown[]) => service.database.query(text, values)
  const { fast, settled } = await reviewed(northwind)
  await query(
    `insert into accounts (id, slug, name, created_at)
     select ${hex('acc_', "'account' || n")}, 'crowd-' || n, ${NAMES}, now() - n * interval '1 minute' from generate_series(1, $1) n`,
    size.accounts,
  )
  await query(
    `insert into roles (id, account_id, name, holds_every_scope, created_at)
     select ${hex('rol_', 'a.id')}, a.id, 'administrator', true, now() from accounts a where a.slug like 'crowd-%'`,
  )
  await query(
    `insert into users (id, account_id, email, password_digest, created_at)
     select ${hex('usr_', 'a.id || each')}, a.id, split_part(lower(a.name), ' ', 1) || each || '@' || a.slug || '.example', 'none', a.created_at
     from accounts a, generate_series(1, 2) each where a.slug like 'crowd-%'`,
  )
  await query(
    `insert into users (id, account_id, email, password_digest, created_at)
     select ${hex('usr_', "'member' || n")}, a.id, split_part(lower(${NAMES}), ' ', 1) || n || '@northwind.example', 'none', now() - n * interval '1 minute'
     from accounts a, generate_series(1, $1) n where a.slug = 'northwind'`,
    size.members,
  )
  await query(
    `insert into user_roles (user_id, role_id)
     select distinct on (u.account_id) u.id, r.id from users u join roles r on r.account_id = u.account_id and r.name = 'administrator'
     where r.id = ${hex('rol_', 'r.account_id')}`,
  )
  await addApplications(query, size)
  await query(
    `with people as (select id, account_id, row_number() over (order by id) as n from users u
       where u.password_digest = 'none'), wanted as (
       select n, 1 + floor(random() * (select count(*) from people))::bigint as person,
         1 + floor(power(random(), 3) * $2)::bigint as application from generate_series(1, $1) n),
     asking as (select id, row_number() over (order by created_at desc, id) as n from applications where deleted_at is null limit $2)
     insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at, issued_at, last_used_on,
       requested_from, first_of_user)
     select ${hex('grt_', "'grant' || w.n", 20)}, gen_random_uuid(), p.account_id, p.id, a.id,
       case when w.n % 2 = 0 then 'access_key' else 'token_set' end, '{orders:read}', gen_random_uuid(), 1,
       now() - w.n * interval '1 second' * case when w.n < 86400 then ${SHARE_OF_TODAY} else 1 end, now(), case when w.n % 3 = 0 then now()::date end,
       inet '198.18.0.0' + (w.n::bigint * 7919) % 131072, row_number() over (partition by w.person, w.application order by w.n desc) = 1
     from wanted w join people p on p.n = w.person join asking a on a.n = w.application`,
    size.grants,
    size.applications,
  )
  await query(
    `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at, issued_at)
     select ${hex('grt_', "'fast' || n", 20)}, gen_random_uuid(), u.account_id, u.id, $2, 'token_set', '{orders:read}', gen_random_uuid(), 1,
       now() - n * interval '1 minute', now()
     from generate_series(1, $1) n, (select * from users where id = $3) u`,
    Math.min(size.grants, 60),
    fast.id,
    northwind.ann.id,
  )
  await addEvents(query, northwind, size.events, fast.id)
  await addGrantEvents(query)
  await addQueues(query, northwind, size.queue, settled.id)
  await query('analyze')
}

type Query = (text: string, ...values: unknown[]) => Promise<unknown>

async function addApplications(query: Query, size: CrowdSize): Promise<void> {
  const insert = (owners: string) =>
    `insert into applications (id, account_id, name, allowed_scopes, default_scopes, required_scopes, device_flow, created_at, change_number)
     select ${hex('app_', "o.id || 'application' || n")}, o.id, ${NAMES}, '{orders:read}', '{orders:read}', '{}', true,
       now() - n * interval '1 minute', nextval('application_changes')
     from generate_series(1, $1) n join (
       select id, row_number() over (order by id) as place from accounts where ${owners}) o
       on o.place = 1 + n % (select count(*) from accounts where ${owners})`
  await query(insert("slug like 'crowd-%'"), size.applications)
  await query(insert("slug = 'northwind'"), size.ownApplications)
}

/** Of Northwind: sign-ins, each of its own request. Of one application: its history. */
async function addEvents(query: Query, { ann }: Northwind, count: number, applicationId: string): Promise<void> {
  const insert = (select: string) =>
    `insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, request_id)
     select greatest(date_trunc('month', now()), now() - n * interval '1 second'), ${select} from users u, generate_series(1, $1) n where u.id = $2`
  await query(
    insert("'session.started', 'user', u.id, 'web', u.account_id, u.id, null, left(md5('request' || n), 16)"),
    count,
    ann.id,
  )
  await query(
    `insert into audit_events (at, kind, actor_kind, actor_id, via, application_id)
     select greatest(date_trunc('month', now()), now() - n * interval '1 hour'), 'application.judged', 'service', 'rule', 'job', $2
     from generate_series(1, $1) n`,
    Math.min(count, 150),
    applicationId,
  )
}

/** Of the application with most grants: what entering and deciding a code records. Older months have no partition. */
async function addGrantEvents(query: Query): Promise<void> {
  await query(
    `insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, device_code_id)
     select g.created_at, kind, 'user', g.user_id, 'web', g.account_id, g.user_id, g.application_id, g.device_code_id
     from grants g, unnest('{code.claimed,grant.created}'::text[]) kind
     where g.application_id = (select application_id from grants group by 1 order by count(*) desc limit 1)
       and g.created_at >= date_trunc('month', now())`,
  )
}

/** Scopes and roles: an account has few, and pages list them all. */
const MAX_NAMED = 30

/** Everything that waits for operators, and decisions of the past. */
async function addQueues(query: Query, { olga }: Northwind, count: number, settledId: string): Promise<void> {
  const some = `(select id, name, allowed_scopes, row_number() over (order by id) as n from applications
    where deleted_at is null and name ~ '^[A-Z][a-z]+ [0-9]+$' order by id limit 3 * $1) a`
  await query(
    `insert into reviews (id, application_id, opened_at, reason, verdict, harm, evidence, thresholds, judged_at, last_escalated_at, closed_at)
     select ${hex('rev_', 'a.id || state')}, a.id, r.opened_at, r.reason, r.verdict, a.n, r.evidence, r.thresholds, r.judged_at, r.last_escalated_at,
       case state when 'closed' then now() end
     from ${some} cross join (select * from reviews where closed_at is null order by harm desc limit 1) r
       cross join unnest('{open,closed}'::text[]) state where a.n <= $1`,
    count,
  )
  await query(
    `insert into review_decisions (id, review_id, decided_at, decided_by, decision, reason, words, needs_second, thresholds, operators, took_effect_at, seen)
     select ${hex('dec_', "'decision' || n")}, r.id, now() - n * interval '1 day', $2, 'keep', 'other', 'As before.', false, '{}', array[$2::text],
       now() - n * interval '1 day', 'before'
     from (select id from reviews where application_id = $3 limit 1) r, generate_series(1, $1) n`,
    count,
    olga.id,
    settledId,
  )
  await query(
    `insert into application_proposals (application_id, version, name, proposed_at)
     select a.id, nextval('application_proposal_versions'), a.name || ' Next', now() from ${some} where a.n <= $1`,
    count,
  )
  await query(
    `insert into application_vettings (application_id, requested_at, vetted_at, vetted_name, vetted_scopes)
     select a.id, case when a.n % 2 = 0 then now() end, case when a.n % 2 = 1 then now() end,
       case when a.n % 2 = 1 then a.name end, case when a.n % 2 = 1 then a.allowed_scopes end
     from ${some} where a.n <= 2 * $1`,
    count,
  )
  await query(
    `insert into operator_changes (id, account_id, change, email, role_ids, language, proposed_by, proposed_at, operators, expires_at)
     select ${hex('opc_', "'change' || n")}, u.account_id, 'create', 'new' || n || '@operators.example', '{}', 'en', u.id, now(), array[u.id], now() + interval '1 day'
     from users u, generate_series(1, $1) n where u.id = $2`,
    count,
    olga.id,
  )
  await query(
    `update applications set suspended_at = now(), change_number = nextval('application_changes')
     where id in (select a.id from ${some} where a.n <= $1)`,
    count,
  )
  await query(
    `insert into scopes (name, title, created_at) select 'crowd:' || n, 'Do thing ' || n, now() from generate_series(1, $1) n`,
    Math.min(count, MAX_NAMED),
  )
  await query(
    `insert into roles (id, account_id, name, created_at)
     select ${hex('rol_', "'role' || n")}, a.id, 'Role ' || n, now() from accounts a, generate_series(1, $1) n where a.slug = 'northwind'`,
    Math.min(count, MAX_NAMED),
  )
  await query(
    `insert into webhook_deliveries (endpoint_id, event_id, kind, data, created_at, due_at, attempts, tried_at, last_error)
     select w.id, gen_random_uuid(), 'grant.created', '{}', now() - n * interval '1 minute', now() + interval '1 hour', 4, now(), 'refused'
     from webhook_endpoints w, generate_series(1, $1) n where w.disabled_at is null`,
    count,
  )
}
