-- Expand: where a grant was made, of every new one; the trigger fills the column for versions that do not know it.

alter table grants add column origin text, add column noted_origin text;

create function set_grant_origin() returns trigger language plpgsql as $$
begin
  new.origin := case when new.device_code_id is null then 'dialog' else 'device' end;
  return new;
end $$;

create trigger grants_origin before insert on grants
  for each row when (new.origin is null) execute function set_grant_origin();

create table grant_notes (
  grant_id text constraint grant_notes_pkey primary key constraint grant_notes_grant_id_fkey references grants on delete cascade,
  note     text not null
);
