-- Management keys, and the requests that they repeat.

create table management_keys (
  id              text constraint management_keys_pkey primary key
                  constraint management_keys_id_check check (id ~ '^mgk_[0-9a-z]{12}$'),
  -- Null: reaches the whole service.
  account_id      text constraint management_keys_account_id_fkey references accounts,
  label           text not null constraint management_keys_label_check check (length(label) between 1 and 60),
  scopes          text[] not null constraint management_keys_scopes_check check (cardinality(scopes) > 0),
  -- Keyed hashes of the secret, and of the one before it while that is still accepted.
  key_id          smallint not null,
  digest          bytea not null constraint management_keys_digest_key unique
                  constraint management_keys_digest_check check (length(digest) = 32),
  previous_key_id smallint,
  previous_digest bytea constraint management_keys_previous_digest_key unique
                  constraint management_keys_previous_digest_check check (length(previous_digest) = 32),
  previous_until  timestamptz,
  created_at      timestamptz not null,
  -- Id of the user who created it in a console, or the name of another actor.
  created_by      text not null,
  rotated_at      timestamptz,
  expires_at      timestamptz not null,
  -- To the minute.
  last_used_at    timestamptz,
  revoked_at      timestamptz,
  constraint management_keys_previous_complete check (num_nonnulls(previous_key_id, previous_digest, previous_until) in (0, 3))
);

create index management_keys_account_id_idx on management_keys (account_id, created_at, id);

-- Responses to requests with an Idempotency-Key, for a day: the repetition of a request gets the same one.
create table management_requests (
  management_key_id text not null constraint management_requests_management_key_id_fkey references management_keys,
  -- Digest of the Idempotency-Key.
  idempotency_key   text not null,
  -- Digest of method, path and body: another request with the same key is refused.
  fingerprint       text not null,
  -- Encrypted. Null only within the transaction that makes the change.
  response          bytea,
  response_key_id   smallint,
  created_at        timestamptz not null,
  constraint management_requests_pkey primary key (management_key_id, idempotency_key)
);

create index management_requests_created_at_idx on management_requests (created_at);
