-- Accounts, their users and roles, the catalogue of scopes, and how users sign in.
-- Ids that users can see are prefixed text. Device codes and grant secrets are 128-bit uuids, because device codes and
-- credentials carry them; a grant's secret appears nowhere else.

create table accounts (
  id                    text constraint accounts_pkey primary key
                        constraint accounts_id_check check (id ~ '^acc_[0-9a-z]{12}$'),
  slug                  text not null constraint accounts_slug_key unique
                        constraint accounts_slug_check check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' and slug !~ '^xn--'),
  name                  text not null constraint accounts_name_check check (length(name) between 1 and 100),
  -- Id at the service that adopted Latchkey.
  external_id           text constraint accounts_external_id_check check (length(external_id) between 1 and 200),
  colour                text constraint accounts_colour_check check (colour ~ '^#[0-9a-f]{6}$'),
  -- PNG, re-encoded by the service.
  logo                  bytea constraint accounts_logo_check check (length(logo) <= 262144),
  -- New for every logo, so that browsers can cache it.
  logo_version          text constraint accounts_logo_version_check check (logo_version ~ '^[0-9a-f]{12}$'),
  -- A process whose OPERATOR_ACCOUNT names it has started: its administrators are the operators.
  has_operators         boolean not null default false,
  -- Which applications users may connect: these two columns and the list.
  device_flow           boolean not null default true,
  unverified_publishers boolean not null default true,
  -- Null: every application is allowed. Otherwise only those listed.
  only_applications     text[],
  -- Since when all users need a second factor; null: only administrators do.
  second_factor_required_at timestamptz,
  created_at            timestamptz not null,
  -- The account is not found any more, and its credentials are refused. The row stays: its slug is never given again.
  closed_at             timestamptz,
  -- Everything else about it was deleted.
  erased_at             timestamptz,
  constraint accounts_logo_has_version check ((logo is null) = (logo_version is null)),
  constraint accounts_erased_after_closed check (erased_at is null or closed_at is not null)
);

create unique index accounts_external_id_idx on accounts (external_id) where closed_at is null;
create index accounts_to_erase_idx on accounts (closed_at) where closed_at is not null and erased_at is null;

-- The orders of the operators' lists, and the beginnings that their search finds. In the collation "C" an index serves both.
create index accounts_name_idx on accounts (lower(name) collate "C", slug);
create index accounts_slug_idx on accounts (slug collate "C");
create index accounts_created_at_idx on accounts (created_at, slug);
-- One account at most. Finds the previous one when OPERATOR_ACCOUNT changes.
create index accounts_has_operators_idx on accounts (id) where has_operators;

create table scopes (
  name        text constraint scopes_pkey primary key
              constraint scopes_name_check check (name ~ '^[a-z0-9][a-z0-9_.:-]{0,63}$'),
  title       text not null constraint scopes_title_check check (length(title) between 1 and 200),
  -- Highlighted on the consent page; granting it needs a recent sign-in.
  dangerous   boolean not null default false,
  -- False: the device flow never grants it, because the user may have been talked into typing a code.
  device_flow boolean not null default true,
  created_at  timestamptz not null
);

create table roles (
  id                text constraint roles_pkey primary key constraint roles_id_check check (id ~ '^rol_[0-9a-z]{12}$'),
  account_id        text not null constraint roles_account_id_fkey references accounts,
  name              text not null constraint roles_name_check check (length(name) between 1 and 100),
  -- True for administrators: includes scopes that are added later.
  holds_every_scope boolean not null default false,
  created_at        timestamptz not null,
  constraint roles_account_id_name_key unique (account_id, name)
);

create table role_scopes (
  role_id text not null constraint role_scopes_role_id_fkey references roles on delete cascade,
  scope   text not null constraint role_scopes_scope_fkey references scopes,
  constraint role_scopes_pkey primary key (role_id, scope)
);

