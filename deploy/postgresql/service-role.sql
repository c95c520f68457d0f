-- Creates a role for the service that does not own the tables: it can read and write the data of the service, but can neither change
-- the audit log nor drop its triggers. docs/operations/audit-log.md, "A role that owns nothing".
--
-- Run it in the database as the owner, after "latchkey migrate", with psql -v ON_ERROR_STOP=1; it may be repeated. An owner without the
-- right to create roles needs the role latchkey_service to exist (docs/install.md, "One machine"). Use that role in DATABASE_URL of
-- "latchkey serve" and of all other commands except "latchkey migrate" and "latchkey audit detach", which need the owner. The default
-- privileges below grant access to objects of later migrations.

do $$
begin
  if not exists (select from pg_roles where rolname = 'latchkey_service') then
    create role latchkey_service login noinherit;
  end if;
end $$;

revoke create on schema public from latchkey_service;
grant usage on schema public to latchkey_service;

grant select, insert, update, delete on all tables in schema public to latchkey_service;
grant usage on all sequences in schema public to latchkey_service;
alter default privileges in schema public grant select, insert, update, delete on tables to latchkey_service;
alter default privileges in schema public grant usage on sequences to latchkey_service;

-- Functions with the privileges of the owner: create and drop the hourly partitions of device_codes, and create the monthly partitions of
-- the audit log.
grant execute on function make_device_code_partition(timestamptz), drop_device_code_partition(text), make_audit_partitions(timestamptz)
  to latchkey_service;

-- Only the owner records migrations.
revoke insert, update, delete on migrations from latchkey_service;

-- The audit log is insert-only, and only through the parent table. PostgreSQL assigns the number and the transaction of an event.
-- Only the owner detaches months.
revoke insert, update, delete, truncate, references, trigger on audit_events, audit_seals, audit_detachments from latchkey_service;
grant insert (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id, grant_id, device_code_id, detail) on audit_events to latchkey_service;
grant insert on audit_seals to latchkey_service;
do $$
declare
  name regclass;
begin
  for name in select inhrelid::regclass from pg_inherits where inhparent in ('audit_events'::regclass, 'audit_seals'::regclass) loop
    execute format('revoke all on %s from latchkey_service', name);
  end loop;
end $$;
