/**
 * Closing an account. `markClosed` makes it unknown at once, however many users and grants it has; afterwards their rows
 * are deleted in batches. The row of the account stays, with its id and its slug. docs/management.md, "Closing an
 * account".
 */
import type { Actor } from '../../core/audit/actor.ts'
import type { RevocationReason } from '../../core/grants/revocation-reason.ts'
import { recordAll } from '../audit/events.ts'
import { announce } from '../grants/changes.ts'
import { chooseGrants } from '../grants/grants.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** Its users decided as operators: reviews and changes of operators refer to them. */
export async function hasDecided(db: Queryable, id: string): Promise<boolean> {
  const { rows } = await db.query<{ decided: boolean }>(
    `select exists (select from operator_changes where account_id = $1)
       or exists (select from review_decisions d join users u on u.id in (d.decided_by, d.confirmed_by, d.withdrawn_by)
         where u.account_id = $1) as decided`,
    [id],
  )
  return rows[0]?.decided ?? false
}

/** Requires `lockAccount`. From now on the account is not found, and credentials of its users are refused. */
export async function markClosed(tx: Transaction, id: string): Promise<void> {
  await tx.query('update accounts set closed_at = now() where id = $1', [id])
  await announce(tx, { accountId: id })
}

export async function deleteProvider(tx: Transaction, accountId: string): Promise<void> {
  await tx.query('delete from identity_providers where account_id = $1', [accountId])
}

/** Test modes of the applications of an account. Before any of them is changed. */
export async function deleteTestModes(tx: Transaction, accountId: string): Promise<void> {
  await tx.query(
    `delete from application_test_modes where application_id in (select id from applications where account_id = $1)`,
    [accountId],
  )
}

export async function listOwnApplicationIds(db: Queryable, accountId: string): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from applications where account_id = $1 and deleted_at is null order by id',
    [accountId],
  )
  return rows.map(({ id }) => id)
}

/** Returns the ids of the keys that were not revoked before. */
export async function revokeKeysOf(tx: Transaction, accountId: string): Promise<readonly string[]> {
  const { rows } = await tx.query<{ id: string }>(
    'update management_keys set revoked_at = now() where account_id = $1 and revoked_at is null returning id',
    [accountId],
  )
  return rows.map(({ id }) => id)
}

/** Oldest first. */
export async function listAccountsToErase(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from accounts where closed_at is not null and erased_at is null order by closed_at',
  )
  return rows.map(({ id }) => id)
}

/** False when another process erases it, or it is erased. */
export async function lockAccountToErase(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select from accounts where id = $1 and closed_at is not null and erased_at is null
     for no key update skip locked`,
    [id],
  )
  return rowCount === 1
}

/** Locks some users of the account. */
export async function lockSomeUsers(tx: Transaction, accountId: string, atMost: number): Promise<readonly string[]> {
  const { rows } = await tx.query<{ id: string }>(
    'select id from users where account_id = $1 order by id limit $2 for no key update',
    [accountId, atMost],
  )
  return rows.map(({ id }) => id)
}

export async function deleteSessionsAndMails(tx: Transaction, userIds: readonly string[]): Promise<void> {
  await tx.query('delete from sessions where user_id = any($1)', [userIds])
  await tx.query('delete from mails where user_id = any($1)', [userIds])
  await tx.query('delete from links where user_id = any($1)', [userIds])
}

const TO_APPLICATIONS_OF = 'application_id in (select a.id from applications a where a.account_id = $1)'

/**
 * Revokes some live grants to applications of the account, each with an audit event. Returns how many. They were refused
 * before, because their application is deleted: nothing is announced.
 */
export function revokeSomeOfApplications(tx: Transaction, actor: Actor, accountId: string, atMost: number) {
  return revokeSome(tx, actor, [TO_APPLICATIONS_OF, accountId], 'application_deleted', atMost)
}

/** The same for grants by these users, which were refused before, because their account is closed. */
export function revokeSomeOfUsers(tx: Transaction, actor: Actor, userIds: readonly string[], atMost: number) {
  return revokeSome(tx, actor, ['user_id = any($1)', userIds], 'account_closed', atMost)
}

async function revokeSome(
  tx: Transaction,
  actor: Actor,
  [condition, of]: readonly [string, string | readonly string[]],
  reason: RevocationReason,
  atMost: number,
): Promise<number> {
  const some = `revoked_at is null and g.id in (select id from grants where revoked_at is null and ${condition} limit $6)`
  const { rows } = await tx.query<{ revoked: number }>(
    `with ${chooseGrants(some)},
     revoked as (
       update grants g set revoked_at = now(), revocation_reason = $2 from chosen where g.id = chosen.id
       returning g.id, g.account_id, g.user_id, g.application_id),
     ${recordAll(`select now(), 'grant.revoked', $3::text, $4::text, $5::text, account_id, user_id, application_id, id, null::uuid,
       jsonb_build_object('reason', $2::text) from revoked`)}
     select count(*) as revoked from recorded`,
    [of, reason, actor.kind, actor.id, actor.via, atMost],
  )
  return rows[0]?.revoked ?? 0
}

/** Returns how many. Requires `lockSomeUsers`. */
export async function deleteSomeGrants(tx: Transaction, userIds: readonly string[], atMost: number): Promise<number> {
  const { rowCount } = await tx.query(
    `delete from grants where id in (
       select id from grants where user_id = any($1) and revoked_at is not null limit $2)`,
    [userIds, atMost],
  )
  return rowCount ?? 0
}

/** Deletes those of the users who have no grant left, each with an audit event. Requires `lockSomeUsers`. */
export async function deleteUsers(tx: Transaction, actor: Actor, userIds: readonly string[]): Promise<void> {
  await tx.query(
    `with erased as (
       delete from users u where u.id = any($1) and not exists (select from grants g where g.user_id = u.id)
       returning u.id, u.account_id),
     ${recordAll(`select now(), 'user.erased', $2::text, $3::text, $4::text, account_id, id, null::text, null::text, null::uuid,
       '{}'::jsonb from erased`)}
     select`,
    [userIds, actor.kind, actor.id, actor.via],
  )
}

/** Roles, management keys and failed sign-ins of an erased account. */
export async function deleteRest(tx: Transaction, id: string): Promise<void> {
  await tx.query(
    'delete from management_requests where management_key_id in (select id from management_keys where account_id = $1)',
    [id],
  )
  await tx.query('delete from management_keys where account_id = $1', [id])
  await tx.query('delete from sign_in_failures where account_id = $1', [id])
  await tx.query('delete from roles where account_id = $1', [id])
}

/**
 * Removes name and branding. False for a while after the account was closed: a transaction that found the account open may still add a user, and
 * none lasts as long as this.
 */
export async function markErased(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update accounts set erased_at = now(), name = slug, external_id = null, colour = null, logo = null,
       logo_version = null, only_applications = null
     where id = $1 and closed_at < now() - interval '10 minutes'`,
    [id],
  )
  return rowCount === 1
}
