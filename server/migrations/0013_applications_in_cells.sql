-- What happens to an application in the home cell reaches grants, dialogs and tests in every cell.
-- docs/decisions/0060-cells-on-plain-postgresql.md

-- All grants of an application are revoked, or those restored that a decision revoked. Written in the home cell and
-- replicated; every cell does it to its own grants. Empty in an installation that is not divided.
create table application_revocations (
  -- Microseconds since 1970, and higher than all before: rises also after a restore, so that no cell takes a new one for
  -- one that it has applied.
  id             bigint constraint application_revocations_pkey primary key,
  application_id text not null constraint application_revocations_application_id_fkey references applications,
  -- Null: the grants that `decision` revoked are restored.
  reason         text,
  decision       text,
  actor_kind     text not null,
  actor_id       text not null,
  actor_via      text not null,
  constraint application_revocations_restores_decision check (reason is not null or decision is not null)
);

-- The last one that was applied here.
alter table this_cell add column revocations_applied bigint not null default 0;

-- The cell of the account whose user answers it. Null: this one.
alter table dialogs add column handed_to smallint;

-- Null in copies of the table in other cells than the home cell: the user is not there.
alter table application_test_modes alter column user_id drop not null;
