-- The device flow: who exists, what may be asked for, which codes run, what was granted.
-- Ids that people may see are prefixed text. Codes are 128-bit uuids, because the device code carries them; so is a grant's secret,
-- which its credentials carry, and nothing else.

create table accounts (
  id         text primary key check (id ~ '^acc_[0-9a-z]{12}$'),
  slug       text not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' and slug !~ '^xn--'),
  name       text not null check (length(name) between 1 and 100),
  created_at timestamptz not null
);

create table scopes (
  name       text primary key check (name ~ '^[a-z0-9][a-z0-9_.:-]{0,63}$'),
  title      text not null check (length(title) between 1 and 200),
  created_at timestamptz not null
);

create table roles (
  id                text primary key check (id ~ '^rol_[0-9a-z]{12}$'),
  account_id        text not null references accounts,
  name              text not null check (length(name) between 1 and 100),
  -- An administrator holds scopes that are added to the catalogue later, too.
  holds_every_scope boolean not null default false,
  created_at        timestamptz not null,
  unique (account_id, name)
);

create table role_scopes (
  role_id text not null references roles on delete cascade,
  scope   text not null references scopes,
  primary key (role_id, scope)
);

create table users (
  id              text primary key check (id ~ '^usr_[0-9a-z]{12}$'),
  account_id      text not null references accounts,
  email           text not null check (email = lower(email) and email ~ '^[^@[:space:]]+@[^@[:space:]]+$'),
  password_digest text,
  created_at      timestamptz not null,
  disabled_at     timestamptz,
  unique (account_id, email)
);

create table user_roles (
  user_id text not null references users on delete cascade,
  role_id text not null references roles on delete cascade,
  primary key (user_id, role_id)
);

-- Servers keep all applications in process and pull what changed: `changed` rises with every write, under an advisory
-- lock, so that a reader who has seen n has seen everything up to n.
create sequence application_changes;

create table applications (
  id              text primary key check (id ~ '^app_[0-9a-z]{12}$'),
  account_id      text not null references accounts,
  name            text not null check (length(name) between 1 and 100),
  allowed_scopes  text[] not null,
  default_scopes  text[] not null check (default_scopes <@ allowed_scopes),
  required_scopes text[] not null check (required_scopes <@ allowed_scopes),
  device_flow     boolean not null,
  created_at      timestamptz not null,
  suspended_at    timestamptz,
  deleted_at      timestamptz,
  changed         bigint not null unique
);

create table application_secrets (
  id             text primary key check (id ~ '^sec_[0-9a-z]{12}$'),
  application_id text not null references applications,
  key_id         smallint not null,
  digest         bytea not null unique check (length(digest) = 32),
  created_at     timestamptz not null,
  revoked_at     timestamptz
);

create index on application_secrets (application_id) where revoked_at is null;

create type device_code_variant as enum ('token_set', 'access_key');
create type device_code_status as enum ('pending', 'accepted', 'rejected', 'used');
create type final_outcome as enum ('accepted', 'rejected', 'expired');

create table grants (
  id             text constraint grants_pkey primary key constraint grants_id_check check (id ~ '^grt_[0-9a-z]{20}$'),
  -- Finds the grant of a presented credential. Never shown: whatever names a grant uses its id.
  secret         uuid not null constraint grants_secret_key unique,
  account_id     text not null references accounts,
  user_id        text not null references users,
  application_id text not null references applications,
  variant        device_code_variant not null,
  scopes         text[] not null,
  -- The second wall behind the state machine: whatever happens, one code leads to one grant.
  device_code_id uuid not null unique,
  key_id         smallint not null,
  generation     integer not null default 1,
  key_generation integer not null default 1,
  created_at     timestamptz not null,
  issued_at      timestamptz,
  revoked_at     timestamptz,
  revocation_reason text check (revocation_reason in (
    'application_deleted', 'application_suspended', 'authorization_code_refused', 'authorization_code_reused',
    'credential_reported', 'never_collected', 'password_changed', 'refresh_token_reused', 'removed_by_administrator',
    'removed_by_user', 'revoked_by_application', 'revoked_by_review', 'user_disabled', 'user_reset')),
  check ((revoked_at is null) = (revocation_reason is null))
);

create index on grants (user_id);
create index on grants (application_id);

-- Partitioned by expiry: the device code carries it, so a poll finds its partition, and forgetting is dropping one.
-- `expired` is not a stored status: a pending code past its time is expired.
create table device_codes (
  id                uuid not null,
  expires_at        timestamptz not null,
  created_at        timestamptz not null,
  application_id    text not null,
  variant           device_code_variant not null,
  status            device_code_status not null,
  entry_closed      boolean not null default false,
  user_code         text not null check (user_code ~ '^[0-9]{9,15}$'),
  scopes            text[] not null,
  state             text not null,
  claimed_by        text,
  decided_at        timestamptz,
  grant_id          text,
  lease_id          uuid,
  leased_until      timestamptz,
  outcome           final_outcome,
  idempotency_key   text,
  used_at           timestamptz,
  primary key (id, expires_at),
  check (status <> 'accepted' or grant_id is not null),
  check (status not in ('accepted', 'rejected') or (claimed_by is not null and decided_at is not null)),
  check ((lease_id is null) = (leased_until is null) and (lease_id is null) = (outcome is null)),
  check ((status = 'used') = (used_at is not null) and (used_at is null or outcome is not null))
) partition by range (expires_at);

-- What happened, for people who ask later: never updated, never deleted by the service. Partitioned by the month (UTC) of `at`, so that
-- an old month can be archived and taken out whole (0006_audit_chain.sql makes the partitions).
create sequence audit_event_ids;

create table audit_events (
  -- PostgreSQL 15 has no identity columns on partitioned tables.
  id             bigint not null default nextval('audit_event_ids'),
  -- When the transaction that wrote it began.
  at             timestamptz not null,
  kind           text not null,
  -- Who did it, and through which interface: core/audit/actor.ts.
  actor_kind     text not null constraint audit_events_actor_kind check (actor_kind in ('user', 'operator', 'application', 'service', 'anonymous')),
  actor_id       text not null,
  via            text not null constraint audit_events_via check (via in ('web', 'api', 'cli', 'mail', 'job')),
  -- What it is about.
  account_id     text,
  user_id        text,
  application_id text,
  grant_id       text,
  device_code_id uuid,
  detail         jsonb not null default '{}',
  constraint audit_events_key primary key (id, at)
) partition by range (at);

create index audit_events_application on audit_events (application_id, at);
create index audit_events_actor on audit_events (actor_id, at);
