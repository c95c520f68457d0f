/** Revokes credentials that a retired key signed, in batches, so that locks are short; notifies their owners before. */
import type { Actor } from '../../core/audit/actor.ts'
import { ADMINISTRATOR } from '../accounts/users.ts'
import { recordAll } from '../audit/events.ts'
import { announceGrants } from '../grants/changes.ts'
import { chooseGrants } from '../grants/grants.ts'
import { lockByName } from '../postgres/advisory-locks.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

const BATCH = 1_000

/** Of those with ids above `after`, in order. Returns the last id looked at; null: none is left. */
export async function revokeGrantsOfKey(
  tx: Transaction,
  actor: Actor,
  keyId: number,
  after: string,
): Promise<string | null> {
  const { rows } = await tx.query<{ last: string | null; ids: string[] }>(
    `with few as (
       select id from grants where key_id = $1 and revoked_at is null and id > $5 order by id limit ${BATCH}),
     ${chooseGrants('g.id in (select id from few) and g.revoked_at is null')},
     revoked as (
       update grants g set revoked_at = now(), revocation_reason = 'key_retired'
       from chosen where g.id = chosen.id
       returning g.id, g.account_id, g.user_id, g.application_id),
     ${recordAll(`select now(), 'grant.revoked', $2::text, $3::text, $4::text, account_id, user_id, application_id, id, null::uuid,
       jsonb_build_object('reason', 'key_retired') from revoked`)}
     select (select max(id) from few) as last, array(select grant_id from recorded) as ids`,
    [keyId, actor.kind, actor.id, actor.via, after],
  )
  await announceGrants(tx, rows[0]?.ids ?? [])
  return rows[0]?.last ?? null
}

/** Returns how many; 0: none is left. */
export async function revokeSecretsOfKey(tx: Transaction, actor: Actor, keyId: number): Promise<number> {
  await lockByName(tx, 'application_changes')
  const { rows } = await tx.query<{ revoked: number }>(
    `with revoked as (
       update application_secrets set revoked_at = now() where id in (
         select id from application_secrets where key_id = $1 and revoked_at is null order by id limit ${BATCH})
       returning id, application_id),
     changed as (
       update applications set change_number = nextval('application_changes')
       where id in (select application_id from revoked) returning id, account_id),
     ${recordAll(`select now(), 'application.secret_revoked', $2::text, $3::text, $4::text, c.account_id, null::text, c.id, null::text,
       null::uuid, jsonb_build_object('secret', r.id) from revoked r join changed c on c.id = r.application_id`)}
     select count(*) as revoked from revoked`,
    [keyId, actor.kind, actor.id, actor.via],
  )
  return rows[0]?.revoked ?? 0
}

/** There are few of them. */
export async function revokeManagementKeysOfKey(tx: Transaction, actor: Actor, keyId: number): Promise<void> {
  await tx.query(
    `with revoked as (
       update management_keys set revoked_at = now() where key_id = $1 and revoked_at is null returning id, account_id),
     ${recordAll(`select now(), 'management_key.revoked', $2::text, $3::text, $4::text, account_id, null::text, null::text,
       null::text, null::uuid, jsonb_build_object('managementKey', id) from revoked`)}
     select`,
    [keyId, actor.kind, actor.id, actor.via],
  )
}

export async function deleteSessionsOfKey(db: Queryable, keyId: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from sessions where id in (select id from sessions where key_id = $1 limit ${BATCH})`,
    [keyId],
  )
  return rowCount ?? 0
}

/** Returns how many; 0: none is left. Their users still have the second factor that the codes replace. */
export async function deleteRecoveryCodesOfKey(db: Queryable, keyId: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from recovery_codes where (user_id, digest) in (
       select user_id, digest from recovery_codes where key_id = $1 limit ${BATCH})`,
    [keyId],
  )
  return rowCount ?? 0
}

/** At most one mail a week to each user. */
const NOT_NOTIFIED = (kind: string) => `not exists (select from mails m
  where m.user_id = u.id and m.kind = '${kind}' and m.created_at > now() - interval '7 days')`

/** Mails to users whose authenticator needs this key. Returns how many. */
export async function notifyAuthenticatorOwners(tx: Transaction, keyId: number): Promise<number> {
  const { rowCount } = await tx.query(
    `insert into mails (kind, account_id, user_id, language, created_at, due_at)
     select 'authenticator_to_renew', u.account_id, u.id, coalesce(u.language, 'en'), now(), now()
     from authenticators t join users u on u.id = t.user_id
     where t.key_id = $1 and u.disabled_at is null and ${NOT_NOTIFIED('authenticator_to_renew')}`,
    [keyId],
  )
  return rowCount ?? 0
}

/** Mails to users whose recovery codes need this key. Returns how many. */
export async function notifyRecoveryCodeOwners(tx: Transaction, keyId: number): Promise<number> {
  const { rowCount } = await tx.query(
    `insert into mails (kind, account_id, user_id, language, created_at, due_at)
     select 'recovery_codes_to_renew', u.account_id, u.id, coalesce(u.language, 'en'), now(), now()
     from users u
     where exists (select from recovery_codes c where c.user_id = u.id and c.key_id = $1)
       and u.disabled_at is null and ${NOT_NOTIFIED('recovery_codes_to_renew')}`,
    [keyId],
  )
  return rowCount ?? 0
}

/** Application names listed in a mail; further ones are only counted. */
const MAX_LISTED = 20

/** Mails to administrators of accounts whose applications have credentials that need this key. Returns how many. */
export async function notifyApplicationOwners(tx: Transaction, keyId: number): Promise<number> {
  const { rowCount } = await tx.query(
    `with affected as (
       select application_id from application_secrets where key_id = $1 and revoked_at is null
       union select application_id from grants where key_id = $1 and revoked_at is null and variant = 'access_key'
       union select application_id from webhook_endpoints where key_id = $1 and disabled_at is null),
     owners as (
       select a.account_id, count(*) as count, array_agg(a.name order by a.name) as names
       from affected join applications a on a.id = affected.application_id
       where a.deleted_at is null group by a.account_id)
     insert into mails (kind, account_id, user_id, language, detail, created_at, due_at)
     select 'credentials_to_renew', u.account_id, u.id, coalesce(u.language, 'en'),
       jsonb_build_object('count', o.count, 'applications', to_jsonb(o.names[1:${MAX_LISTED}])), now(), now()
     from owners o join users u on u.account_id = o.account_id
     where u.disabled_at is null and ${ADMINISTRATOR} and ${NOT_NOTIFIED('credentials_to_renew')}`,
    [keyId],
  )
  return rowCount ?? 0
}
