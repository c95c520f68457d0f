-- Applications: settings, publishers, usage, and webhooks.

-- Every process caches all applications and pulls changes: `change_number` increases with every write, under an advisory
-- lock, so that a reader that has seen n has seen all changes up to n.
create sequence application_changes;

create table applications (
  id                      text constraint applications_pkey primary key
                          constraint applications_id_check check (id ~ '^app_[0-9a-z]{12}$'),
  account_id              text not null constraint applications_account_id_fkey references accounts,
  name                    text not null constraint applications_name_check check (length(name) between 1 and 100),
  -- PNG, re-encoded by the service.
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
