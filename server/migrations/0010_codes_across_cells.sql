-- A device code that was handed to the cell of the account whose user entered it.
-- docs/decisions/0060-cells-on-plain-postgresql.md
alter table device_codes
  -- The cell that has the row; this one is a marker and stays as it was when nobody had claimed the code. Null: here.
  add column handed_to smallint,
  -- The cell that issued it. Null: this one.
  add column issued_by smallint,
  -- Number of the last hand-over that this row knows. An older one, which arrives late, changes nothing.
  add column handovers integer not null default 0;
