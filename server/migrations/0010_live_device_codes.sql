-- How many codes were live when somebody last counted: one process counts, all of them read it (store/device/live-codes.ts).
create table live_device_codes (
  only_row   boolean not null default true,
  -- Null until the first count.
  codes      bigint,
  counted_at timestamptz,
  constraint live_device_codes_pkey primary key (only_row),
  constraint live_device_codes_one_row check (only_row),
  constraint live_device_codes_counted check ((codes is null) = (counted_at is null))
);

insert into live_device_codes default values;
