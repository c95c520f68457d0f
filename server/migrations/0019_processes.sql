-- Processes of the service that may have seen commits confirmed. One that ends removes its row with its last commit. Each says after a
-- promotion whether PostgreSQL has all that it saw.
-- docs/decisions/0062-lost-commits-are-proven.md
create table processes (
  id      uuid constraint processes_pkey primary key,
  -- As in restores: the newest history of PostgreSQL that has every commit which the process saw confirmed on earlier ones.
  history text not null,
  seen_at timestamptz not null
);

-- Whether codes, dialogs and sessions of before were closed. Of older restores it is not known, and they are long over.
alter table restores add column closed boolean not null default true;
