-- A role for the service that owns nothing: it reads and writes what the service needs, and can neither change the audit log nor
-- take away what protects it. docs/operations.md, "A role that owns nothing".
--
-- Run it once, in the database, as the role that owns it, after "latchkey migrate"; it may be run again at any time. Then give the
-- role a password, put it into DATABASE_URL of "latchkey serve" and of every command but "latchkey migrate", which stays with the
-- owner. What later migrations create is granted by the default privileges below.

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

-- The owner's rights, for three things: making and dropping the hourly partitions of device_codes, and making the monthly ones of the
-- audit log.
grant execute on function make_device_code_partition(timestamptz), drop_device_code_partition(text), make_audit_partitions(timestamptz)
  to latchkey_service;

-- Which migrations there are is the owner's to say.
revoke insert, update, delete on migrations from latchkey_service;

-- The audit log is only ever added to, and never by naming a partition. Number and transaction of an event are PostgreSQL's to give.
-- What was archived is the owner's to say.
revoke insert, update, delete, truncate, references, trigger on audit_events, audit_seals, audit_archives from latchkey_service;
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
