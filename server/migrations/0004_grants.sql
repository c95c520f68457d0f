-- Grants, dialogs, links and mails.

create table grants (
  id                  text constraint grants_pkey primary key constraint grants_id_check check (id ~ '^grt_[0-9a-z]{20}$'),
  -- Finds the grant of a credential. Never shown: pages, logs and webhooks use the id.
  secret              uuid not null constraint grants_secret_key unique,
  account_id          text not null constraint grants_account_id_fkey references accounts,
  user_id             text not null constraint grants_user_id_fkey references users,
  application_id      text not null constraint grants_application_id_fkey references applications,
  variant             text not null constraint grants_variant_check check (variant in ('token_set', 'access_key')),
  scopes              text[] not null,
  -- One code or dialog leads to one grant: these constraints hold even if the state machine has a bug. No foreign keys:
  -- codes are dropped with their partition and dialogs are deleted after a day, while the grant stays.
  device_code_id      uuid constraint grants_device_code_id_key unique,
  dialog_id           uuid constraint grants_dialog_id_key unique,
  -- Granted in test mode: when it ends at the latest. Null: granted by a person.
  test_ends_at        timestamptz,
  -- Client address of the application's request.
  requested_from      inet,
  -- The user had granted the application nothing before. Two grants made at the same time may both be.
  first_of_user       boolean not null default false,
  key_id              smallint not null,
  -- Signed the credentials before that; some of them are valid for a while after the change.
  previous_key_id     smallint,
  key_changed_at      timestamptz,
  generation          integer not null default 1,
  -- Newest generation whose access token was accepted: its refresh answer has arrived. The first needs no such proof.
  used_generation     integer not null default 1,
  key_generation      integer not null default 1,
  -- When the access key was last rotated; its predecessor is valid for a while.
  key_rotated_at      timestamptz,
  created_at          timestamptz not null,
  issued_at           timestamptz,
  -- A date, so that it is written at most once a day.
  last_used_on        date,
  revoked_at          timestamptz,
  revocation_reason   text constraint grants_revocation_reason_check check (revocation_reason in (
    'account_closed', 'application_deleted', 'application_suspended', 'authorization_code_refused', 'authorization_code_reused',
    'credential_reported', 'key_retired', 'never_collected', 'password_changed', 'refresh_token_reused',
    'removed_by_administrator', 'removed_by_operator', 'removed_by_user', 'revoked_by_application', 'revoked_by_review', 'test_mode_ended',
    'user_disabled', 'user_erased', 'user_reset')),
  -- Revoked by this decision; a later one can restore it.
  revoked_by_decision text constraint grants_revoked_by_decision_fkey references review_decisions,
  constraint grants_key_change_complete check ((key_changed_at is null) = (previous_key_id is null)),
  constraint grants_one_origin check ((device_code_id is null) <> (dialog_id is null)),
  constraint grants_test_a_day_at_most check (test_ends_at <= created_at + interval '24 hours'),
  constraint grants_revoked_with_reason check ((revoked_at is null) = (revocation_reason is null)),
  constraint grants_decision_is_review check (revoked_by_decision is null or revocation_reason = 'revoked_by_review')
)
-- A refresh updates the row: with free space on its page, the update is HOT and touches no index.
with (fillfactor = 80);

create index grants_user_id_created_at_idx on grants (user_id, created_at, id);
create index grants_live_of_account_idx on grants (account_id, created_at desc, id desc) where revoked_at is null;
-- Grants of an application, also the recent ones.
create index grants_application_id_created_at_idx on grants (application_id, created_at, id);
-- Counts the live grants of an application without reading their rows.
create index grants_live_of_application_idx on grants (application_id) where revoked_at is null;
-- What ends with test mode.
create index grants_live_tests_idx on grants (application_id) where test_ends_at is not null and revoked_at is null;
create index grants_revoked_by_decision_idx on grants (revoked_by_decision) where revoked_by_decision is not null;
-- For the sweep, which purges revoked grants and old addresses in small batches. A refresh writes none of these columns,
-- so its update remains HOT.
create index grants_revoked_at_idx on grants (revoked_at) where revoked_at is not null;
create index grants_live_token_sets_idx on grants (created_at) where revoked_at is null and variant = 'token_set';
create index grants_with_address_idx on grants (created_at) where requested_from is not null;

-- Feed of grant changes, pulled by every process. Rows of one transaction become visible together, so a reader that
-- remembers the oldest transaction still running misses none (store/grants/changes.ts).
-- No foreign keys: rows may outlive the grants.
create table grant_changes (
  xid            xid8 not null default pg_current_xact_id(),
  at             timestamptz not null,
  grant_id       text,
  user_id        text,
  account_id     text,
  application_id text,
  constraint grant_changes_one_subject check (num_nonnulls(grant_id, user_id, account_id, application_id) = 1)
);

