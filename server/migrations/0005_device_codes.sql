-- Device codes in hourly partitions, attempts to enter a user code, and early polls.

-- Partitioned by expiry, which the device code carries: a poll finds its partition, and old codes are dropped with theirs.
-- `expired` is not a stored status: a pending code past its time is expired.
-- No foreign keys: each would lock a row of the application or the user for every code, and partitions are dropped whole.
create table device_codes (
  id              uuid not null,
  expires_at      timestamptz not null,
  created_at      timestamptz not null,
  application_id  text not null,
  variant         text not null constraint device_codes_variant_check check (variant in ('token_set', 'access_key')),
  status          text not null
                  constraint device_codes_status_check check (status in ('pending', 'accepted', 'rejected', 'used')),
  entry_closed    boolean not null default false,
  -- Another user entered the claimed code: the user who decides is told. If it was a user of another account, the code is
  -- closed as well (entry_closed).
  also_entered    text constraint device_codes_also_entered_check check (also_entered in ('colleague', 'another_account')),
  -- The user code is not stored: it is computed from the id with this key, and found by its digest (secrets/user-code.ts).
  key_id           smallint not null,
  user_code_digits smallint not null constraint device_codes_user_code_digits_check check (user_code_digits between 9 and 15),
  user_code_digest bytea not null constraint device_codes_user_code_digest_check check (length(user_code_digest) = 16),
  scopes          text[] not null,
  state           text not null,
  -- Client address and self-description of the device, shown on the consent page.
  requested_from  inet,
  requested_with  text constraint device_codes_requested_with_check check (length(requested_with) <= 200),
  claimed_by      text,
  decided_at      timestamptz,
  grant_id        text,
  lease_id        uuid,
  leased_until    timestamptz,
  outcome         text constraint device_codes_outcome_check check (outcome in ('accepted', 'rejected', 'expired')),
  idempotency_key text,
  used_at         timestamptz,
  constraint device_codes_pkey primary key (id, expires_at),
  constraint device_codes_accepted_has_grant check (status <> 'accepted' or grant_id is not null),
  constraint device_codes_decided_by_claimant
    check (status not in ('accepted', 'rejected') or (claimed_by is not null and decided_at is not null)),
  constraint device_codes_lease_complete check ((lease_id is null) = (leased_until is null) and (lease_id is null) = (outcome is null)),
  constraint device_codes_used_has_outcome check ((status = 'used') = (used_at is not null) and (used_at is null or outcome is not null))
) partition by range (expires_at);

-- Includes decided codes: entering one that exists is not a guess. PostgreSQL creates it on every attached partition.
create index device_codes_user_code_digest_idx on device_codes (user_code_digest);

-- These two functions create and drop the hourly partitions with the rights of the table's owner: the service may run
-- under a role that owns nothing (deploy/postgresql/service-role.sql).
-- docs/history.md#0031

-- Both functions fix the search path to the schema of the tables, with temporary tables last, so that nobody can shadow
-- a table. pg_catalog is not named and therefore searched first.
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
  -- `attach partition` does not block running polls, as `create table … partition of` would. The check constraint lets
  -- PostgreSQL attach without a scan.
  execute format('create table %I (like device_codes including defaults including constraints,
    constraint %I check (expires_at >= %L and expires_at < %L), constraint %I primary key (id, expires_at))',
    name, name || '_expires_at_check', starts, ends, name || '_pkey');
  execute format('create unique index %I on %I (user_code_digest) where status = ''pending''', name || '_live_user_code_idx', name);
  execute format('alter table device_codes attach partition %I for values from (%L) to (%L)', name, starts, ends);
end $$;

-- False: the table was in use at every attempt. Detaching needs an exclusive lock on the parent; waiting for it would
-- make every later poll queue. So each attempt takes its locks at once or gives up, and is repeated after a random pause,
-- for one second in all. lock_timeout covers what `detach` and `drop` lock besides, such as a TOAST table in use by
-- autovacuum.
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
      -- The partition first: polls do not need it, and if it is in use, the parent is not locked at all.
      execute format('lock table only %I in access exclusive mode nowait', name);
      lock table only device_codes in access exclusive mode nowait;
      execute format('alter table device_codes detach partition %I', name);
      execute format('drop table %I', name);
      return true;
    exception when lock_not_available then
      -- The locks of a failed attempt are released with its subtransaction.
      if clock_timestamp() > give_up then
        return false;
      end if;
    end;
    perform pg_sleep(0.001 + random() * 0.009);
  end loop;
end $$;

revoke execute on function make_device_code_partition(timestamptz), drop_device_code_partition(text) from public;

-- Number of live codes: one process counts, all read it (store/device/live-codes.ts).
create table live_device_codes (
  only_row   boolean not null default true,
  -- Null until the first count.
  codes      bigint,
  counted_at timestamptz,
  constraint live_device_codes_pkey primary key (only_row),
  constraint live_device_codes_one_row check (only_row),
  constraint live_device_codes_counted check ((codes is null) = (counted_at is null))
);

insert into live_device_codes default values;

-- Attempts to enter a well-formed user code: found, unknown, or not available to this user (any more), which is no
-- guess.
create table code_entries (
  at                timestamptz not null,
  account_id        text not null constraint code_entries_account_id_fkey references accounts,
  user_id           text not null constraint code_entries_user_id_fkey references users on delete cascade,
  network           cidr,
  outcome           text not null constraint code_entries_outcome_check check (outcome in ('claimed', 'missed', 'known')),
  -- No foreign key, as in device_codes: rows are deleted after a day.
  application_id    text,
  requested_network cidr
);

create index code_entries_at_idx on code_entries (at);
create index code_entries_user_id_at_idx on code_entries (user_id, at);
create index code_entries_account_id_at_idx on code_entries (account_id, at);
create index code_entries_misses_of_network_idx on code_entries (network, at) where outcome = 'missed';
create index code_entries_claims_of_application_idx on code_entries (application_id, requested_network, at) where outcome = 'claimed';

-- Number of polls of a code that were answered slow_down. Whether they count as evidence depends on the account that
-- grants the code.
create table early_polls (
  -- No foreign key: codes are dropped with their partition.
  device_code_id uuid constraint early_polls_pkey primary key,
  application_id text not null constraint early_polls_application_id_fkey references applications,
  polls          integer not null constraint early_polls_polls_check check (polls > 0),
  last_at        timestamptz not null
);

create index early_polls_last_at_idx on early_polls (last_at);
