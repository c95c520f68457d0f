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
