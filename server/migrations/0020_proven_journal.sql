-- docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md

-- What an operator has to accept before the restore is finished, by name. The lines of the journal that were dealt with:
-- by process that wrote them, ranges of their numbers.
alter table restores
  add column to_accept text[] not null default '{}',
  add column settled jsonb not null default '{}';

create function digest_of(value text) returns text language sql immutable
  return left(encode(sha256(convert_to(value, 'UTF8')), 'hex'), 32);

-- What a user, a role, an account, an application, an endpoint or a management key may do, as a set: what is missing in
-- a later set was taken away. Written to the revocation journal, so it has ids, names of scopes and digests, no addresses.
create function access_of(about text) returns text[] language plpgsql stable as $$
begin
  return case split_part(about, '_', 1)
    when 'usr' then array(
      select 'role:' || role_id from user_roles where user_id = about
      union all select 'permission:' || p from users u, unnest(u.permissions) p where u.id = about
      union all select 'passkey:' || digest_of(id) from passkeys where user_id = about
      union all select 'authenticator:' || id from authenticators where user_id = about)
    when 'rol' then array(
      select 'exists' from roles where id = about
      union all select 'scope:' || scope from role_scopes where role_id = about)
    when 'acc' then array(
      select unnest(array_remove(array[
          case when device_flow then 'device_flow' end,
          case when unverified_publishers then 'unverified_publishers' end,
          case when second_factor_required_at is null then 'without_second_factor' end,
          case when only_applications is null then 'every_application' end], null)
        || array(select 'application:' || a from unnest(only_applications) a))
      from accounts where id = about)
    when 'app' then array(
      select unnest(array_remove(array[
          case when device_flow then 'device_flow' end,
          case when not pkce_required then 'without_pkce' end,
          case when publisher_status <> 'unverified' then 'publisher:' || digest_of(publisher_status || ' ' || coalesce(publisher, '')) end], null)
        || array(select 'scope:' || s from unnest(allowed_scopes) s)
        || array(select 'redirect:' || digest_of(r) from unnest(redirect_uris) r))
      from applications where id = about)
    when 'whk' then array(select 'exists' from webhook_endpoints where id = about and disabled_at is null)
    when 'mgk' then array(
      select 'secret:' || extract(epoch from coalesce(rotated_at, created_at)) from management_keys
      where id = about and revoked_at is null)
  end;
end $$;
