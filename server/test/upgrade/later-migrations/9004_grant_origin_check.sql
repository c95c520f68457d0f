-- Checked for new rows from now on.
alter table grants add constraint grants_origin_present check (origin is not null) not valid;
