-- A bucket that arrives in a cell while the grants of an application are revoked.
-- docs/decisions/0061-moving-a-bucket.md

-- In the target, from the moment before the last copy until the map names it: what ends all grants of an application waits
-- in this cell, because the source may not do it any more. Before, the source does it to its rows, which are copied again.
alter table bucket_moves add column arriving boolean not null default false;
