-- Limits and overload.

-- Minutes in which the service turned requests away because it was too busy. What applications did then says nothing about them.
create table overloads (
  minute timestamptz primary key,
  shed   bigint not null
);
