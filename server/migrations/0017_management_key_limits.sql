-- What a management key may change, and from where it is used. docs/decisions/0049-management-keys.md

alter table management_keys
  -- Empty: from everywhere.
  add column networks cidr[] not null default '{}',
  -- Of the use that last_used_at is about.
  add column last_network cidr,
  -- The newest hundred, and when the last one was added and administrators were last told of one.
  add column used_networks cidr[] not null default '{}',
  add column network_noted_at timestamptz,
  add column network_mailed_at timestamptz;

-- Changes of e-mail addresses by a management key, until the old mailbox or an administrator confirms them.
create table address_changes (
  user_id      text constraint address_changes_pkey primary key
               constraint address_changes_user_id_fkey references users on delete cascade,
  account_id   text not null,
  email        text not null constraint address_changes_email_check check (email = lower(email)),
  -- Id of the management key.
  requested_by text not null,
  requested_at timestamptz not null,
  expires_at   timestamptz not null
);

create index address_changes_account_id_idx on address_changes (account_id, requested_at, user_id);
create index address_changes_expires_at_idx on address_changes (expires_at);

-- Somebody signed in as the user before: a management key may not give them another address at once.
alter table users add column was_reset boolean not null default false;

-- As in audit_events, a new kind needs no migration.
alter table links drop constraint links_kind_check;
alter table mails drop constraint mails_kind_check;
alter table refusal_counts drop constraint refusal_counts_kind_check;
