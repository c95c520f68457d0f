-- latchkey: no-transaction
alter table grants validate constraint grants_origin_present;
