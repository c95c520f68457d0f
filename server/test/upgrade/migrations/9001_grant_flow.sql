-- Expand: the flow of every new grant. The trigger fills the column for processes that do not know it.
alter table grants add column flow text;

create function set_grant_flow() returns trigger language plpgsql as $$
begin
  new.flow := case when new.device_code_id is null then 'dialog' else 'device' end;
  return new;
end $$;

create trigger grants_flow before insert on grants
  for each row when (new.flow is null) execute function set_grant_flow();