create table users (
  id              text constraint users_pkey primary key constraint users_id_check check (id ~ '^usr_[0-9a-z]{12}$'),
  account_id      text not null constraint users_account_id_fkey references accounts,
  -- Where the user signs in: here, at the host service, or at the account's identity provider.
  origin          text not null default 'own' constraint users_origin_check check (origin in ('own', 'host', 'provider')),
  -- Of the identity provider. A subject of another issuer is another user.
  issuer          text,
  subject         text constraint users_subject_check check (length(subject) between 1 and 255),
  -- Id at the host service, or the one that the management API or SCIM gave. Nobody signs in by the latter.
  external_id     text constraint users_external_id_check check (length(external_id) between 1 and 255),
  email           text not null
                  constraint users_email_check check (email = lower(email) and email ~ '^[^@[:space:]]+@[^@[:space:]]+$'),
  -- As the host service, the identity provider or the file of an import says; null for own users.
  name            text constraint users_name_check check (length(name) between 1 and 200),
  -- Scopes that the host service gives the user besides the roles.
  permissions     text[] not null default '{}',
  -- When a management key last set roles or permissions. An older statement of the host service does not change them back.
  access_set_at   timestamptz,
  password_digest text,
  -- Language of mails: chosen by the user, otherwise that of the last page they read.
  language        text constraint users_language_check check (language ~ '^[a-z]{2}$'),
  -- Only a chosen language also applies to pages, in every browser.
  language_chosen boolean not null default false,
  created_at      timestamptz not null,
  disabled_at     timestamptz,
  -- Ids of the administrators who last gave the user access: of an operator, who proposed and who confirmed it. Empty:
  -- nobody, or the command line. Two users of whom one gave the other access do not count as two operators
  -- (core/operator/second-operator.ts).
  invited_by      text[] not null default '{}',
  promoted_by     text[] not null default '{}',
  enabled_by      text[] not null default '{}',
  reset_by        text[] not null default '{}',
  constraint users_account_id_email_key unique (account_id, email),
  constraint users_host_has_external_id check (origin <> 'host' or external_id is not null),
  constraint users_provider_has_issuer check ((origin = 'provider') = (issuer is not null)),
  constraint users_provider_has_subject check ((origin = 'provider') = (subject is not null)),
  constraint users_elsewhere_has_no_password check (origin = 'own' or password_digest is null)
);

-- A user elsewhere is one user here.
create unique index users_account_id_external_id_idx on users (account_id, external_id);
create unique index users_account_id_subject_idx on users (account_id, issuer, subject);

-- Operators search by e-mail address over all accounts; administrators list the users of theirs.
create index users_email_idx on users (email collate "C", id);
create index users_account_id_email_idx on users (account_id, email collate "C", id);
create index users_account_id_created_at_idx on users (account_id, created_at, id);

create table user_roles (
  user_id    text not null constraint user_roles_user_id_fkey references users on delete cascade,
  role_id    text not null constraint user_roles_role_id_fkey references roles on delete cascade,
  -- An administrator has a week from then to set up a second factor.
  granted_at timestamptz not null default now(),
  constraint user_roles_pkey primary key (user_id, role_id)
);

-- Users of a role: counted on the pages about roles, and deleted with the role.
create index user_roles_role_id_idx on user_roles (role_id);

-- The identity provider (OpenID Connect) of an account. docs/history.md#0047
create table identity_providers (
  account_id    text constraint identity_providers_pkey primary key
                constraint identity_providers_account_id_fkey references accounts,
  state         text not null constraint identity_providers_state_check check (state in ('off', 'optional', 'required')),
  issuer        text not null constraint identity_providers_issuer_check check (length(issuer) between 1 and 2000),
  client_id     text not null constraint identity_providers_client_id_check check (length(client_id) between 1 and 500),
  -- Encrypted with a server key, whose id is the first byte: it has to be sent to the provider.
  client_secret bytea not null,
  -- If not empty, only users with a verified e-mail address there come in.
  domains       text[] not null default '{}',
  -- Who comes in: invited users only, or also anybody of the domains.
  admission     text not null constraint identity_providers_admission_check check (admission in ('invited', 'domain')),
  default_role  text constraint identity_providers_default_role_fkey references roles on delete set null,
  -- Claim of the ID token whose values choose the roles; null: administrators choose them.
  role_claim    text constraint identity_providers_role_claim_check check (length(role_claim) between 1 and 200),
  -- Administrators who may sign in here although it is required.
  break_glass   text[] not null default '{}',
  constraint identity_providers_domain_is_named check (admission = 'invited' or cardinality(domains) > 0),
  constraint identity_providers_required_has_two check (state <> 'required' or cardinality(break_glass) = 2)
);