create index grant_changes_xid_idx on grant_changes (xid);
create index grant_changes_at_idx on grant_changes (at);

-- One authorization request in a browser. `expired` is not stored: an undecided dialog past its time is expired.
create table dialogs (
  id             uuid constraint dialogs_pkey primary key,
  created_at     timestamptz not null,
  expires_at     timestamptz not null,
  application_id text not null constraint dialogs_application_id_fkey references applications,
  redirect_uri   text not null,
  scopes         text[] not null,
  -- Null: the request had no `state`.
  state          text,
  code_challenge text constraint dialogs_code_challenge_check check (code_challenge ~ '^[A-Za-z0-9_-]{43}$'),
  -- Digest of the mark of the browser that opened a pushed request: no other browser can open it again.
  opened_in      text,
  decided_at     timestamptz,
  user_id        text constraint dialogs_user_id_fkey references users on delete cascade,
  -- Null although decided: rejected. No foreign key: a dialog is deleted after a day, usually long before its grant.
  grant_id       text constraint dialogs_grant_id_key unique,
  -- Lease of the exchange that is being answered.
  lease_id       uuid,
  leased_until   timestamptz,
  -- Digest of the Idempotency-Key of that exchange.
  idempotency_key text,
  used_at        timestamptz,
  constraint dialogs_decided_by_user check ((decided_at is null) = (user_id is null)),
  constraint dialogs_grant_is_decided check (grant_id is null or decided_at is not null),
  constraint dialogs_lease_complete check ((lease_id is null) = (leased_until is null)),
  constraint dialogs_key_with_lease check (idempotency_key is null or lease_id is not null),
  constraint dialogs_delivered_has_grant check ((lease_id is null and used_at is null) or grant_id is not null)
);

create index dialogs_expires_at_idx on dialogs (expires_at);
-- For the sweep: codes that were not exchanged.
create index dialogs_unexchanged_idx on dialogs (decided_at) where grant_id is not null and used_at is null;

-- Links sent by mail or printed by the command line. The token in the URL is computed from the id under a server key, so
-- neither this table nor the outbox holds it.
create table links (
  id         uuid constraint links_pkey primary key,
  kind       text not null constraint links_kind_check check (kind in ('setup', 'invitation', 'recovery', 'sign_in', 'remove_grant')),
  account_id text not null constraint links_account_id_fkey references accounts,
  user_id    text not null constraint links_user_id_fkey references users on delete cascade,
  grant_id   text constraint links_grant_id_fkey references grants,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at    timestamptz,
  constraint links_remove_grant_has_grant check ((kind = 'remove_grant') = (grant_id is not null))
);

create index links_user_id_idx on links (user_id);
create index links_expires_at_idx on links (expires_at);
-- For purging grants: finds the links that refer to one.
create index links_grant_id_idx on links (grant_id) where grant_id is not null;

-- Outbox of mails: a mail is inserted in the transaction of its cause, and sent afterwards.
create table mails (
  id          bigint generated always as identity constraint mails_pkey primary key,
  kind        text not null constraint mails_kind_check check (kind in (
    'invitation', 'recovery', 'reset', 'grant_created', 'grants_created', 'password_changed', 'sign_in_method_added',
    'sign_in_method_removed', 'grant_ended', 'many_codes', 'publisher_record',
    'application_review', 'suspensions_waiting', 'sign_in', 'sign_in_locked', 'credentials_to_renew',
    'authenticator_to_renew', 'operator_change', 'second_decision', 'recovery_codes_created', 'recovery_code_used',
    'recovery_codes_to_renew')),
  account_id  text not null constraint mails_account_id_fkey references accounts,
  user_id     text not null constraint mails_user_id_fkey references users on delete cascade,
  link_id     uuid constraint mails_link_id_fkey references links,
  language    text not null,
  detail      jsonb not null default '{}',
  created_at  timestamptz not null,
  due_at      timestamptz not null,
  attempts    integer not null default 0,
  sent_at     timestamptz,
  given_up_at timestamptz
);

create index mails_waiting_idx on mails (due_at) where sent_at is null and given_up_at is null;
create index mails_created_at_idx on mails (created_at);
create index mails_user_id_created_at_idx on mails (user_id, created_at);
create index mails_invitations_idx on mails (account_id, created_at) where kind = 'invitation';
create index mails_link_id_idx on mails (link_id);
