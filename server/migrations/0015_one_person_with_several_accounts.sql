-- The same person in several accounts, and colleagues who continue for each other.
-- docs/decisions/0009-a-second-account-closes-a-code.md

-- When the user used a link that was mailed to the address since it was last changed.
alter table users add column email_confirmed_at timestamptz;
-- Counts changes of the address.
alter table users add column email_version integer not null default 0;
-- Of the user when the link was created; null: it is not mailed, or confirms nothing. A link of an earlier version was, or may
-- have been, mailed to another address.
alter table links add column email_version integer;

-- Every change of the address, by whomever.
create function email_changed() returns trigger language plpgsql as $$
begin
  new.email_confirmed_at := null;
  new.email_version := old.email_version + 1;
  return new;
end $$;

create trigger users_email_changed before update on users for each row
  when (old.email is distinct from new.email) execute function email_changed();

-- Digest of the person as whom the user signed in; null: not known (core/sign-in/person.ts).
alter table sessions add column person text;

-- `person` of the session in which the code was claimed.
alter table device_codes add column claimed_as text;
-- The user of another account who closed the code by entering it.
alter table device_codes add column closed_by text;
-- The colleague from whom the claimant took the code over. Once per code.
alter table device_codes add column taken_from text;
-- Users of the same person in other accounts who claimed the code before.
alter table device_codes add column moved_from text[] not null default '{}';
