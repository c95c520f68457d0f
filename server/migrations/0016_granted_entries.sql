-- The limit of entered codes leaves out those that the user granted.

-- Of an open code that was entered; null in rows of versions that did not note it, which count as before.
alter table code_entries add column device_code_id uuid;
