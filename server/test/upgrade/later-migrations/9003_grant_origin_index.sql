-- latchkey: no-transaction
drop index concurrently if exists grants_application_id_origin_idx;
create index concurrently grants_application_id_origin_idx on grants (application_id, origin);
