-- The hourly partitions of device_codes are made and dropped by these two functions, with the rights of the table's owner: the
-- service may run under a role that owns nothing (deploy/postgresql/service-role.sql).
-- docs/decisions/0031-dropping-a-partition-never-waits.md

-- Both functions keep this search path: the schema of the tables alone, and temporary tables last. So nobody can put a table of
-- their own in the place of ours. pg_catalog, not being named, is searched before both.
select set_config('search_path', format('%I, pg_temp', current_schema()), true);

create function make_device_code_partition(starts timestamptz) returns void
  language plpgsql security definer set search_path from current as $$
declare
  utc timestamp := starts at time zone 'UTC';
  name text := 'device_codes_' || to_char(utc, 'YYYYMMDDHH24');
  ends timestamptz := starts + interval '1 hour';
begin
  if utc <> date_trunc('hour', utc) then
    raise invalid_parameter_value using message = 'a partition of device_codes starts on the hour';
  end if;
  -- Made beside the parent and then attached: `attach partition` does not lock out the polls that run meanwhile, as
  -- `create table … partition of` would. The check lets PostgreSQL attach without a scan.
  execute format('create table %I (like device_codes including defaults including constraints,
    check (expires_at >= %L and expires_at < %L), primary key (id, expires_at))', name, starts, ends);
  execute format('create unique index on %I (user_code) where status = ''pending''', name);
  execute format('alter table device_codes attach partition %I for values from (%L) to (%L)', name, starts, ends);
end $$;

-- False: the table was in use at every attempt. Detaching needs the parent for itself. Whoever waits for that makes everybody wait
-- who comes later, polls first of all; so nobody waits here. An attempt takes the locks at once or leaves, and comes again after a
-- pause of random length, for a second in all. lock_timeout holds for what `detach` and `drop` lock besides, as a TOAST table that
-- autovacuum is at.
create function drop_device_code_partition(name text) returns boolean
  language plpgsql security definer set search_path from current set lock_timeout = '10ms' as $$
declare
  give_up timestamptz := clock_timestamp() + interval '1 second';
begin
  if not exists (select from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'device_codes'::regclass and c.relname = name) then
    raise invalid_parameter_value using message = format('%s is no partition of device_codes', name);
  end if;
  loop
    begin
      -- First the partition, which polls do not need: whoever uses it keeps the parent from being locked at all.
      execute format('lock table only %I in access exclusive mode nowait', name);
      lock table only device_codes in access exclusive mode nowait;
      execute format('alter table device_codes detach partition %I', name);
      execute format('drop table %I', name);
      return true;
    exception when lock_not_available then
      -- With the attempt its locks are gone.
      if clock_timestamp() > give_up then
        return false;
      end if;
    end;
    perform pg_sleep(0.001 + random() * 0.009);
  end loop;
end $$;

revoke execute on function make_device_code_partition(timestamptz), drop_device_code_partition(text) from public;
