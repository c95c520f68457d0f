-- latchkey: no-transaction
-- squawk-disable-assume-in-transaction
drop index concurrently if exists grants_application_id_flow_idx;
-- An interrupted run leaves an index that is not valid, which "if not exists" would accept.
-- squawk-ignore prefer-robust-stmts
create index concurrently grants_application_id_flow_idx on grants (application_id, flow);
