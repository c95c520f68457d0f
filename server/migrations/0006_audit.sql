-- The audit log is append-only and sealed: whatever is changed, removed or put elsewhere in it is found out.
-- docs/decisions/0021-the-audit-log-is-sealed-after-the-fact.md

-- What happened, for people who ask later: never updated, never deleted by the service. Partitioned by the month (UTC) of `at`, so that
-- an old month can be archived and taken out whole. Its ids have no foreign keys: a log outlives what it speaks of.
create sequence audit_event_ids;

create table audit_events (
  -- PostgreSQL 15 has no identity columns on partitioned tables.
  id             bigint not null default nextval('audit_event_ids'),
  -- When the transaction that wrote it began.
  at             timestamptz not null,
  -- An open list, without a check: a new kind needs no migration.
  kind           text not null,
  -- Who did it, and through which interface: core/audit/actor.ts.
  actor_kind     text not null
                 constraint audit_events_actor_kind_check check (actor_kind in ('user', 'operator', 'application', 'service', 'anonymous')),
  actor_id       text not null,
  via            text not null constraint audit_events_via_check check (via in ('web', 'api', 'cli', 'mail', 'job')),
  -- What it is about.
  account_id     text,
  user_id        text,
  application_id text,
  grant_id       text,
  device_code_id uuid,
  detail         jsonb not null default '{}',
  -- Whoever seals takes only what nobody can add to any more: transactions older than every one that still runs.
  xid            xid8 not null default pg_current_xact_id(),
  constraint audit_events_pkey primary key (id, at)
) partition by range (at);

create index audit_events_application_id_at_idx on audit_events (application_id, at);
create index audit_events_actor_id_at_idx on audit_events (actor_id, at);
-- What people said against applications lately.
create index audit_events_reports_idx on audit_events (at)
  where kind in ('code.reported', 'application.reported', 'credential.reported', 'code.crowd');
-- In the order in which events are sealed.
create index audit_events_xid_id_idx on audit_events (xid, id);
-- In the order in which they are read, an account's own and everybody's. Very many may be of one moment.
create index audit_events_account_id_at_id_idx on audit_events (account_id, at, id);
create index audit_events_at_id_idx on audit_events (at, id);

-- One link of the chain per event. Each hash covers the one before it, so there is one order in which all of them fit; and it
-- is keyed, so that who can write here but has no server key cannot make one. In the partition of the event's month.
create table audit_seals (
  position bigint not null constraint audit_seals_position_check check (position > 0),
  -- No foreign key: the removal of an event is found out, not prevented.
  event_id bigint not null,
  -- The event's.
  event_at timestamptz not null,
  -- The event's: where the next turn goes on, even if somebody took the event away.
  xid      xid8 not null,
  key_id   smallint not null,
  hash     bytea not null constraint audit_seals_hash_check check (length(hash) = 32),
  constraint audit_seals_pkey primary key (position, event_at),
  constraint audit_seals_event_id_event_at_key unique (event_id, event_at)
) partition by range (event_at);

-- Months that were written to a file and taken out. Each row is signed, and says where the rest of the chain hangs on:
-- docs/decisions/0029-the-audit-log-is-archived-by-month.md
create table audit_archives (
  month       text constraint audit_archives_pkey primary key
              constraint audit_archives_month_check check (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  events      bigint not null constraint audit_archives_events_check check (events > 0),
  -- The stretches of the chain that went: from, to, the hash before and the hash at the end of each.
  runs        jsonb not null,
  -- Of the file without its last line, which is this row.
  sha256      bytea not null constraint audit_archives_sha256_check check (length(sha256) = 32),
  key_id      smallint not null,
  mac         bytea not null constraint audit_archives_mac_check check (length(mac) = 32),
  archived_at timestamptz not null default now()
);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise insufficient_privilege using
    message = format('permission denied: %s is append-only, %s is refused', tg_table_name, lower(tg_op)),
    hint = 'docs/operations.md, "The audit log", says how old entries are archived.';
end $$;

-- Per statement: also one that would have hit no row is refused.
create trigger append_only before update or delete or truncate on audit_events
  for each statement execute function refuse_audit_change();
create trigger append_only before update or delete or truncate on audit_seals
  for each statement execute function refuse_audit_change();
create trigger append_only before update or delete or truncate on audit_archives
  for each statement execute function refuse_audit_change();

-- The monthly partitions of the audit log are made with the rights of its owner: the service may run under a role that owns
-- nothing (deploy/postgresql/service-role.sql), so that these triggers are not its to drop. The function keeps this search path, the
-- schema of the tables alone and temporary tables last: nobody can put a table of their own in the place of ours.
select set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- Does nothing where they are there already. Statement triggers of a partitioned table do not fire for who names a partition,
-- so each partition has its own; and nobody but the owner has any right on a partition, whatever the default privileges say:
-- the service goes through audit_events and audit_seals, where it may not choose an event's number and transaction.
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

-- The service makes them from now on, ahead of time.
select make_audit_partitions(date_trunc('month', now() + ahead * interval '1 month', 'UTC')) from generate_series(0, 2) ahead;
