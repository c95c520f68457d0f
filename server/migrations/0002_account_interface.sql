-- The account's web interface: who signs in and how, what is decided there, what is told by mail.

alter table accounts
  add column colour                text check (colour ~ '^#[0-9a-f]{6}$'),
  -- A PNG that this service wrote itself.
  add column logo                  bytea check (length(logo) <= 262144),
  -- Changes with the picture, so that a browser may keep it.
  add column logo_version          text check (logo_version ~ '^[0-9a-f]{12}$'),
  -- The account's own rules about applications.
  add column device_flow           boolean not null default true,
  add column unverified_publishers boolean not null default true,
  -- Null: every application. Otherwise only these.
  add column only_applications     text[],
  add check ((logo is null) = (logo_version is null));

alter table users
  -- What mails to this user are written in: the language they chose or, until then, the one they read our pages in.
  add column language        text check (language ~ '^[a-z]{2}$'),
  -- Only a choice holds for pages as well, in every browser.
  add column language_chosen boolean not null default false;

-- Who an application comes from: the service itself, somebody whose domain was verified, or nobody knows.
create type publisher_status as enum ('own', 'verified', 'unverified');

alter table applications
  add column publisher          text check (length(publisher) between 1 and 253),
  add column publisher_status publisher_status not null default 'unverified',
  add check (publisher_status <> 'verified' or publisher is not null);

alter table scopes
  -- Marked on the consent page, and asked for only with a fresh sign-in.
  add column dangerous   boolean not null default false,
  -- False: never granted by a typed code, because the person who types it may have been talked into it.
  add column device_flow boolean not null default true;

alter table grants
  -- A day, not a moment: it is written once a day at most.
  add column last_used_on   date,
  -- Where the application asked from, as the server saw it.
  add column requested_from inet;

create index on grants (account_id, created_at desc, id desc) where revoked_at is null;

-- What the server saw, and what the application said of itself: shown to the person who decides.
alter table device_codes
  add column requested_from inet,
  add column requested_with text check (length(requested_with) <= 200);

-- Whatever became of a code: an entered code that exists is not taken for a guess. Every partition gets it when it is attached.
create index on device_codes (user_code);

-- A session's cookie is computed from its id under a server key, so this table does not hold it.
create table sessions (
  id               uuid primary key,
  account_id       text not null references accounts,
  user_id          text not null references users on delete cascade,
  created_at       timestamptz not null,
  -- The last time the user proved who they are.
  authenticated_at timestamptz not null,
  expires_at       timestamptz not null,
  address          inet,
  agent            text check (length(agent) <= 200)
);

create index on sessions (user_id);
create index on sessions (expires_at);

create table passkeys (
  id           text primary key check (length(id) <= 1400),
  user_id      text not null references users on delete cascade,
  public_key   bytea not null,
  counter      bigint not null,
  transports   text[] not null,
  name         text not null check (length(name) between 1 and 100),
  created_at   timestamptz not null,
  last_used_on date
);

create index on passkeys (user_id);

-- A time-based second factor. Its secret is computed from the id under a server key.
create table authenticators (
  user_id    text primary key references users on delete cascade,
  id         uuid not null,
  key_id     smallint not null,
  -- The newest 30-second step that was accepted: a code works once.
  last_step  bigint not null,
  created_at timestamptz not null
);

-- A passkey challenge that was answered. Kept until the challenge would have run out by itself.
create table spent_challenges (
  digest     bytea primary key check (length(digest) = 32),
  expires_at timestamptz not null
);

-- Somebody tried to sign in and failed. `browser` tells one that signed in before from a stranger's.
create table sign_in_failures (
  id         bigint generated always as identity primary key,
  at         timestamptz not null,
  account_id text not null references accounts,
  -- Keyed digest of what was typed, known or not: no list of addresses, and no telling which ones exist.
  email      bytea not null,
  browser    uuid,
  network    cidr
);

create index on sign_in_failures (email, at);
create index on sign_in_failures (network, at);
create index on sign_in_failures (at);

-- Somebody entered a well-formed code: it was theirs to decide, there was no such code, or there was one that is not (or no
-- longer) theirs, which is not guessing.
create table code_entries (
  at                timestamptz not null,
  account_id        text not null references accounts,
  user_id           text not null references users on delete cascade,
  network           cidr,
  outcome           text not null check (outcome in ('claimed', 'missed', 'known')),
  application_id    text,
  requested_network cidr
);

create index on code_entries (at);
create index on code_entries (user_id, at);
create index on code_entries (account_id, at);
create index on code_entries (network, at) where outcome = 'missed';
create index on code_entries (application_id, requested_network, at) where outcome = 'claimed';

-- Addresses that are sent by mail or printed by the command line. The text in the address is computed from the id under a
-- server key, so neither this table nor the outbox holds it.
create type link_kind as enum ('setup', 'invitation', 'recovery', 'remove_grant');

create table links (
  id         uuid primary key,
  kind       link_kind not null,
  account_id text not null references accounts,
  user_id    text not null references users on delete cascade,
  grant_id   text references grants,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at    timestamptz,
  check ((kind = 'remove_grant') = (grant_id is not null))
);

create index on links (user_id);
create index on links (expires_at);

-- The outbox: a mail is written down in the transaction that gives rise to it, and sent afterwards.
create table mails (
  id         bigint generated always as identity primary key,
  kind       text not null,
  account_id text not null references accounts,
  user_id    text not null references users on delete cascade,
  link_id    uuid references links,
  language   text not null,
  detail     jsonb not null default '{}',
  created_at timestamptz not null,
  due_at     timestamptz not null,
  attempts   integer not null default 0,
  sent_at    timestamptz,
  given_up_at timestamptz
);

create index on mails (due_at) where sent_at is null and given_up_at is null;
create index on mails (created_at);
create index on mails (user_id, created_at);
create index on mails (account_id, created_at) where kind = 'invitation';
create index on mails (link_id);
