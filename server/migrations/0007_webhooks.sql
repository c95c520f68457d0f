-- Webhooks: an application hears of what happens to its grants and to itself, signed, until it has answered.

alter table grants
  -- Made in test mode, as the user that its application is tested as.
  add column test boolean not null default false;

create table webhook_endpoints (
  id              text primary key,
  application_id  text not null references applications,
  url             text not null check (length(url) <= 2000),
  -- The signing secret is computed from the id and these two under a server key, so this table does not hold it.
  key_id          smallint not null,
  generation      integer not null default 1 check (generation > 0),
  -- For a day after a rotation the secret before it signs as well.
  rotated_at      timestamptz,
  previous_key_id smallint,
  -- Its last answer took long, or there was none yet: then it waits among its like, and keeps nobody else waiting.
  slow            boolean not null default true,
  created_at      timestamptz not null,
  disabled_at     timestamptz,
  -- `gone`: it answered 410.
  disabled_why    text check (disabled_why in ('removed', 'gone')),
  check ((rotated_at is null) = (previous_key_id is null)),
  check ((disabled_at is null) = (disabled_why is null))
);

create index on webhook_endpoints (application_id);

-- The outbox: a delivery is written down in the transaction that gives rise to it, and sent afterwards.
create table webhook_deliveries (
  id           bigint generated always as identity primary key,
  endpoint_id  text not null references webhook_endpoints,
  -- The same for every attempt, and for every endpoint that hears of the event.
  event_id     uuid not null,
  kind         text not null,
  -- Ids and facts, as they were when it happened. Never a secret.
  data         jsonb not null,
  created_at   timestamptz not null,
  -- While it is being sent: when it is due again if the process that sends it dies.
  due_at       timestamptz not null,
  -- Attempts that came to an end.
  attempts     integer not null default 0,
  tried_at     timestamptz,
  delivered_at timestamptz,
  given_up_at  timestamptz,
  last_status  smallint,
  last_error   text,
  last_took_ms integer
);

create index on webhook_deliveries (endpoint_id, due_at) where delivered_at is null and given_up_at is null;
create index on webhook_deliveries (endpoint_id, id desc);
create index on webhook_deliveries (created_at);
