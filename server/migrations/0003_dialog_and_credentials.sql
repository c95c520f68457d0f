-- The dialog, and the life of a credential after it was handed out.

alter table applications
  -- Where the dialog may return to. Compared as they stand here, character by character.
  add column redirect_uris   text[] not null default '{}' check (cardinality(redirect_uris) <= 10),
  -- A public application cannot keep a secret, so it has none; the code verifier proves that an exchange is its own.
  add column public          boolean not null default false,
  -- The dialog is opened only with a code challenge. Otherwise it may have one, and then it counts as well.
  add column pkce_required   boolean not null default false,
  -- May ask about credentials of every application (RFC 7662), not only about its own.
  add column resource_server boolean not null default false,
  add check (pkce_required or not public);

-- One authorization request in a browser. `expired` is not stored: an undecided dialog past its time is expired.
create table dialogs (
  id             uuid primary key,
  created_at     timestamptz not null,
  expires_at     timestamptz not null,
  application_id text not null references applications,
  redirect_uri   text not null,
  scopes         text[] not null,
  -- Null: none was sent, so none is sent back.
  state          text,
  code_challenge text check (code_challenge ~ '^[A-Za-z0-9_-]{43}$'),
  decided_at     timestamptz,
  user_id        text references users on delete cascade,
  -- Null once decided: the user said no.
  grant_id       text unique,
  -- The exchange that is being answered, until it has been sent or its time is over.
  lease_id       uuid,
  leased_until   timestamptz,
  used_at        timestamptz,
  check ((decided_at is null) = (user_id is null)),
  check (grant_id is null or decided_at is not null),
  check ((lease_id is null) = (leased_until is null)),
  check ((lease_id is null and used_at is null) or grant_id is not null)
);

create index on dialogs (expires_at);
-- For the sweep: codes that nobody came for.
create index on dialogs (decided_at) where grant_id is not null and used_at is null;

alter table grants
  alter column device_code_id drop not null,
  -- The same second wall as device_code_id: one dialog leads to one grant.
  add column dialog_id      uuid unique,
  -- When the access key was last replaced; its predecessor goes on for a while.
  add column key_rotated_at timestamptz,
  add check ((device_code_id is null) <> (dialog_id is null)),
  -- A refresh rewrites the row: with room on its page, no index has to follow.
  set (fillfactor = 80);

-- What every process has to hear: whose credentials may do less (or more) from now on. Rows of one transaction become visible
-- together, so a reader who remembers the oldest transaction that was still running has missed nothing (store/grants/changes.ts).
create table grant_changes (
  xid            xid8 not null default pg_current_xact_id(),
  at             timestamptz not null,
  grant_id       text,
  user_id        text,
  account_id     text,
  application_id text,
  check (num_nonnulls(grant_id, user_id, account_id, application_id) = 1)
);

create index on grant_changes (xid);
create index on grant_changes (at);
