create table latchkey_credentials (
  user_id     bigint primary key,
  credentials jsonb not null
);
