-- Cells: several databases that together are one installation, and which of them has what. Empty in an installation that
-- is not divided. docs/decisions/0060-cells-on-plain-postgresql.md

-- Version of the four tables below. Every change of them increments it in the same transaction, so that processes read
-- them again only then.
create table cell_map (
  only_row boolean not null default true,
  version  bigint not null,
  constraint cell_map_pkey primary key (only_row),
  constraint cell_map_one_row check (only_row)
);

create table cells (
  id         smallint constraint cells_pkey primary key constraint cells_id_check check (id between 0 and 99),
  name       text not null constraint cells_name_key unique
             constraint cells_name_check check (name ~ '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$'),
  -- Where its processes answer other cells.
  address    text not null constraint cells_address_check check (length(address) between 1 and 300),
  -- The cell in which these tables, scopes, applications and publishers are changed; the others have copies.
  home       boolean not null default false,
  created_at timestamptz not null
);

create unique index cells_one_home_idx on cells (home) where home;

-- The cell of each bucket of accounts: the unit that moves. 0 to 4095 are computed from the slug; each above has one large
-- account.
create table bucket_map (
  bucket  smallint constraint bucket_map_pkey primary key
          constraint bucket_map_bucket_check check (bucket >= 0),
  cell    smallint not null constraint bucket_map_cell_fkey references cells,
  -- Of the map, when the row was changed last.
  version bigint not null,
  state   text not null default 'settled' constraint bucket_map_state_check check (state in ('settled', 'moving'))
);

-- The cell that issues user codes beginning with these two digits. For a code lifetime after a change, live codes of the
-- previous cell begin with them, too.
create table code_prefixes (
  prefix        text constraint code_prefixes_pkey primary key
                constraint code_prefixes_prefix_check check (prefix ~ '^[0-9]{2}$'),
  cell          smallint not null constraint code_prefixes_cell_fkey references cells,
  previous_cell smallint constraint code_prefixes_previous_cell_fkey references cells,
  changed_at    timestamptz not null
);

-- Accounts whose bucket is not computed from their slug: those older than the cells, and large ones with a bucket of
-- their own. No foreign key: the account may be in another cell.
create table account_buckets (
  slug   text constraint account_buckets_pkey primary key,
  bucket smallint not null constraint account_buckets_bucket_check check (bucket >= 0)
);

-- Which cell this database is: not copied to others. No foreign key: the copy of `cells` arrives later.
create table this_cell (
  only_row boolean not null default true,
  cell     smallint not null,
  constraint this_cell_pkey primary key (only_row),
  constraint this_cell_one_row check (only_row)
);

-- Trigger of the tables that only the home cell changes, in every other cell. Replication does not call it.
create function refuse_outside_home() returns trigger language plpgsql as $$
begin
  raise object_not_in_prerequisite_state using
    message = format('%s is changed in the home cell only: %s', tg_table_name,
      (select format('cell %s, %s', id, name) from cells where home));
end $$;

-- `publisher`: registered an application. Publishers are in the home cell, and copied to the others.
alter table accounts
  add column bucket smallint not null default 0,
  add column publisher boolean not null default false;
