-- The audit log is append-only and sealed: whatever is changed, removed or put elsewhere in it is found out.
-- docs/decisions/0021-the-audit-log-is-sealed-after-the-fact.md

alter table audit_events
  -- Whoever seals takes only what nobody can add to any more: transactions older than every one that still runs. What is
  -- there already gets the number of this migration.
  add column xid xid8 not null default pg_current_xact_id();

-- In the order in which events are sealed.
create index on audit_events (xid, id);
-- In the order in which they are read, an account's own and everybody's. Very many may be of one moment.
create index on audit_events (account_id, at, id);
create index on audit_events (at, id);
drop index audit_events_account_id_at_idx;

-- One link of the chain per event. Each hash covers the one before it, so there is one order in which all of them fit; and it
-- is keyed, so that who can write here but has no server key cannot make one.
create table audit_seals (
  position bigint primary key check (position > 0),
  event_id bigint not null unique,
  -- The event's: where the next turn goes on, even if somebody took the event away.
  xid      xid8 not null,
  key_id   smallint not null,
  hash     bytea not null check (length(hash) = 32)
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

-- The service may run under a role that owns nothing, so that these triggers are not its to drop
-- (deploy/postgresql/service-role.sql). Making and dropping the hourly partitions of device_codes needs their owner's rights;
-- these two functions lend them for that and nothing else. Their search path is fixed, with temporary tables last: nobody can
-- put another table in the place of ours.
do $do$
begin
  execute format($function$
    create function make_device_code_partition(starts timestamptz) returns void
      language plpgsql security definer set search_path = pg_catalog, %1$I, pg_temp as $body$
    declare
      utc timestamp := starts at time zone 'UTC';
      name text := 'device_codes_' || to_char(utc, 'YYYYMMDDHH24');
    begin
      if utc <> date_trunc('hour', utc) then
        raise invalid_parameter_value using message = 'a partition of device_codes starts on the hour';
      end if;
      -- Made beside the parent and then attached: `attach partition` does not lock out the polls that run meanwhile, as
      -- `create table … partition of` would. The check lets PostgreSQL attach without a scan.
      execute format('create table %1$I.%%I (like %1$I.device_codes including defaults including constraints,
        check (expires_at >= %%L and expires_at < %%L), primary key (id, expires_at))', name, starts, starts + interval '1 hour');
      execute format('create unique index on %1$I.%%I (user_code) where status = ''pending''', name);
      execute format('alter table %1$I.device_codes attach partition %1$I.%%I for values from (%%L) to (%%L)',
        name, starts, starts + interval '1 hour');
    end $body$;

    create function drop_device_code_partition(name text) returns void
      language plpgsql security definer set search_path = pg_catalog, %1$I, pg_temp as $body$
    begin
      if not exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid
          where i.inhparent = '%1$I.device_codes'::regclass and c.relname = name) then
        raise invalid_parameter_value using message = format('%%s is no partition of device_codes', name);
      end if;
      execute format('alter table %1$I.device_codes detach partition %1$I.%%I', name);
      execute format('drop table %1$I.%%I', name);
    end $body$;
  $function$, current_schema());
end $do$;

revoke execute on function make_device_code_partition(timestamptz), drop_device_code_partition(text) from public;
