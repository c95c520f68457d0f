-- The developer console: an account looks after its own applications, and sees how they do.

alter table application_secrets
  -- What its owner calls it: a batch of devices, a server.
  add column label        text check (length(label) between 1 and 60),
  -- A day, not a moment: it is written once a day at most.
  add column last_used_on date;

alter table applications
  -- In test mode the application decides its own codes, as this user; nobody can enter them on a page.
  add column tested_as text references users on delete set null;

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
