-- A table that is large enough for an index on it to take a while.
create table visits (
  id   bigint generated always as identity primary key,
  page text not null
);

insert into visits (page) select md5(n::text) from generate_series(1, 50000) as n;
