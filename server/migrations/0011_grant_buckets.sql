-- Bucket of the account, as the credentials of the grant carry it.
alter table grants add column bucket smallint not null default 0;
