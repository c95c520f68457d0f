-- The whole schema, by subject. server/schema.sql is the same as PostgreSQL prints it.
-- Ids that users can see are prefixed text. Device codes and grant secrets are 128-bit uuids, because device codes and
-- credentials carry them; a grant's secret appears nowhere else.

-- Functions below that run with the rights of the owner fix the search path to this one: the schema of the tables, with
-- temporary tables last, so that nobody can shadow a table. pg_catalog is not named and therefore searched first.
select set_config('search_path', format('%I, pg_temp', current_schema()), true);

-- ========== Accounts, scopes and roles ==========

-- An account has users, applications and pages at its own host.
create table accounts (
  id                        text constraint accounts_pkey primary key
                            constraint accounts_id_check check (id ~ '^acc_[0-9a-z]{12}$'),
  slug                      text not null constraint accounts_slug_key unique
                            constraint accounts_slug_check check (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' and slug !~ '^xn--'),
  name                      text not null constraint accounts_name_check check (length(name) between 1 and 100),
  -- Its id at the service that adopted Latchkey.
  external_id               text constraint accounts_external_id_check check (length(external_id) between 1 and 200),
  colour                    text constraint accounts_colour_check check (colour ~ '^#[0-9a-f]{6}$'),
  -- A PNG that the service encoded again, so that it contains nothing but the picture.
  logo                      bytea constraint accounts_logo_check check (length(logo) <= 262144),
  -- New for every logo, so that browsers can cache it.
  logo_version              text constraint accounts_logo_version_check check (logo_version ~ '^[0-9a-f]{12}$'),
  -- A process whose OPERATOR_ACCOUNT names it has started: its administrators are the operators.
  has_operators             boolean not null default false,
  -- Which applications users may connect: these two columns and the list.
  device_flow               boolean not null default true,
  unverified_publishers     boolean not null default true,
  -- Null: every application is allowed. Otherwise only those listed.
  only_applications         text[],
  -- Since when all users need a second factor; null: only administrators do.
  second_factor_required_at timestamptz,
  created_at                timestamptz not null,
  -- The account is not found any more, and its credentials are refused. The row stays: its slug is never given again.
  closed_at                 timestamptz,
  -- Everything else about it was deleted.
  erased_at                 timestamptz,
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

-- The catalogue of scopes, which all accounts share.
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

-- A role gives its users scopes. Each account has roles of its own.
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

-- ========== Users ==========

-- A person with several accounts is one user in each of them.
create table users (
  id                 text constraint users_pkey primary key constraint users_id_check check (id ~ '^usr_[0-9a-z]{12}$'),
  account_id         text not null constraint users_account_id_fkey references accounts,
  -- Where the user signs in: here, at the host service, or at the account's identity provider.
  origin             text not null default 'own' constraint users_origin_check check (origin in ('own', 'host', 'provider')),
  -- Of the identity provider. A subject of another issuer is another user.
  issuer             text,
  subject            text constraint users_subject_check check (length(subject) between 1 and 255),
  -- Id at the host service, or the one that the management API or SCIM gave. Nobody signs in by the latter.
  external_id        text constraint users_external_id_check check (length(external_id) between 1 and 255),
  email              text not null
                     constraint users_email_check check (email = lower(email) and email ~ '^[^@[:space:]]+@[^@[:space:]]+$'),
  -- Counts changes of the address: a link that was mailed before a change does not confirm the new address.
  email_version      integer not null default 0,
  -- When the user used a link that was mailed to the address since it was last changed.
  email_confirmed_at timestamptz,
  -- As the host service, the identity provider or the file of an import says; null for own users.
  name               text constraint users_name_check check (length(name) between 1 and 200),
  -- Scopes that the host service gives the user besides the roles.
  permissions        text[] not null default '{}',
  -- When a management key last set roles or permissions. An older statement of the host service does not change them back.
  access_set_at      timestamptz,
  password_digest    text,
  -- Language of mails: chosen by the user, otherwise that of the last page they read.
  language           text constraint users_language_check check (language ~ '^[a-z]{2}$'),
  -- Only a chosen language also applies to pages, in every browser.
  language_chosen    boolean not null default false,
  created_at         timestamptz not null,
  disabled_at        timestamptz,
  -- Somebody signed in as the user before: a management key may not give them another address at once.
  was_reset          boolean not null default false,
  -- Ids of the administrators who last gave the user access: of an operator, who proposed and who confirmed it. Empty:
  -- nobody, or the command line. Two users of whom one gave the other access do not count as two operators
  -- (core/operator/second-operator.ts).
  invited_by         text[] not null default '{}',
  promoted_by        text[] not null default '{}',
  enabled_by         text[] not null default '{}',
  reset_by           text[] not null default '{}',
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

-- Notes every change of the address, whoever makes it and by which statement.
create function email_changed() returns trigger language plpgsql as $$
begin
  new.email_confirmed_at := null;
  new.email_version := old.email_version + 1;
  return new;
end $$;

create trigger users_email_changed before update on users for each row
  when (old.email is distinct from new.email) execute function email_changed();

create table user_roles (
  user_id    text not null constraint user_roles_user_id_fkey references users on delete cascade,
  role_id    text not null constraint user_roles_role_id_fkey references roles on delete cascade,
  -- An administrator has a week from then to set up a second factor.
  granted_at timestamptz not null default now(),
  constraint user_roles_pkey primary key (user_id, role_id)
);

-- Users of a role: counted on the pages about roles, and deleted with the role.
create index user_roles_role_id_idx on user_roles (role_id);

-- Changes of e-mail addresses by a management key, until the old mailbox or an administrator confirms them.
create table address_changes (
  user_id      text constraint address_changes_pkey primary key
               constraint address_changes_user_id_fkey references users on delete cascade,
  account_id   text not null,
  email        text not null constraint address_changes_email_check check (email = lower(email)),
  -- Id of the management key.
  requested_by text not null,
  requested_at timestamptz not null,
  expires_at   timestamptz not null
);

create index address_changes_account_id_idx on address_changes (account_id, requested_at, user_id);
create index address_changes_expires_at_idx on address_changes (expires_at);

-- ========== Identity providers of accounts ==========

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

-- Deleting a role looks for rows that refer to it.
create index identity_providers_default_role_idx on identity_providers (default_role);

-- For each role, the value of the role claim that gives it.
create table identity_provider_roles (
  role_id text constraint identity_provider_roles_pkey primary key
          constraint identity_provider_roles_role_id_fkey references roles on delete cascade,
  value   text not null constraint identity_provider_roles_value_check check (length(value) between 1 and 200)
);

-- ========== Sessions and ways to sign in ==========

-- The session cookie is computed from the id under a server key, so it is not stored.
create table sessions (
  id               uuid constraint sessions_pkey primary key,
  account_id       text not null constraint sessions_account_id_fkey references accounts,
  user_id          text not null constraint sessions_user_id_fkey references users on delete cascade,
  -- The server key that signed the cookie.
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
  -- Digest of the person as whom the user signed in; null: not known (core/sign-in/person.ts).
  person           text,
  expires_at       timestamptz not null,
  address          inet,
  agent            text constraint sessions_agent_check check (length(agent) <= 200)
);

create index sessions_user_id_idx on sessions (user_id);
create index sessions_expires_at_idx on sessions (expires_at);

-- Public keys of users' passkeys (WebAuthn).
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
  -- The server key that made the digest.
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
  -- No check constraint: a new kind needs no migration.
  kind       text not null,
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

-- ========== Applications ==========

-- Numbers the changes of applications. Every process caches all applications and pulls changes: `change_number` increases with
-- every write, under an advisory lock, so that a reader that has seen n has seen all changes up to n.
create sequence application_changes;

create table applications (
  id                      text constraint applications_pkey primary key
                          constraint applications_id_check check (id ~ '^app_[0-9a-z]{12}$'),
  account_id              text not null constraint applications_account_id_fkey references accounts,
  name                    text not null constraint applications_name_check check (length(name) between 1 and 100),
  -- A PNG that the service encoded again, so that it contains nothing but the picture.
  logo                    bytea constraint applications_logo_check check (length(logo) <= 262144),
  -- New for every logo, so that browsers can cache it. Random, so that the owner cannot choose it.
  logo_version            text constraint applications_logo_version_check check (logo_version ~ '^[0-9a-f]{12}$'),
  -- Names of scopes. Arrays cannot have foreign keys: names are checked when written, and scopes are never deleted.
  allowed_scopes          text[] not null,
  default_scopes          text[] not null,
  required_scopes         text[] not null,
  device_flow             boolean not null,
  -- Redirect URIs of the dialog, compared exactly.
  redirect_uris           text[] not null default '{}'
                          constraint applications_redirect_uris_check check (cardinality(redirect_uris) <= 10),
  -- A public client (RFC 6749 §2.1) has no secret; the code verifier binds an exchange to it.
  public_client           boolean not null default false,
  -- The dialog requires a code challenge. Otherwise one is optional, and verified if sent.
  pkce_required           boolean not null default false,
  -- May introspect credentials of every application (RFC 7662), not only its own.
  resource_server         boolean not null default false,
  publisher               text constraint applications_publisher_check check (length(publisher) between 1 and 253),
  -- Publisher: the service itself, a publisher whose domain was verified, or unknown.
  publisher_status        text not null default 'unverified'
                          constraint applications_publisher_status_check check (publisher_status in ('own', 'verified', 'unverified')),
  -- When the publisher was first verified. Since then, a new name or logo needs the approval of an operator.
  vouched_at              timestamptz,
  -- When the publisher's DNS record was last seen. Null: no record is checked; an operator verified the publisher.
  publisher_proven_at     timestamptz,
  -- When the record was first found missing; null while it is there.
  publisher_missing_since timestamptz,
  publisher_checked_at    timestamptz,
  -- Poll interval set by a review. Null: as configured.
  poll_interval_seconds   integer
                          constraint applications_poll_interval_seconds_check check (poll_interval_seconds between 1 and 300),
  created_at              timestamptz not null,
  suspended_at            timestamptz,
  deleted_at              timestamptz,
  change_number           bigint not null constraint applications_change_number_key unique,
  constraint applications_default_scopes_allowed check (default_scopes <@ allowed_scopes),
  constraint applications_required_scopes_allowed check (required_scopes <@ allowed_scopes),
  constraint applications_public_requires_pkce check (pkce_required or not public_client),
  constraint applications_logo_has_version check ((logo is null) = (logo_version is null)),
  constraint applications_verified_has_publisher check (publisher_status <> 'verified' or publisher is not null),
  constraint applications_proven_is_verified check (publisher_proven_at is null or publisher_status = 'verified'),
  constraint applications_proven_is_checked check ((publisher_proven_at is null) = (publisher_checked_at is null)),
  constraint applications_missing_was_proven check (publisher_missing_since is null or publisher_proven_at is not null)
);

-- Applications of an account, and of all, in the orders of their lists. In the collation "C" an index also finds what names begin with.
create index applications_account_id_name_idx on applications (account_id, lower(name) collate "C", id) where deleted_at is null;
create index applications_account_id_created_at_idx on applications (account_id, created_at, id);
create index applications_name_idx on applications (lower(name) collate "C", id) where deleted_at is null;
create index applications_created_at_idx on applications (created_at, id) where deleted_at is null;
create index applications_suspended_idx on applications (lower(name) collate "C", id) where suspended_at is not null and deleted_at is null;
create index applications_publisher_checked_at_idx on applications (publisher_checked_at) where publisher_checked_at is not null;
-- Verified names, which no other application may resemble.
create index applications_vouched_names_idx on applications (account_id) where publisher_status <> 'unverified' and deleted_at is null;

-- Secrets of applications, as keyed digests. An application may have several, so that they can be replaced one by one.
create table application_secrets (
  id             text constraint application_secrets_pkey primary key
                 constraint application_secrets_id_check check (id ~ '^sec_[0-9a-z]{12}$'),
  application_id text not null constraint application_secrets_application_id_fkey references applications,
  key_id         smallint not null,
  digest         bytea not null constraint application_secrets_digest_key unique
                 constraint application_secrets_digest_check check (length(digest) = 32),
  -- Chosen by the owner, for example a batch of devices or a server.
  label          text constraint application_secrets_label_check check (length(label) between 1 and 60),
  created_at     timestamptz not null,
  -- A date, so that it is written at most once a day.
  last_used_on   date,
  revoked_at     timestamptz
);

create index application_secrets_live_idx on application_secrets (application_id) where revoked_at is null;

-- Applications that were registered in the developer console. An operator looks at them before they get dangerous scopes or many
-- users; applications that an operator registered have no row.
create table application_vettings (
  application_id text constraint application_vettings_pkey primary key
                 constraint application_vettings_application_id_fkey references applications,
  -- First grants of users of other accounts, counted while no operator has approved the application and its publisher is unverified.
  outside_grants integer not null default 0 constraint application_vettings_outside_grants_check check (outside_grants >= 0),
  -- The developer asked for it; null when an operator has decided.
  requested_at   timestamptz,
  requested_by   text constraint application_vettings_requested_by_fkey references users on delete set null,
  -- An operator approved it, with this name and these scopes.
  vetted_at      timestamptz,
  vetted_name    text,
  vetted_scopes  text[],
  constraint application_vettings_requested_or_vetted check (requested_at is null or vetted_at is null),
  constraint application_vettings_vetted_as_seen check (num_nulls(vetted_at, vetted_name, vetted_scopes) in (0, 3))
);

create index application_vettings_requested_at_idx on application_vettings (requested_at, application_id) where requested_at is not null;
create index application_vettings_vetted_at_idx on application_vettings (vetted_at, application_id) where vetted_at is not null;

-- Test mode: the application's codes are decided by request, with this secret, as this user; nobody can enter them on a page. The row
-- is deleted when it ends. Past `ends_at` it has ended, even if nobody has deleted the row yet.
create table application_test_modes (
  application_id text constraint application_test_modes_pkey primary key
                 constraint application_test_modes_application_id_fkey references applications,
  user_id        text not null constraint application_test_modes_user_id_fkey references users,
  key_id         smallint not null,
  digest         bytea not null constraint application_test_modes_digest_key unique
                 constraint application_test_modes_digest_check check (length(digest) = 32),
  started_at     timestamptz not null,
  ends_at        timestamptz not null,
  constraint application_test_modes_a_day_at_most check (ends_at <= started_at + interval '24 hours')
);

create index application_test_modes_user_id_idx on application_test_modes (user_id);

-- Proposed name and logo of a verified application, until an operator has decided.
create sequence application_proposal_versions;

create table application_proposals (
  application_id  text constraint application_proposals_pkey primary key
                  constraint application_proposals_application_id_fkey references applications,
  -- New with every change and never repeated: an operator accepts exactly what was shown.
  version         bigint not null,
  name            text not null constraint application_proposals_name_check check (length(name) between 1 and 100),
  logo            bytea constraint application_proposals_logo_check check (length(logo) <= 262144),
  logo_version    text constraint application_proposals_logo_version_check check (logo_version ~ '^[0-9a-f]{12}$'),
  proposed_at     timestamptz not null,
  proposed_by     text constraint application_proposals_proposed_by_fkey references users on delete set null,
  -- Declined; kept so that the owner can read the reason.
  declined_at     timestamptz,
  declined_reason text constraint application_proposals_declined_reason_check check (length(declined_reason) between 1 and 2000),
  constraint application_proposals_logo_has_version check ((logo is null) = (logo_version is null)),
  constraint application_proposals_declined_with_reason check ((declined_at is null) = (declined_reason is null))
);

create index application_proposals_waiting_idx on application_proposals (proposed_at, application_id) where declined_at is null;

-- Manual checks of a publisher's DNS record, to limit their number.
create table publisher_checks (
  at             timestamptz not null,
  account_id     text not null constraint publisher_checks_account_id_fkey references accounts,
  application_id text not null constraint publisher_checks_application_id_fkey references applications
);

create index publisher_checks_account_id_at_idx on publisher_checks (account_id, at);
create index publisher_checks_at_idx on publisher_checks (at);

-- ========== Use of applications ==========

-- Requests and polls of an application per hour. Counted in process, added here every few seconds.
create table application_hours (
  application_id text not null constraint application_hours_application_id_fkey references applications,
  hour           timestamptz not null,
  requested      bigint not null default 0,
  polls          bigint not null default 0,
  early_polls    bigint not null default 0,
  -- Requests with the secret in the URL, which proxies log.
  secrets_in_url bigint not null default 0,
  constraint application_hours_pkey primary key (application_id, hour)
);

create index application_hours_hour_idx on application_hours (hour);

-- The same counts in steps of five minutes, for the last two days.
create table application_minutes (
  application_id text not null constraint application_minutes_application_id_fkey references applications,
  at             timestamptz not null,
  polls          bigint not null default 0,
  early_polls    bigint not null default 0,
  constraint application_minutes_pkey primary key (application_id, at)
);

create index application_minutes_at_idx on application_minutes (at);

-- Grants of an application per day, counted once when the day is over; days without any have no row.
create table application_days (
  application_id text not null constraint application_days_application_id_fkey references applications,
  -- Start of the day in UTC.
  day            timestamptz not null,
  entered        integer not null,
  granted        integer not null,
  rejected       integer not null,
  new_users      integer not null,
  networks       integer not null,
  countries      integer not null,
  constraint application_days_pkey primary key (application_id, day)
);

create index application_days_day_idx on application_days (day);

-- Days that have been counted for all applications.
create table counted_days (
  day timestamptz constraint counted_days_pkey primary key
);

-- The newest fifty requests of an application, for its developers. Anybody can send requests with an application's id, so
-- unauthenticated requests take at most a part of the fifty.
create table application_requests (
  id             bigint generated always as identity constraint application_requests_pkey primary key,
  application_id text not null constraint application_requests_application_id_fkey references applications,
  at             timestamptz not null,
  authenticated  boolean not null,
  -- Operations and refusals have no check constraint: a new one needs no migration.
  operation      text not null,
  -- Null: success.
  refusal        text,
  message        text constraint application_requests_message_check check (length(message) <= 300)
);

create index application_requests_application_id_authenticated_id_idx
  on application_requests (application_id, authenticated, id desc);

-- ========== Webhooks ==========

-- Webhook endpoints: an application is notified of what happens to its grants and to itself.
create table webhook_endpoints (
  id              text constraint webhook_endpoints_pkey primary key,
  application_id  text not null constraint webhook_endpoints_application_id_fkey references applications,
  url             text not null constraint webhook_endpoints_url_check check (length(url) <= 2000),
  -- The signing secret is computed from the id and these two under a server key, so it is not stored.
  key_id          smallint not null,
  generation      integer not null default 1 constraint webhook_endpoints_generation_check check (generation > 0),
  -- For a day after a rotation, the previous secret signs as well.
  rotated_at      timestamptz,
  previous_key_id smallint,
  -- The last answer took long, or there was none yet: its deliveries use the limited lanes for slow endpoints.
  slow            boolean not null default true,
  created_at      timestamptz not null,
  disabled_at     timestamptz,
  -- `gone`: the endpoint answered 410.
  disabled_reason text constraint webhook_endpoints_disabled_reason_check check (disabled_reason in ('removed', 'gone')),
  constraint webhook_endpoints_rotation_complete check ((rotated_at is null) = (previous_key_id is null)),
  constraint webhook_endpoints_disabled_with_reason check ((disabled_at is null) = (disabled_reason is null))
);

create index webhook_endpoints_application_id_idx on webhook_endpoints (application_id);

-- Outbox of webhooks: a delivery is inserted in the transaction of its event, and sent afterwards.
create table webhook_deliveries (
  id           bigint generated always as identity constraint webhook_deliveries_pkey primary key,
  endpoint_id  text not null constraint webhook_deliveries_endpoint_id_fkey references webhook_endpoints,
  -- Same for all attempts and all endpoints of one event. Not the id of an audit event.
  event_id     uuid not null,
  -- No check constraint: a new kind needs no migration.
  kind         text not null,
  -- Ids and facts at the time of the event. Never a secret.
  data         jsonb not null,
  created_at   timestamptz not null,
  -- While being sent: when it is due again if the sending process dies.
  due_at       timestamptz not null,
  -- Completed attempts.
  attempts     integer not null default 0,
  tried_at     timestamptz,
  delivered_at timestamptz,
  given_up_at  timestamptz,
  last_status  smallint,
  last_error   text,
  last_took_ms integer
);

create index webhook_deliveries_waiting_idx on webhook_deliveries (endpoint_id, due_at)
  where delivered_at is null and given_up_at is null;
create index webhook_deliveries_endpoint_id_id_idx on webhook_deliveries (endpoint_id, id desc);
create index webhook_deliveries_created_at_idx on webhook_deliveries (created_at);

-- ========== Operators and their reviews of applications ==========

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

create table reviews (
  id                 text constraint reviews_pkey primary key constraint reviews_id_check check (id ~ '^rev_[0-9a-z]{12}$'),
  application_id     text not null constraint reviews_application_id_fkey references applications,
  opened_at          timestamptz not null,
  reason             text not null constraint reviews_reason_check check (reason in ('polling', 'reports', 'operator', 'early_polls')),
  verdict            text not null
                     constraint reviews_verdict_check check (verdict in ('fine', 'observe', 'warn', 'review', 'suspend')),
  harm               double precision not null,
  evidence           jsonb not null,
  -- Those by which the evidence was counted and judged; they are settings.
  thresholds         jsonb not null,
  judged_at          timestamptz not null,
  -- The last verdict above `observe`; a review without one for a while is closed by the rule.
  last_escalated_at  timestamptz not null,
  warned_at          timestamptz,
  -- Suspended by the rule. Ends without a decision at `suspension_ends_at`; null: waits for an operator.
  suspended_at       timestamptz,
  suspension_ends_at timestamptz,
  appealed_at        timestamptz,
  -- Null also after the user was erased.
  appealed_by        text constraint reviews_appealed_by_fkey references users on delete set null,
  appeal             text constraint reviews_appeal_check check (length(appeal) between 1 and 2000),
  closed_at          timestamptz,
  -- Incremented by every change that an operator should see before deciding.
  version            integer not null default 1,
  constraint reviews_appeal_complete check ((appealed_at is null) = (appeal is null) and (appealed_at is not null or appealed_by is null)),
  constraint reviews_suspension_end_is_open check (suspension_ends_at is null or (suspended_at is not null and closed_at is null))
);

-- At most one open review per application.
create unique index reviews_one_open_idx on reviews (application_id) where closed_at is null;
create index reviews_application_id_opened_at_idx on reviews (application_id, opened_at);
create index reviews_closed_at_idx on reviews (closed_at, id);
create index reviews_opened_at_idx on reviews (opened_at, id);
create index reviews_harm_idx on reviews (harm, id);

create table review_decisions (
  id               text constraint review_decisions_pkey primary key
                   constraint review_decisions_id_check check (id ~ '^dec_[0-9a-z]{12}$'),
  review_id        text not null constraint review_decisions_review_id_fkey references reviews,
  decided_at       timestamptz not null,
  decided_by       text not null constraint review_decisions_decided_by_fkey references users,
  decision         text not null constraint review_decisions_decision_check
                   check (decision in ('reinstate', 'reinstate_slower', 'reinstate_and_restore', 'keep', 'keep_and_revoke')),
  reason           text not null constraint review_decisions_reason_check check (reason in (
    'fixed', 'mistaken', 'stolen_secret', 'broken_firmware', 'phishing', 'no_answer', 'other')),
  words            text not null constraint review_decisions_words_check check (length(words) between 1 and 2000),
  interval_seconds integer constraint review_decisions_interval_seconds_check check (interval_seconds between 1 and 300),
  needs_second     boolean not null,
  -- Those by which it was decided.
  thresholds       jsonb not null,
  -- Operators at that time: only they may confirm.
  operators        text[] not null,
  confirmed_by     text constraint review_decisions_confirmed_by_fkey references users,
  confirmed_at     timestamptz,
  -- Before a second operator confirmed it.
  withdrawn_by     text constraint review_decisions_withdrawn_by_fkey references users,
  withdrawn_at     timestamptz,
  -- Number of grants that it revoked or restored.
  grants           integer not null default 0,
  -- Null while a second operator has to confirm.
  took_effect_at   timestamptz,
  -- The facts that the decision is based on (flows/reviews/decide.ts): a second operator sees whether they still hold.
  seen             text not null,
  constraint review_decisions_second_is_another check (confirmed_by <> decided_by),
  constraint review_decisions_second_was_operator check (confirmed_by = any (operators)),
  constraint review_decisions_slower_has_interval check ((decision = 'reinstate_slower') = (interval_seconds is not null)),
  constraint review_decisions_confirmed_by_whom check ((confirmed_at is null) = (confirmed_by is null)),
  constraint review_decisions_withdrawn_by_whom check ((withdrawn_at is null) = (withdrawn_by is null)),
  constraint review_decisions_withdrawn_without_effect check (withdrawn_at is null or took_effect_at is null),
  constraint review_decisions_confirmed_only_if_needed check (needs_second or confirmed_by is null),
  constraint review_decisions_effect_after_confirmation
    check (took_effect_at is null or not needs_second or confirmed_at is not null)
);

create index review_decisions_review_id_decided_at_idx on review_decisions (review_id, decided_at);
-- At most one decision of a review waits for a second operator.
create unique index review_decisions_one_waiting_idx on review_decisions (review_id)
  where took_effect_at is null and withdrawn_at is null;

-- Minutes in which the service was overloaded: early polls in them are not held against applications.
create table overloads (
  minute timestamptz constraint overloads_pkey primary key,
  shed   bigint not null
);

-- ========== Grants and dialogs ==========

-- What a user allowed an application: the scopes, and what its credentials are computed from. The credentials are not stored.
create table grants (
  id                  text constraint grants_pkey primary key constraint grants_id_check check (id ~ '^grt_[0-9a-z]{20}$'),
  -- Finds the grant of a credential. Never shown: pages, logs and webhooks use the id.
  secret              uuid not null constraint grants_secret_key unique,
  account_id          text not null constraint grants_account_id_fkey references accounts,
  user_id             text not null constraint grants_user_id_fkey references users,
  application_id      text not null constraint grants_application_id_fkey references applications,
  variant             text not null constraint grants_variant_check check (variant in ('token_set', 'access_key')),
  scopes              text[] not null,
  -- One code or dialog leads to one grant: these constraints hold even if the state machine has a bug. No foreign keys:
  -- codes are dropped with their partition and dialogs are deleted after a day, while the grant stays.
  device_code_id      uuid constraint grants_device_code_id_key unique,
  dialog_id           uuid constraint grants_dialog_id_key unique,
  -- Of a grant that was made in test mode, when it ends at the latest. Null: granted by a person.
  test_ends_at        timestamptz,
  -- Client address of the application's request.
  requested_from      inet,
  -- The user had granted the application nothing before. Two grants made at the same time may both be.
  first_of_user       boolean not null default false,
  key_id              smallint not null,
  -- The server key that signed the credentials before that; some of them are valid for a while after the change.
  previous_key_id     smallint,
  key_changed_at      timestamptz,
  generation          integer not null default 1,
  -- Newest generation whose access token was accepted: its refresh answer has arrived. The first needs no such proof.
  used_generation     integer not null default 1,
  key_generation      integer not null default 1,
  -- When the access key was last rotated; its predecessor is valid for a while.
  key_rotated_at      timestamptz,
  created_at          timestamptz not null,
  issued_at           timestamptz,
  -- A date, so that it is written at most once a day.
  last_used_on        date,
  revoked_at          timestamptz,
  revocation_reason   text constraint grants_revocation_reason_check check (revocation_reason in (
    'account_closed', 'application_deleted', 'application_suspended', 'authorization_code_refused', 'authorization_code_reused',
    'credential_reported', 'key_retired', 'never_collected', 'password_changed', 'refresh_token_reused',
    'removed_by_administrator', 'removed_by_operator', 'removed_by_user', 'revoked_by_application', 'revoked_by_review', 'test_mode_ended',
    'user_disabled', 'user_erased', 'user_reset')),
  -- Revoked by this decision; a later one can restore it.
  revoked_by_decision text constraint grants_revoked_by_decision_fkey references review_decisions,
  constraint grants_key_change_complete check ((key_changed_at is null) = (previous_key_id is null)),
  constraint grants_one_origin check ((device_code_id is null) <> (dialog_id is null)),
  constraint grants_test_a_day_at_most check (test_ends_at <= created_at + interval '24 hours'),
  constraint grants_revoked_with_reason check ((revoked_at is null) = (revocation_reason is null)),
  constraint grants_decision_is_review check (revoked_by_decision is null or revocation_reason = 'revoked_by_review')
)
-- A refresh updates the row: with free space on its page, the update is HOT and touches no index.
with (fillfactor = 80);

create index grants_user_id_created_at_idx on grants (user_id, created_at, id);
create index grants_live_of_account_idx on grants (account_id, created_at desc, id desc) where revoked_at is null;
-- Finds the grants of an application, also only the recent ones.
create index grants_application_id_created_at_idx on grants (application_id, created_at, id);
-- Counts the live grants of an application without reading their rows.
create index grants_live_of_application_idx on grants (application_id) where revoked_at is null;
-- Finds what ends with test mode.
create index grants_live_tests_idx on grants (application_id) where test_ends_at is not null and revoked_at is null;
create index grants_revoked_by_decision_idx on grants (revoked_by_decision) where revoked_by_decision is not null;
-- For the sweep, which purges revoked grants and old addresses in small batches. A refresh writes none of these columns,
-- so its update remains HOT.
create index grants_revoked_at_idx on grants (revoked_at) where revoked_at is not null;
create index grants_live_token_sets_idx on grants (created_at) where revoked_at is null and variant = 'token_set';
create index grants_with_address_idx on grants (created_at) where requested_from is not null;

-- Feed of grant changes, pulled by every process. Rows of one transaction become visible together, so a reader that
-- remembers the oldest transaction still running misses none (store/grants/changes.ts).
-- No foreign keys: rows may outlive the grants.
create table grant_changes (
  xid            xid8 not null default pg_current_xact_id(),
  at             timestamptz not null,
  grant_id       text,
  user_id        text,
  account_id     text,
  application_id text,
  constraint grant_changes_one_subject check (num_nonnulls(grant_id, user_id, account_id, application_id) = 1)
);

create index grant_changes_xid_idx on grant_changes (xid);
create index grant_changes_at_idx on grant_changes (at);

-- One authorization request in a browser. `expired` is not stored: an undecided dialog past its time is expired.
create table dialogs (
  id              uuid constraint dialogs_pkey primary key,
  created_at      timestamptz not null,
  expires_at      timestamptz not null,
  application_id  text not null constraint dialogs_application_id_fkey references applications,
  redirect_uri    text not null,
  scopes          text[] not null,
  -- Null: the request had no `state`.
  state           text,
  code_challenge  text constraint dialogs_code_challenge_check check (code_challenge ~ '^[A-Za-z0-9_-]{43}$'),
  -- Digest of the mark of the browser that opened a pushed request: no other browser can open it again.
  opened_in       text,
  decided_at      timestamptz,
  user_id         text constraint dialogs_user_id_fkey references users on delete cascade,
  -- Null although decided: rejected. No foreign key: a dialog is deleted after a day, usually long before its grant.
  grant_id        text constraint dialogs_grant_id_key unique,
  -- Lease of the exchange that is being answered.
  lease_id        uuid,
  leased_until    timestamptz,
  -- Digest of the Idempotency-Key of that exchange.
  idempotency_key text,
  used_at         timestamptz,
  constraint dialogs_decided_by_user check ((decided_at is null) = (user_id is null)),
  constraint dialogs_grant_is_decided check (grant_id is null or decided_at is not null),
  constraint dialogs_lease_complete check ((lease_id is null) = (leased_until is null)),
  constraint dialogs_key_with_lease check (idempotency_key is null or lease_id is not null),
  constraint dialogs_delivered_has_grant check ((lease_id is null and used_at is null) or grant_id is not null)
);

create index dialogs_expires_at_idx on dialogs (expires_at);
-- For the sweep: codes that were not exchanged.
create index dialogs_unexchanged_idx on dialogs (decided_at) where grant_id is not null and used_at is null;

-- ========== Links and mails ==========

-- Links sent by mail or printed by the command line. The token in the URL is computed from the id under a server key, so
-- neither this table nor the outbox holds it.
create table links (
  id            uuid constraint links_pkey primary key,
  -- No check constraint: a new kind needs no migration.
  kind          text not null,
  account_id    text not null constraint links_account_id_fkey references accounts,
  user_id       text not null constraint links_user_id_fkey references users on delete cascade,
  grant_id      text constraint links_grant_id_fkey references grants,
  -- That of the user when the link was created: a link of an earlier version was, or may have been, mailed to another address.
  -- Null: it is not mailed, or confirms nothing.
  email_version integer,
  created_at    timestamptz not null,
  expires_at    timestamptz not null,
  used_at       timestamptz,
  constraint links_remove_grant_has_grant check ((kind = 'remove_grant') = (grant_id is not null))
);

create index links_user_id_idx on links (user_id);
create index links_expires_at_idx on links (expires_at);
-- For purging grants: finds the links that refer to one.
create index links_grant_id_idx on links (grant_id) where grant_id is not null;

-- Outbox of mails: a mail is inserted in the transaction of its cause, and sent afterwards.
create table mails (
  id          bigint generated always as identity constraint mails_pkey primary key,
  -- No check constraint: a new kind needs no migration.
  kind        text not null,
  account_id  text not null constraint mails_account_id_fkey references accounts,
  user_id     text not null constraint mails_user_id_fkey references users on delete cascade,
  link_id     uuid constraint mails_link_id_fkey references links,
  language    text not null,
  detail      jsonb not null default '{}',
  created_at  timestamptz not null,
  due_at      timestamptz not null,
  attempts    integer not null default 0,
  sent_at     timestamptz,
  given_up_at timestamptz
);

create index mails_waiting_idx on mails (due_at) where sent_at is null and given_up_at is null;
create index mails_created_at_idx on mails (created_at);
create index mails_user_id_created_at_idx on mails (user_id, created_at);
create index mails_invitations_idx on mails (account_id, created_at) where kind = 'invitation';
create index mails_link_id_idx on mails (link_id);

-- ========== Device codes ==========

-- Partitioned by expiry, which the device code carries: a poll finds its partition, and old codes are dropped with theirs.
-- `expired` is not a stored status: a pending code past its time is expired.
-- No foreign keys: each would lock a row of the application or the user for every code, and partitions are dropped whole.
create table device_codes (
  id               uuid not null,
  expires_at       timestamptz not null,
  created_at       timestamptz not null,
  application_id   text not null,
  variant          text not null constraint device_codes_variant_check check (variant in ('token_set', 'access_key')),
  status           text not null
                   constraint device_codes_status_check check (status in ('pending', 'accepted', 'rejected', 'used')),
  entry_closed     boolean not null default false,
  -- Another user entered the claimed code: the user who decides is told. If it was a user of another account, the code is
  -- closed as well (entry_closed).
  also_entered     text constraint device_codes_also_entered_check check (also_entered in ('colleague', 'another_account')),
  -- The user of another account who closed the code by entering it.
  closed_by        text,
  -- The user code is not stored: it is computed from the id with this key, and found by its digest (secrets/user-code.ts).
  key_id           smallint not null,
  user_code_digits smallint not null constraint device_codes_user_code_digits_check check (user_code_digits between 9 and 15),
  user_code_digest bytea not null constraint device_codes_user_code_digest_check check (length(user_code_digest) = 16),
  scopes           text[] not null,
  state            text not null,
  -- Client address and self-description of the device, shown on the consent page.
  requested_from   inet,
  requested_with   text constraint device_codes_requested_with_check check (length(requested_with) <= 200),
  claimed_by       text,
  -- The `person` of the session in which the code was claimed.
  claimed_as       text,
  -- The colleague from whom the claimant took the code over, which is possible once per code.
  taken_from       text,
  -- Users of the same person in other accounts who claimed the code before.
  moved_from       text[] not null default '{}',
  decided_at       timestamptz,
  grant_id         text,
  lease_id         uuid,
  leased_until     timestamptz,
  outcome          text constraint device_codes_outcome_check check (outcome in ('accepted', 'rejected', 'expired')),
  idempotency_key  text,
  used_at          timestamptz,
  constraint device_codes_pkey primary key (id, expires_at),
  constraint device_codes_accepted_has_grant check (status <> 'accepted' or grant_id is not null),
  constraint device_codes_decided_by_claimant
    check (status not in ('accepted', 'rejected') or (claimed_by is not null and decided_at is not null)),
  constraint device_codes_lease_complete check ((lease_id is null) = (leased_until is null) and (lease_id is null) = (outcome is null)),
  constraint device_codes_used_has_outcome check ((status = 'used') = (used_at is not null) and (used_at is null or outcome is not null))
) partition by range (expires_at);

-- The index includes decided codes: entering one that exists is not a guess. PostgreSQL creates it on every attached partition.
create index device_codes_user_code_digest_idx on device_codes (user_code_digest);

-- This function and the next one create and drop the hourly partitions with the rights of the table's owner: the service may run
-- under a role that owns nothing (deploy/postgresql/service-role.sql). docs/history.md#0031
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

-- Returns false if the table was in use at every attempt. Detaching needs an exclusive lock on the parent; waiting for it would
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

-- The row is updated, and never inserted by the service.
insert into live_device_codes default values;

-- Attempts to enter a well-formed user code: found, unknown, or not available to this user (any more), which is no
-- guess.
create table code_entries (
  at                timestamptz not null,
  account_id        text not null constraint code_entries_account_id_fkey references accounts,
  user_id           text not null constraint code_entries_user_id_fkey references users on delete cascade,
  network           cidr,
  outcome           text not null constraint code_entries_outcome_check check (outcome in ('claimed', 'missed', 'known')),
  -- Of an open code that was entered: the limit of entered codes leaves out those that the user granted. No foreign keys, as in
  -- device_codes: rows are deleted after a day.
  device_code_id    uuid,
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

-- ========== Management keys ==========

-- Keys of the management API, with the scopes of that API.
create table management_keys (
  id                text constraint management_keys_pkey primary key
                    constraint management_keys_id_check check (id ~ '^mgk_[0-9a-z]{12}$'),
  -- Null: reaches the whole service.
  account_id        text constraint management_keys_account_id_fkey references accounts,
  label             text not null constraint management_keys_label_check check (length(label) between 1 and 60),
  scopes            text[] not null constraint management_keys_scopes_check check (cardinality(scopes) > 0),
  -- Keyed hashes of the secret, and of the one before it while that is still accepted.
  key_id            smallint not null,
  digest            bytea not null constraint management_keys_digest_key unique
                    constraint management_keys_digest_check check (length(digest) = 32),
  previous_key_id   smallint,
  previous_digest   bytea constraint management_keys_previous_digest_key unique
                    constraint management_keys_previous_digest_check check (length(previous_digest) = 32),
  previous_until    timestamptz,
  created_at        timestamptz not null,
  -- Id of the user who created it in a console, or the name of another actor.
  created_by        text not null,
  rotated_at        timestamptz,
  expires_at        timestamptz not null,
  -- From where it may be used. Empty: from everywhere.
  networks          cidr[] not null default '{}',
  -- Noted to the minute, with the network of that use.
  last_used_at      timestamptz,
  last_network      cidr,
  -- The newest hundred networks. Administrators are told of a new one by mail, for which the times are when the last one was
  -- added and when they were last told.
  used_networks     cidr[] not null default '{}',
  network_noted_at  timestamptz,
  network_mailed_at timestamptz,
  revoked_at        timestamptz,
  constraint management_keys_previous_complete check (num_nonnulls(previous_key_id, previous_digest, previous_until) in (0, 3))
);

create index management_keys_account_id_idx on management_keys (account_id, created_at, id);

-- Responses to requests with an Idempotency-Key, for a day: the repetition of a request gets the same one.
create table management_requests (
  management_key_id text not null constraint management_requests_management_key_id_fkey references management_keys,
  -- Digest of the Idempotency-Key.
  idempotency_key   text not null,
  -- Digest of method, path and body: another request with the same key is refused.
  fingerprint       text not null,
  -- Encrypted. Null only within the transaction that makes the change.
  response          bytea,
  response_key_id   smallint,
  created_at        timestamptz not null,
  constraint management_requests_pkey primary key (management_key_id, idempotency_key)
);

create index management_requests_created_at_idx on management_requests (created_at);

-- ========== Keys, processes and restores of the service ==========

-- Keys of LATCHKEY_KEYS that sign or signed; the keys themselves are not stored.
create table signing_keys (
  id             smallint constraint signing_keys_pkey primary key,
  -- Noted every few seconds by each process that signs with it; null: by none so far.
  last_signed_at timestamptz,
  -- From then on no process accepts anything that it signed.
  retired_at     timestamptz
);

-- Processes of the service that may have seen commits confirmed. One that ends removes its row with its last commit. Each says after a
-- promotion whether PostgreSQL has all that it saw.
-- docs/decisions/0062-lost-commits-are-proven.md
create table processes (
  id      uuid constraint processes_pkey primary key,
  -- As in restores: the newest history of PostgreSQL that has every commit which the process saw confirmed on earlier ones.
  history text not null,
  seen_at timestamptz not null
);

-- Restores of the database, and the history of PostgreSQL that the newest row found. A restore to a point in time, a
-- promoted standby and a restored dump begin another history.
-- docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md
create table restores (
  id          bigint generated always as identity constraint restores_pkey primary key,
  -- System identifier, timeline and number of the database.
  history     text not null,
  noticed_at  timestamptz not null,
  -- The last sign of life before: everything from then to noticed_at may be missing. Null: the first history.
  lost_since  timestamptz,
  -- Whether the revocation journal told what was missing.
  journalled  boolean not null,
  -- What was ended again, as counts.
  repeated    jsonb not null default '{}',
  -- Whether codes, dialogs and sessions of before were closed.
  closed      boolean not null default true,
  -- What an operator has to accept before the restore is finished, by name.
  to_accept   text[] not null default '{}',
  -- The lines of the journal that were dealt with: by process that wrote them, ranges of their numbers.
  settled     jsonb not null default '{}',
  -- Null: an operator has not dealt with it.
  finished_at timestamptz
);

-- Digests stand for values that the revocation journal may not have, such as addresses.
create function digest_of(value text) returns text language sql immutable
  return left(encode(sha256(convert_to(value, 'UTF8')), 'hex'), 32);

-- What a user, a role, an account, an application, an endpoint or a management key may do, as a set: what is missing in
-- a later set was taken away. Written to the revocation journal, so it has ids, names of scopes and digests, no addresses.
create function access_of(about text) returns text[] language plpgsql stable as $$
begin
  return case split_part(about, '_', 1)
    when 'usr' then array(
      select 'role:' || role_id from user_roles where user_id = about
      union all select 'permission:' || p from users u, unnest(u.permissions) p where u.id = about
      union all select 'passkey:' || digest_of(id) from passkeys where user_id = about
      union all select 'authenticator:' || id from authenticators where user_id = about)
    when 'rol' then array(
      select 'exists' from roles where id = about
      union all select 'scope:' || scope from role_scopes where role_id = about)
    when 'acc' then array(
      select unnest(array_remove(array[
          case when device_flow then 'device_flow' end,
          case when unverified_publishers then 'unverified_publishers' end,
          case when second_factor_required_at is null then 'without_second_factor' end,
          case when only_applications is null then 'every_application' end], null)
        || array(select 'application:' || a from unnest(only_applications) a))
      from accounts where id = about)
    when 'app' then array(
      select unnest(array_remove(array[
          case when device_flow then 'device_flow' end,
          case when not pkce_required then 'without_pkce' end,
          case when publisher_status <> 'unverified' then 'publisher:' || digest_of(publisher_status || ' ' || coalesce(publisher, '')) end], null)
        || array(select 'scope:' || s from unnest(allowed_scopes) s)
        || array(select 'redirect:' || digest_of(r) from unnest(redirect_uris) r))
      from applications where id = about)
    when 'whk' then array(select 'exists' from webhook_endpoints where id = about and disabled_at is null)
    when 'mgk' then array(
      select 'secret:' || extract(epoch from coalesce(rotated_at, created_at)) from management_keys
      where id = about and revoked_at is null)
  end;
end $$;

-- ========== Audit log ==========

-- The log is append-only and sealed, so that changed, removed or moved events are detected.
-- docs/decisions/0021-the-audit-log-is-sealed-after-the-fact.md

-- Events, never updated or deleted by the service. Partitioned by the month (UTC) of `at`, so that an old month can be
-- detached as a whole. No foreign keys: events outlive the rows that they name.
create sequence audit_event_ids;

create table audit_events (
  -- PostgreSQL 15 has no identity columns on partitioned tables.
  id             bigint not null default nextval('audit_event_ids'),
  -- Start of the transaction that inserted the event.
  at             timestamptz not null,
  -- No check constraint: a new kind needs no migration.
  kind           text not null,
  -- Actor and interface: core/audit/actor.ts.
  actor_kind     text not null
                 constraint audit_events_actor_kind_check check (actor_kind in ('user', 'operator', 'application', 'service', 'management_key', 'anonymous')),
  actor_id       text not null,
  via            text not null constraint audit_events_via_check check (via in ('web', 'api', 'cli', 'mail', 'job')),
  -- Subjects of the event.
  account_id     text,
  user_id        text,
  application_id text,
  grant_id       text,
  device_code_id uuid,
  detail         jsonb not null default '{}',
  -- Id of the request whose transaction inserted the event (store/postgres/postgres.ts); null: a job or the command line.
  request_id     text default nullif(current_setting('latchkey.request_id', true), '')
                 constraint audit_events_request_id_check check (length(request_id) <= 128),
  -- Only events of transactions older than every running one are sealed: nothing can be inserted before them any more.
  xid            xid8 not null default pg_current_xact_id(),
  constraint audit_events_pkey primary key (id, at)
) partition by range (at);

create index audit_events_application_id_at_idx on audit_events (application_id, at);
-- History of an application on the operators' page, without what its users do (store/reviews/reviewed-applications.ts).
create index audit_events_history_idx on audit_events (application_id, at, id)
  where kind like 'application.%' or kind like 'review.%' or kind in ('code.reported', 'credential.reported', 'code.crowd');
create index audit_events_actor_id_at_idx on audit_events (actor_id, at);
-- Recent reports against applications.
create index audit_events_reports_idx on audit_events (at)
  where kind in ('code.reported', 'application.reported', 'credential.reported', 'code.crowd');
-- In the order of sealing.
create index audit_events_xid_id_idx on audit_events (xid, id);
-- In the order of reading: per account, and all. Many events may have the same time.
create index audit_events_account_id_at_id_idx on audit_events (account_id, at, id);
create index audit_events_at_id_idx on audit_events (at, id);
create index audit_events_request_id_idx on audit_events (request_id) where request_id is not null;

-- Hash chain: one link per event, in the partition of the event's month. Each hash covers the previous one, which fixes
-- the order, and is keyed, so that write access to this table without a server key is not enough to forge one.
create table audit_seals (
  position bigint not null constraint audit_seals_position_check check (position > 0),
  -- No foreign key: removing an event is detected, not prevented.
  event_id bigint not null,
  -- Copied from the event: the link is in the partition of the same month.
  event_at timestamptz not null,
  -- Copied from the event: sealing continues after it, even if the event was removed.
  xid      xid8 not null,
  key_id   smallint not null,
  hash     bytea not null constraint audit_seals_hash_check check (length(hash) = 32),
  constraint audit_seals_pkey primary key (position, event_at),
  constraint audit_seals_event_id_event_at_key unique (event_id, event_at)
) partition by range (event_at);

-- Months that were detached from the log. Each row is signed and says where the remaining chain continues:
-- docs/history.md#0029
create table audit_detachments (
  month       text constraint audit_detachments_pkey primary key
              constraint audit_detachments_month_check check (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  -- Runs of the chain that left with the month: first and last position, hash before the first and of the last.
  runs        jsonb not null,
  key_id      smallint not null,
  mac         bytea not null constraint audit_detachments_mac_check check (length(mac) = 32),
  detached_at timestamptz not null default now()
);

create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  raise insufficient_privilege using
    message = format('permission denied: %s is append-only, %s is refused', tg_table_name, lower(tg_op)),
    hint = 'docs/operations/audit-log.md says how a month leaves the log.';
end $$;

-- The triggers are per statement: they reject a statement even if it matches no row.
create trigger append_only before update or delete or truncate on audit_events
  for each statement execute function refuse_audit_change();
create trigger append_only before update or delete or truncate on audit_seals
  for each statement execute function refuse_audit_change();
create trigger append_only before update or delete or truncate on audit_detachments
  for each statement execute function refuse_audit_change();

-- This function creates the monthly partitions with the rights of the owner: the service may run under a role that owns
-- nothing (deploy/postgresql/service-role.sql) and cannot drop the triggers. It skips existing partitions. Statement triggers of
-- a partitioned table do not fire for statements that name a partition, so each partition has its own; and only the owner has
-- rights on a partition, whatever the default privileges say: the service uses audit_events and audit_seals, where it cannot
-- choose an event's id and transaction.
create function make_audit_partitions(starts timestamptz) returns void
  language plpgsql security definer set search_path from current as $$
declare
  utc timestamp := starts at time zone 'UTC';
  ends timestamptz := (utc + interval '1 month') at time zone 'UTC';
  parent text;
  name text;
  grantee text;
begin
  if utc <> date_trunc('month', utc) then
    raise invalid_parameter_value using message = 'partitions of the audit log start with the month';
  end if;
  -- One process at a time (store/postgres/advisory-locks.ts).
  perform pg_advisory_xact_lock(hashtextextended('audit_partitions', 0));
  foreach parent in array '{audit_events,audit_seals}'::text[] loop
    name := parent || '_' || to_char(utc, 'YYYYMM');
    continue when to_regclass(format('%I', name)) is not null;
    execute format('create table %I (like %I including defaults including constraints)', name, parent);
    execute format('create trigger append_only before update or delete or truncate on %I
      for each statement execute function refuse_audit_change()', name);
    for grantee in select distinct case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end
      from pg_class c, aclexplode(c.relacl) a
      where c.oid = format('%I', name)::regclass and a.grantee <> c.relowner
    loop
      execute format('revoke all on %I from %s', name, grantee);
    end loop;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, starts, ends);
  end loop;
end $$;

revoke execute on function make_audit_partitions(timestamptz) from public;

-- The partitions of this month and the next two. From now on the service creates them, ahead of time.
select make_audit_partitions(date_trunc('month', now() + ahead * interval '1 month', 'UTC')) from generate_series(0, 2) ahead;
