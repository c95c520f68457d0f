-- Evidence of applications that poll too fast, the rule that judges it, and what people decided about it.

alter table applications
  -- A review may ask for more patience than the configuration does. Null: as configured.
  add column poll_interval_seconds integer check (poll_interval_seconds between 1 and 300);

-- An application's grants, and those of its last half hour.
create index on grants (application_id, created_at);
drop index grants_application_id_idx;

-- What people said against applications lately.
create index audit_events_reports on audit_events (at) where kind in ('code.reported', 'application.reported', 'credential.reported', 'code.crowd');

-- How often a code was polled too early and told so, for codes that were. Alone it says nothing: whether it counts depends on who
-- granted the code later.
create table early_polls (
  device_code_id uuid primary key,
  application_id text not null references applications,
  polls          integer not null check (polls > 0),
  last_at        timestamptz not null
);

create index on early_polls (last_at);

-- Minutes in which this service itself had too much to do: what polled too early then is not held against anybody.
create table overloads (
  minute timestamptz primary key,
  shed   bigint not null
);

-- The same counts as application_hours in steps of five minutes, for the last two days.
create table application_minutes (
  application_id text not null references applications,
  at             timestamptz not null,
  polls          bigint not null default 0,
  early_polls    bigint not null default 0,
  primary key (application_id, at)
);

create index on application_minutes (at);

-- Thresholds are data, and every one that ever held stays. Without a row, those of core/reviews/suspension.ts hold as version 0.
create table suspension_rules (
  version    integer generated always as identity primary key,
  thresholds jsonb not null,
  -- Judged and written down, but nothing happens to anybody.
  dry_run    boolean not null,
  created_at timestamptz not null,
  created_by text not null references users
);

create type review_reason as enum ('polling', 'reports', 'operator');
create type review_verdict as enum ('fine', 'observe', 'warn', 'review', 'suspend');

create table reviews (
  id                 text primary key check (id ~ '^rev_[0-9a-z]{12}$'),
  application_id     text not null references applications,
  opened_at          timestamptz not null,
  reason             review_reason not null,
  verdict            review_verdict not null,
  harm               double precision not null,
  evidence           jsonb not null,
  judged_at          timestamptz not null,
  rule_version       integer not null,
  dry_run            boolean not null,
  -- The last time that the evidence gave rise to more than watching: one that stays calm is closed by itself.
  last_escalated_at         timestamptz not null,
  warned_at          timestamptz,
  -- Suspended by the rule; and when it is reinstated without a person's decision, null where it waits for one.
  suspended_at       timestamptz,
  suspension_ends_at timestamptz,
  appealed_at        timestamptz,
  appealed_by        text references users,
  appeal             text check (length(appeal) between 1 and 2000),
  closed_at          timestamptz,
  -- Rises with everything that somebody who decides should have seen.
  version            integer not null default 1,
  check ((appealed_at is null) = (appeal is null) and (appealed_at is null) = (appealed_by is null)),
  check (suspension_ends_at is null or (suspended_at is not null and closed_at is null))
);

create unique index on reviews (application_id) where closed_at is null;
create index on reviews (application_id, opened_at);
create index on reviews (closed_at);

create type review_decision as enum ('reinstate', 'reinstate_slower', 'keep', 'keep_and_revoke');

create table review_decisions (
  id               text primary key check (id ~ '^dec_[0-9a-z]{12}$'),
  review_id        text not null references reviews,
  at               timestamptz not null,
  by               text not null references users,
  decision         review_decision not null,
  reason           text not null,
  words            text not null check (length(words) between 1 and 2000),
  interval_seconds integer check (interval_seconds between 1 and 300),
  needs_second     boolean not null,
  confirmed_by     text references users check (confirmed_by <> by),
  confirmed_at     timestamptz,
  undone_by        text references users,
  undone_at        timestamptz,
  revoked          integer not null default 0,
  -- Null while it waits for a second operator. Then also: how the application stood before.
  took_effect_at   timestamptz,
  before           jsonb,
  -- What it was decided on (flows/reviews/decide.ts), to tell a second operator whether that still holds.
  seen             text not null,
  check ((decision = 'reinstate_slower') = (interval_seconds is not null)),
  check ((confirmed_at is null) = (confirmed_by is null) and (undone_at is null) = (undone_by is null)),
  check (needs_second or confirmed_by is null),
  check ((took_effect_at is null) = (before is null)),
  check (took_effect_at is null or not needs_second or confirmed_at is not null)
);

create index on review_decisions (review_id, at);
-- A review waits for one second operator at a time.
create unique index on review_decisions (review_id) where took_effect_at is null and undone_at is null;

alter table grants
  -- Revoked by this decision, and restored if it is undone.
  add column revoked_by_decision text references review_decisions,
  add check (revoked_by_decision is null or revocation_reason = 'revoked_by_review');

create index on grants (revoked_by_decision) where revoked_by_decision is not null;
