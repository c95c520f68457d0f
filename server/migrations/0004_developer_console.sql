-- The developer console: an account looks after its own applications, and sees how they do.

alter table application_secrets
  -- What its owner calls it: a batch of devices, a server.
  add column label        text check (length(label) between 1 and 60),
  -- A day, not a moment: it is written once a day at most.
  add column last_used_on date;

alter table applications
  -- In test mode the application decides its own codes, as this user; nobody can enter them on a page.
  add column tested_as text references users on delete set null,
  -- A PNG that this service wrote itself.
  add column logo         bytea check (length(logo) <= 262144),
  -- Changes with the picture, so that a browser may keep it. Random: whoever draws it must not be able to choose it.
  add column logo_version text check (logo_version ~ '^[0-9a-f]{12}$'),
  -- When somebody first vouched for its publisher. From then on its name and logo change only with a second look.
  add column vouched_at   timestamptz,
  -- When the publisher's record was last seen in DNS. Null where nobody looks for one: then it is the operator's word.
  add column publisher_proven_at     timestamptz,
  -- Since when, in a row, it has not been there.
  add column publisher_missing_since timestamptz,
  add column publisher_checked_at    timestamptz,
  add check ((logo is null) = (logo_version is null)),
  add check (publisher_proven_at is null or publisher_status = 'verified'),
  add check ((publisher_proven_at is null) = (publisher_checked_at is null)),
  add check (publisher_missing_since is null or publisher_proven_at is not null);

update applications set vouched_at = now() where publisher_status <> 'unverified';

create index on applications (publisher_checked_at) where publisher_checked_at is not null;
-- Whose names nobody else may resemble.
create index on applications (account_id) where publisher_status <> 'unverified' and deleted_at is null;

-- What an application that somebody vouched for wants to look like, until an operator has seen it.
create sequence application_proposal_versions;

create table application_proposals (
  application_id   text primary key references applications,
  -- Another with every change, and none ever again: what is accepted is what was looked at.
  version          bigint not null,
  name             text not null check (length(name) between 1 and 100),
  logo             bytea check (length(logo) <= 262144),
  logo_version     text check (logo_version ~ '^[0-9a-f]{12}$'),
  proposed_at      timestamptz not null,
  proposed_by      text references users on delete set null,
  -- It was looked at, and is kept for whoever proposed it to read why not.
  declined_at      timestamptz,
  declined_reason text check (length(declined_reason) between 1 and 500),
  check ((logo is null) = (logo_version is null)),
  check ((declined_at is null) = (declined_reason is null))
);

create index on application_proposals (proposed_at) where declined_at is null;

-- Somebody pressed "Check now": a question to name servers, at a stranger's word.
create table publisher_checks (
  at             timestamptz not null,
  account_id     text not null references accounts,
  application_id text not null references applications
);

create index on publisher_checks (account_id, at);
create index on publisher_checks (at);

-- Counted in process and added up here every few seconds: how an application asks and polls, hour by hour.
create table application_hours (
  application_id text not null references applications,
  hour           timestamptz not null,
  requested      bigint not null default 0,
  polls          bigint not null default 0,
  early_polls    bigint not null default 0,
  -- Requests whose secret stood in the address, where proxies write it down.
  secrets_in_url bigint not null default 0,
  primary key (application_id, hour)
);

create index on application_hours (hour);

-- The last requests of an application, the newest fifty: for the developer who asks what they did wrong. Anybody can send
-- requests in an application's name, so those that did not prove to be its own have less room.
create table application_requests (
  id             bigint generated always as identity primary key,
  application_id text not null references applications,
  at             timestamptz not null,
  authenticated  boolean not null,
  operation      text not null,
  -- Null: it was answered as it should be.
  refusal        text,
  message        text check (length(message) <= 300)
);

create index on application_requests (application_id, authenticated, id desc);
