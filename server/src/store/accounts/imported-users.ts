/** Import of users: accounts and roles by name, and inserts of many users in one statement. */

import { type Actor, BY_COMMAND_LINE } from '../../core/audit/actor.ts'
import type { Origin } from '../../core/sign-in/origin.ts'
import { recordAll } from '../audit/events.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type ImportAccount = {
  readonly id: string
  readonly slug: string
  readonly hasOperators: boolean
  /** Ids by name. */
  readonly roles: Readonly<Record<string, string>>
}

/** By slug. */
export async function readImportAccounts(
  db: Queryable,
  slugs: readonly string[],
): Promise<ReadonlyMap<string, ImportAccount>> {
  const { rows } = await db.query<ImportAccount>(
    `select a.id, a.slug, a.has_operators as "hasOperators",
       (select coalesce(jsonb_object_agg(r.name, r.id), '{}') from roles r where r.account_id = a.id) as roles
     from accounts a where a.slug = any($1) and a.closed_at is null`,
    [slugs],
  )
  return new Map(rows.map((account) => [account.slug, account]))
}

export type NewImportedUser = {
  readonly id: string
  readonly accountId: string
  readonly email: string
  readonly name: string | null
  readonly origin: Origin
  readonly externalId: string | null
  readonly passwordDigest: string | null
  readonly roleIds: readonly string[]
}

/**
 * Returns the ids of those inserted. The others exist already, or their external id does. In order of their key, so that two imports
 * of the same file do not deadlock.
 */
export async function insertImportedUsers(
  tx: Transaction,
  users: readonly NewImportedUser[],
  actor: Actor = BY_COMMAND_LINE,
): Promise<ReadonlySet<string>> {
  const column = (name: Exclude<keyof NewImportedUser, 'roleIds'>) => users.map((user) => user[name])
  const { rows } = await tx.query<{ id: string }>(
    `with added as (
       insert into users (id, account_id, email, name, external_id, password_digest, origin, created_at)
       select id, account_id, email, name, external_id, digest, origin, now()
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
         as given(id, account_id, email, name, external_id, digest, origin)
       order by account_id, email
       on conflict do nothing returning id, account_id),
     ${recordAll(`select now(), 'user.created', $8::text, $9::text, $10::text, account_id, id, null::text, null::text, null::uuid,
       '{"imported":true}'::jsonb from added`)}
     select id from added`,
    [
      ...[column('id'), column('accountId'), column('email'), column('name'), column('externalId')],
      ...[column('passwordDigest'), column('origin'), actor.kind, actor.id, actor.via],
    ],
  )
  const added = new Set(rows.map(({ id }) => id))
  const given = users.filter(({ id }) => added.has(id)).flatMap(({ id, roleIds }) => roleIds.map((role) => [id, role]))
  await tx.query(`insert into user_roles (user_id, role_id) select * from unnest($1::text[], $2::text[])`, [
    given.map(([user]) => user),
    given.map(([, role]) => role),
  ])
  return added
}

/** Which of these e-mail addresses have a user, as `account id/address`. */
export async function readExisting(
  db: Queryable,
  users: readonly Pick<NewImportedUser, 'accountId' | 'email'>[],
): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ key: string }>(
    `select u.account_id || '/' || u.email as key
     from unnest($1::text[], $2::text[]) as given(account_id, email)
       join users u on u.account_id = given.account_id and u.email = given.email`,
    [users.map(({ accountId }) => accountId), users.map(({ email }) => email)],
  )
  return new Set(rows.map(({ key }) => key))
}
