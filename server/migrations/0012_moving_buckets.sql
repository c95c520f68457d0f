-- Moves of buckets between cells. docs/decisions/0061-moving-a-bucket.md

-- Moves that have begun and are not finished, in the home cell, in the source and in the target.
create table bucket_moves (
  bucket     smallint constraint bucket_moves_pkey primary key,
  source     smallint not null,
  target     smallint not null,
  -- The target has everything. From now on the source refuses changes.
  moved      boolean not null default false,
  started_at timestamptz not null,
  constraint bucket_moves_elsewhere check (source <> target)
);

-- Trigger of the tables that move with a bucket, made by the first move in source and target: refuses a change while the
-- rows are being copied for the last time, and wherever the bucket is not. 55P03: try again later. The arguments say what
-- leads to the account: a kind of id, and the column that has it.
create function refuse_moving() returns trigger language plpgsql as $$
declare
  fields jsonb;
  key text;
  its_bucket smallint;
begin
  if current_setting('latchkey.moving', true) = 'on' or not exists (select from bucket_moves) then
    return case tg_op when 'DELETE' then old else new end;
  end if;
  -- Both, for a device code whose user releases it.
  fields := case tg_op
    when 'DELETE' then to_jsonb(old)
    when 'INSERT' then to_jsonb(new)
    else to_jsonb(old) || jsonb_strip_nulls(to_jsonb(new)) end;
  key := fields ->> tg_argv[1];
  its_bucket := case tg_argv[0]
    when 'bucket' then key::smallint
    when 'account' then (select bucket from accounts where id = key)
    when 'user' then (select a.bucket from users u join accounts a on a.id = u.account_id where u.id = key)
    when 'role' then (select a.bucket from roles r join accounts a on a.id = r.account_id where r.id = key)
    when 'management_key' then
      (select a.bucket from management_keys k join accounts a on a.id = k.account_id where k.id = key)
  end;
  if exists (select from bucket_moves where bucket = its_bucket) and (
    -- The move has the exclusive lock while it copies for the last time. Whoever has the shared one is waited for.
    not pg_try_advisory_xact_lock_shared(hashtextextended('bucket:' || its_bucket, 0))
    or exists (select from bucket_moves where bucket = its_bucket and moved)
    or exists (select from bucket_map m join this_cell t on m.cell <> t.cell where m.bucket = its_bucket)
  ) then
    raise lock_not_available using message = format('bucket %s is moving to another cell', its_bucket);
  end if;
  return case tg_op when 'DELETE' then old else new end;
end $$;
