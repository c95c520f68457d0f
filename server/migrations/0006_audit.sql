-- Audit log: append-only and sealed, so that changed, removed or moved events are detected.
-- docs/decisions/0021-the-audit-log-is-sealed-after-the-fact.md

-- Events, never updated or deleted by the service. Partitioned by the month (UTC) of `at`, so that an old month can be
-- detached as a whole. No foreign keys: events outlive the rows that they name.
create sequence audit_event_ids;

create table audit_events (
  -- PostgreSQL 15 has no identity columns on partitioned tables.
  id             bigint not null default nextval('audit_event_ids'),
  -- Start of the transaction that inserted the event.
  at             timestamptz not null,
  -- No check constraint: a new kind needs no migration.
  kind           text not null,
  -- Actor and interface: core/audit/actor.ts.
  actor_kind     text not null
                 constraint audit_events_actor_kind_check check (actor_kind in ('user', 'operator', 'application', 'service', 'management_key', 'anonymous')),
  actor_id       text not null,
  via            text not null constraint audit_events_via_check check (via in ('web', 'api', 'cli', 'mail', 'job')),
  -- Subjects of the event.
  account_id     text,
  user_id        text,
  application_id text,
  grant_id       text,
  device_code_id uuid,
  detail         jsonb not null default '{}',
  -- Id of the request whose transaction inserted the event (store/postgres/postgres.ts); null: a job or the command line.
  request_id     text default nullif(current_setting('latchkey.request_id', true), '')
                 constraint audit_events_request_id_check check (length(request_id) <= 128),
  -- Only events of transactions older than every running one are sealed: nothing can be inserted before them any more.
  xid            xid8 not null default pg_current_xact_id(),
  constraint audit_events_pkey primary key (id, at)
) partition by range (at);

create index audit_events_application_id_at_idx on audit_events (application_id, at);
-- History of an application on the operators' page, without what its users do (store/reviews/reviewed-applications.ts).
create index audit_events_history_idx on audit_events (application_id, at, id)
  where kind like 'application.%' or kind like 'review.%' or kind in ('code.reported', 'credential.reported', 'code.crowd');
create index audit_events_actor_id_at_idx on audit_events (actor_id, at);
-- Recent reports against applications.
create index audit_events_reports_idx on audit_events (at)
  where kind in ('code.reported', 'application.reported', 'credential.reported', 'code.crowd');
-- In the order of sealing.
create index audit_events_xid_id_idx on audit_events (xid, id);
-- In the order of reading: per account, and all. Many events may have the same time.
create index audit_events_account_id_at_id_idx on audit_events (account_id, at, id);
create index audit_events_at_id_idx on audit_events (at, id);
create index audit_events_request_id_idx on audit_events (request_id) where request_id is not null;

-- Hash chain: one link per event, in the partition of the event's month. Each hash covers the previous one, which fixes
-- the order, and is keyed, so that write access to this table without a server key is not enough to forge one.
create table audit_seals (
  position bigint not null constraint audit_seals_position_check check (position > 0),
  -- No foreign key: removing an event is detected, not prevented.
  event_id bigint not null,
  -- Copied from the event.
  event_at timestamptz not null,
  -- Copied from the event: sealing continues after it, even if the event was removed.
  xid      xid8 not null,
  key_id   smallint not null,
  hash     bytea not null constraint audit_seals_hash_check check (length(hash) = 32),
  constraint audit_seals_pkey primary key (position, event_at),
  constraint audit_seals_event_id_event_at_key unique (event_id, event_at)
) partition by range (event_at);

-- Months that were detached from the log. Each row is signed and says where the remaining chain continues:
-- docs/history.md#0029
create table audit_detachments (
  month       text constraint audit_detachments_pkey primary key
              constraint audit_detachments_month_check check (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  -- Runs of the chain that left with the month: first and last position, hash before the first and of the last.
  runs        jsonb not null,
  key_id      smallint not null,
  mac         bytea not null constraint audit_detachments_mac_check check (length(mac) = 32),
  detached_at timestamptz not null default now()
);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise insufficient_privilege using
    message = format('permission denied: %s is append-only, %s is refused', tg_table_name, lower(tg_op)),
    hint = 'docs/operations/audit-log.md, says how old months are archived.';
end $$;

-- Per statement: rejects a statement even if it matches no row.
create trigger append_only before update or delete or truncate on audit_events
  for each statement execute function refuse_audit_change();
create trigger append_only before update or delete or truncate on audit_seals
  for each statement execute function refuse_audit_change();
create trigger append_only before update or delete or truncate on audit_detachments
  for each statement execute function refuse_audit_change();

-- This function creates the monthly partitions with the rights of the owner: the service may run under a role that owns
-- nothing (deploy/postgresql/service-role.sql) and cannot drop the triggers. The function fixes the search path to the
-- schema of the tables, with temporary tables last, so that nobody can shadow a table.
select set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Skips existing partitions. Statement triggers of a partitioned table do not fire for statements that name a partition,
-- so each partition has its own; and only the owner has rights on a partition, whatever the default privileges say: the
-- service uses audit_events and audit_seals, where it cannot choose an event's id and transaction.
create function make_audit_partitions(starts timestamptz) returns void
  language plpgsql security definer set search_path from current as $$
declare
  utc timestamp := starts at time zone 'UTC';
  ends timestamptz := (utc + interval '1 month') at time zone 'UTC';
  parent text;
  name text;
  grantee text;
begin
  if utc <> date_trunc('month', utc) then
    raise invalid_parameter_value using message = 'partitions of the audit log start with the month';
  end if;
  -- One process at a time (store/postgres/advisory-locks.ts).
  perform pg_advisory_xact_lock(hashtextextended('audit_partitions', 0));
  foreach parent in array '{audit_events,audit_seals}'::text[] loop
    name := parent || '_' || to_char(utc, 'YYYYMM');
    continue when to_regclass(format('%I', name)) is not null;
    execute format('create table %I (like %I including defaults including constraints)', name, parent);
    execute format('create trigger append_only before update or delete or truncate on %I
      for each statement execute function refuse_audit_change()', name);
    for grantee in select distinct case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end
      from pg_class c, aclexplode(c.relacl) a
      where c.oid = format('%I', name)::regclass and a.grantee <> c.relowner
    loop
      execute format('revoke all on %I from %s', name, grantee);
    end loop;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, starts, ends);
  end loop;
end $$;

revoke execute on function make_audit_partitions(timestamptz) from public;

-- From now on the service creates them, ahead of time.
select make_audit_partitions(date_trunc('month', now() + ahead * interval '1 month', 'UTC')) from generate_series(0, 2) ahead;