-- Deleting a role looks for it here.
create index identity_providers_default_role_idx on identity_providers (default_role);

-- Value of the role claim that gives the role.
create table identity_provider_roles (
  role_id text constraint identity_provider_roles_pkey primary key
          constraint identity_provider_roles_role_id_fkey references roles on delete cascade,
  value   text not null constraint identity_provider_roles_value_check check (length(value) between 1 and 200)
);

-- Changes that give a user access as an operator: one operator proposes them, another confirms them.
-- docs/history.md#0040
create table operator_changes (
  id          text constraint operator_changes_pkey primary key
              constraint operator_changes_id_check check (id ~ '^opc_[0-9a-z]{12}$'),
  account_id  text not null constraint operator_changes_account_id_fkey references accounts,
  change      text not null constraint operator_changes_change_check
              check (change in ('create', 'promote', 'enable', 'reset')),
  -- Null: the user does not exist yet.
  user_id     text constraint operator_changes_user_id_fkey references users,
  email       text not null,
  role_ids    text[],
  -- Language of the proposer's pages: for the mail to a user who has not chosen one.
  language    text not null constraint operator_changes_language_check check (language ~ '^[a-z]{2}$'),
  proposed_by text not null constraint operator_changes_proposed_by_fkey references users,
  proposed_at timestamptz not null,
  -- Operators at that time: only they may confirm.
  operators   text[] not null,
  expires_at  timestamptz not null,
  outcome     text constraint operator_changes_outcome_check
              check (outcome in ('confirmed', 'declined', 'withdrawn', 'expired')),
  decided_by  text constraint operator_changes_decided_by_fkey references users,
  decided_at  timestamptz,
  constraint operator_changes_user_exists check ((change = 'create') = (user_id is null)),
  constraint operator_changes_has_roles check ((change in ('create', 'promote')) = (role_ids is not null)),
  constraint operator_changes_decided_when check ((outcome is null) = (decided_at is null)),
  constraint operator_changes_decided_by_whom check ((outcome is null or outcome = 'expired') = (decided_by is null)),
  constraint operator_changes_second_is_another check (outcome <> 'confirmed' or decided_by <> proposed_by),
  constraint operator_changes_second_was_operator check (outcome <> 'confirmed' or decided_by = any (operators)),
  constraint operator_changes_withdrawn_by_proposer check (outcome <> 'withdrawn' or decided_by = proposed_by)
);

-- At most one pending change per user.
create unique index operator_changes_one_pending_idx on operator_changes (account_id, email) where outcome is null;

-- The session cookie is computed from the id under a server key, so it is not stored.
create table sessions (
  id               uuid constraint sessions_pkey primary key,
  account_id       text not null constraint sessions_account_id_fkey references accounts,
  user_id          text not null constraint sessions_user_id_fkey references users on delete cascade,
  -- Signed the cookie.
  key_id           smallint not null,
  created_at       timestamptz not null,
  -- When the user last authenticated; of a host user, as the host service says, of a provider user, as the provider says.
  authenticated_at timestamptz not null,
  -- How a user authenticated there (RFC 8176).
  amr              text[] not null default '{}',
  -- Session at the identity provider (`sid`), which a logout token names.
  provider_sid     text constraint sessions_provider_sid_check check (length(provider_sid) <= 255),
  -- Noted every few minutes; a session that was not used for a while has ended.
  last_used_at     timestamptz not null,
  -- The user proved a second factor in it: a passkey, an authenticator code or a recovery code.
  second_factor    boolean not null default false,
  expires_at       timestamptz not null,
  address          inet,
  agent            text constraint sessions_agent_check check (length(agent) <= 200)
);

