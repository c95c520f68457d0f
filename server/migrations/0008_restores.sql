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
  -- Null: an operator has not dealt with it.
  finished_at timestamptz
);