create index sessions_user_id_idx on sessions (user_id);
create index sessions_expires_at_idx on sessions (expires_at);

-- Keys of LATCHKEY_KEYS that sign or signed; the keys themselves are not stored.
create table signing_keys (
  id             smallint constraint signing_keys_pkey primary key,
  -- Noted every few seconds by each process that signs with it; null: by none so far.
  last_signed_at timestamptz,
  -- From then on no process accepts anything that it signed.
  retired_at     timestamptz
);

create table passkeys (
  id           text constraint passkeys_pkey primary key constraint passkeys_id_check check (length(id) <= 1400),
  user_id      text not null constraint passkeys_user_id_fkey references users on delete cascade,
  public_key   bytea not null,
  counter      bigint not null,
  transports   text[] not null,
  name         text not null constraint passkeys_name_check check (length(name) between 1 and 100),
  created_at   timestamptz not null,
  last_used_on date
);

create index passkeys_user_id_idx on passkeys (user_id);

-- Time-based second factor (RFC 6238). Its secret is computed from the id under a server key.
create table authenticators (
  user_id    text constraint authenticators_pkey primary key
             constraint authenticators_user_id_fkey references users on delete cascade,
  id         uuid not null,
  key_id     smallint not null,
  -- Newest accepted 30-second step: a code is valid once.
  last_step  bigint not null,
  created_at timestamptz not null
);

-- Unused recovery codes, each in place of a passkey or an authenticator code once.
create table recovery_codes (
  user_id    text not null constraint recovery_codes_user_id_fkey references users on delete cascade,
  digest     bytea not null constraint recovery_codes_digest_check check (length(digest) = 32),
  -- Made the digest.
  key_id     smallint not null,
  created_at timestamptz not null,
  constraint recovery_codes_pkey primary key (user_id, digest)
);

-- Used passkey challenges, proofs of a first sign-in step, challenges of a hand-over, states of a sign-in at an identity provider and its
-- logout tokens, kept until they would have expired.
create table spent_challenges (
  digest     bytea constraint spent_challenges_pkey primary key
             constraint spent_challenges_digest_check check (length(digest) = 32),
  expires_at timestamptz not null
);

-- Failed sign-in attempts. `browser`: a browser that signed in before has a budget of its own.
create table sign_in_failures (
  id         bigint generated always as identity constraint sign_in_failures_pkey primary key,
  at         timestamptz not null,
  account_id text not null constraint sign_in_failures_account_id_fkey references accounts,
  -- Keyed digest of the address as typed: the table does not tell which addresses exist.
  email      bytea not null,
  browser    uuid,
  network    cidr
);

create index sign_in_failures_email_at_idx on sign_in_failures (email, at);
create index sign_in_failures_network_at_idx on sign_in_failures (network, at);
create index sign_in_failures_at_idx on sign_in_failures (at);

-- Refusals of the current hour: anybody can cause them, so the audit log gets one event per subject, network and hour, with the count.
create table refusal_counts (
  id         bigint generated always as identity constraint refusal_counts_pkey primary key,
  kind       text not null constraint refusal_counts_kind_check check (kind in (
    'session.refused', 'page.refused', 'session.locked', 'session.slowed')),
  hour       timestamptz not null,
  -- Null: of the whole service.
  account_id text constraint refusal_counts_account_id_fkey references accounts,
  -- Keyed digest of an address, a user's id, or empty.
  subject    text not null,
  network    cidr,
  user_id    text,
  reason     text not null,
  count      integer not null constraint refusal_counts_count_check check (count > 0),
  constraint refusal_counts_key unique nulls not distinct (kind, hour, account_id, subject, network, reason)
);

create index refusal_counts_hour_idx on refusal_counts (hour);
