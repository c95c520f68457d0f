/** The tables users and user_roles: the users of an account and their scopes. */

import type { Origin } from '../../core/sign-in/origin.ts'
import type { PersonFacts } from '../../core/sign-in/person.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { announce } from '../grants/changes.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { cutPage, pageClauses, type SortedList, startingWith } from '../postgres/sorted-list.ts'
import { PENDING_EMAIL } from './address-changes.ts'

/** User at the account's identity provider. */
export type ProviderSubject = { readonly issuer: string; readonly subject: string }

export type NewUser = {
  readonly id: string
  readonly accountId: string
  readonly email: string
  readonly passwordDigest: string | null
  readonly roleIds: readonly string[]
  readonly origin: Origin
  /** A host user has one. */
  readonly externalId: string | null
  /** Absent: an own user, or one of the host service. */
  readonly provider?: ProviderSubject
}

/** False when the account has a user with this e-mail address, or with this external id. */
export async function insertUser(tx: Transaction, user: NewUser): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into users (id, account_id, email, password_digest, origin, external_id, issuer, subject, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now())
     on conflict do nothing`,
    [
      ...[user.id, user.accountId, user.email, user.passwordDigest, user.origin, user.externalId],
      ...[user.provider?.issuer ?? null, user.provider?.subject ?? null],
    ],
  )
  if (rowCount === 1) await addRoles(tx, user.id, user.roleIds)
  return rowCount === 1
}

export type User = PersonFacts & {
  readonly id: string
  readonly accountId: string
  readonly language: string | null
  readonly disabled: boolean
  /** Has a role that holds every scope, and so administers the account. */
  readonly administrator: boolean
  /** The union of the scopes of the user's roles, and of those that the host service gave, now. */
  readonly heldScopes: readonly string[]
}

/**
 * Expression for a query over `users u`. The account is named although a role has only users of its own: PostgreSQL then
 * starts from the few roles of an account instead of its many users.
 */
export const ADMINISTRATOR = `exists (select from user_roles ur join roles r on r.id = ur.role_id
    where ur.user_id = u.id and r.account_id = u.account_id and r.holds_every_scope)`

/** Expression for a query over `users u`. The roles are read once per user, not once per scope. */
export const HELD_SCOPES = `array(select s.name from scopes s where s.name = any(u.permissions) or ${ADMINISTRATOR}
    or s.name in (select rs.scope from user_roles ur join role_scopes rs on rs.role_id = ur.role_id where ur.user_id = u.id)
  order by 1)`

/** Columns for a query over `users u`. */
export const PERSON_FACTS = `u.origin, u.email, u.email_confirmed_at is not null as "emailConfirmed",
    u.external_id as "externalId", u.issuer, u.subject`

const USER = `select u.id, u.account_id as "accountId", ${PERSON_FACTS}, u.language, u.disabled_at is not null as disabled,
    ${ADMINISTRATOR} as administrator, ${HELD_SCOPES} as "heldScopes"
  from users u`

export async function findUser(db: Queryable, accountId: string, email: string): Promise<User | null> {
  const { rows } = await db.query<User>(`${USER} where u.account_id = $1 and u.email = lower($2)`, [accountId, email])
  return rows[0] ?? null
}

export async function readUser(db: Queryable, id: string): Promise<User | null> {
  const { rows } = await db.query<User>({ name: 'read-user', text: `${USER} where u.id = $1`, values: [id] })
  return rows[0] ?? null
}

/** Share-locks the user, so that they cannot be disabled while a decision is made. */
export async function lockUser(tx: Transaction, id: string): Promise<User | null> {
  const { rows } = await tx.query<User>({
    name: 'lock-user',
    text: `${USER} where u.id = $1 for share of u`,
    values: [id],
  })
  return rows[0] ?? null
}

/**
 * Lock for changing how a user signs in (password, passkeys, links, disabling). Taken before any other row of the user,
 * so that two such changes wait for each other here and do not deadlock.
 */
export async function lockUserForChange(tx: Transaction, id: string): Promise<User | null> {
  const { rows } = await tx.query<User>(`${USER} where u.id = $1 for no key update of u`, [id])
  return rows[0] ?? null
}

/** Sign-in methods of a user. A user with neither a password nor a passkey has not signed in yet. */
export type Factors = { readonly password: boolean; readonly passkeys: number; readonly authenticator: boolean }

export type Member = {
  readonly id: string
  readonly accountId: string
  readonly origin: Origin
  /** Id at the host service, or as the management API gave it. */
  readonly externalId: string | null
  readonly email: string
  /** Asked for by a management key and not confirmed yet; null: none. */
  readonly pendingEmail: string | null
  /** Of the identity provider at which the user signs in. */
  readonly issuer: string | null
  /** As the host service or the identity provider says. */
  readonly name: string | null
  /** Scopes that the host service gives the user besides the roles. */
  readonly permissions: readonly string[]
  readonly createdAt: number
  readonly language: string | null
  readonly disabled: boolean
  readonly administrator: boolean
  readonly factors: Factors
  /** The sign-in methods of the user were removed once: somebody has signed in as them. */
  readonly wasReset: boolean
  /** Sorted by name. */
  readonly roles: readonly { readonly id: string; readonly name: string }[]
}

type MemberRow = Omit<Member, 'factors'> & Factors

/** Aggregates instead of `exists`: PostgreSQL would look at the roles of all accounts at once for it. */
const MEMBER = `select u.id, u.account_id as "accountId", u.origin, u.issuer, u.external_id as "externalId", u.email, ${PENDING_EMAIL} as "pendingEmail", u.was_reset or cardinality(u.reset_by) > 0 as "wasReset", u.name, u.permissions, u.created_at as "createdAt", u.language, u.disabled_at is not null as disabled,
    (select coalesce(bool_or(r.holds_every_scope), false)
      from user_roles ur join roles r on r.id = ur.role_id where ur.user_id = u.id) as administrator,
    u.password_digest is not null as password, (select count(*) from passkeys p where p.user_id = u.id) as passkeys,
    (select count(*) > 0 from authenticators t where t.user_id = u.id) as authenticator,
    (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name) order by r.name), '[]')
      from user_roles ur join roles r on r.id = ur.role_id where ur.user_id = u.id) as roles
  from users u`

const MEMBERS: SortedList<MemberColumn> = {
  table: 'users u',
  key: 'u.id',
  columns: { email: 'u.email collate "C"', created: 'u.created_at' },
}

export const memberColumns = ['email', 'created'] as const
export type MemberColumn = (typeof memberColumns)[number]

/** `search`: the beginning of the e-mail address. */
export async function listMembers(
  db: Queryable,
  accountId: string,
  wish: TableWish<MemberColumn>,
): Promise<TablePage<Member>> {
  const { beyond, order } = pageClauses(MEMBERS, wish, '$2', 'u.account_id = $1')
  const { rows } = await db.query<MemberRow>(
    `${MEMBER} where u.account_id = $1 and ($3 = '%' or u.email collate "C" like $3) and ${beyond} ${order}`,
    [accountId, wish.after, startingWith(wish.search.toLowerCase())],
  )
  return cutPage(rows.map(memberFrom), ({ id }) => id, wish.lines)
}

export async function findMember(db: Queryable, accountId: string, id: string): Promise<Member | null> {
  const { rows } = await db.query<MemberRow>(`${MEMBER} where u.account_id = $1 and u.id = $2`, [accountId, id])
  return rows[0] ? memberFrom(rows[0]) : null
}

/** From the `offset`th on, oldest first, with the number of all: for SCIM, whose pages are numbers. */
export async function listMembersFrom(
  db: Queryable,
  accountId: string,
  offset: number,
  lines: number,
): Promise<{ readonly members: readonly Member[]; readonly total: number }> {
  const { rows } = await db.query<MemberRow>(
    // The page is chosen first: PostgreSQL would also compute the columns of the users that it skips.
    `${MEMBER} where u.id = any(array(
       select id from users where account_id = $1 order by created_at, id offset $2 limit $3))
     order by u.created_at, u.id`,
    [accountId, offset, lines],
  )
  const counted = await db.query<{ total: number }>('select count(*) as total from users where account_id = $1', [
    accountId,
  ])
  return { members: rows.map(memberFrom), total: counted.rows[0]?.total ?? 0 }
}

/** `userName`: the address that SCIM shows, which is the pending one if there is one. */
export type MemberName = { readonly email: string } | { readonly userName: string } | { readonly externalId: string }

export async function findMemberBy(db: Queryable, accountId: string, by: MemberName): Promise<Member | null> {
  const [condition, value] =
    'email' in by
      ? ['u.email = lower($2)', by.email]
      : 'userName' in by
        ? [`coalesce(${PENDING_EMAIL}, u.email) = lower($2) and u.id in (${NAMED})`, by.userName]
        : ['u.external_id = $2', by.externalId]
  const { rows } = await db.query<MemberRow>(`${MEMBER} where u.account_id = $1 and ${condition}`, [accountId, value])
  return rows[0] ? memberFrom(rows[0]) : null
}

/** Users with this address, or with a change to it: for indexes. */
const NAMED = `select id from users where account_id = $1 and email = lower($2)
  union all select user_id from address_changes where account_id = $1 and email = lower($2)`

/** False when another user of the account has it. Call under `lockAccount`. */
export async function saveExternalId(tx: Transaction, id: string, externalId: string | null): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update users u set external_id = $2 where id = $1 and not exists (select from users o
       where o.account_id = u.account_id and o.external_id = $2 and o.id <> u.id)`,
    [id, externalId],
  )
  if (rowCount === 1) await announce(tx, { userId: id })
  return rowCount === 1
}

function memberFrom({ password, passkeys, authenticator, ...member }: MemberRow): Member {
  return { ...member, factors: { password, passkeys, authenticator } }
}

/** The user whom the host service calls by this id. */
export async function findHostUser(db: Queryable, accountId: string, externalId: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    `select id from users where account_id = $1 and origin = 'host' and external_id = $2`,
    [accountId, externalId],
  )
  return rows[0]?.id ?? null
}

/** The user whom the identity provider calls by this subject. */
export async function findProviderUser(
  db: Queryable,
  accountId: string,
  { issuer, subject }: ProviderSubject,
): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    'select id from users where account_id = $1 and issuer = $2 and subject = $3',
    [accountId, issuer, subject],
  )
  return rows[0]?.id ?? null
}

/**
 * Binds an own user without any means of signing in to a subject of the identity provider. False if the user has means,
 * or the subject is another user already.
 */
export async function linkUser(tx: Transaction, id: string, { issuer, subject }: ProviderSubject): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update users u set origin = 'provider', issuer = $2, subject = $3
     where id = $1 and origin = 'own' and password_digest is null
       and not exists (select from passkeys p where p.user_id = u.id)
       and not exists (select from users o where o.account_id = u.account_id and o.issuer = $2 and o.subject = $3)`,
    [id, issuer, subject],
  )
  return rowCount === 1
}

export type HostProfile = {
  readonly email: string
  readonly name: string | null
  readonly permissions: readonly string[]
}

/**
 * The only function that changes an e-mail address. False when another user of the account has it. Call under
 * `lockAccount`.
 */
export async function saveHostProfile(tx: Transaction, id: string, profile: HostProfile): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update users u set email = $2, name = $3, permissions = $4 where id = $1
       and not exists (select from users o where o.account_id = u.account_id and o.email = $2 and o.id <> u.id)`,
    [id, profile.email, profile.name, profile.permissions],
  )
  if (rowCount === 1) await announce(tx, { userId: id })
  return rowCount === 1
}

/** A management key has set roles or permissions: statements that the host service signed before do not count any more. */
export async function recordAccessSet(tx: Transaction, id: string): Promise<void> {
  await tx.query('update users set access_set_at = now() where id = $1', [id])
}

/** Whether roles or permissions were set by a management key at this time or later. */
export async function wasAccessSetSince(tx: Transaction, id: string, time: number): Promise<boolean> {
  const { rows } = await tx.query<{ since: boolean | null }>(
    'select access_set_at >= to_timestamp($2::float8 / 1000) as since from users where id = $1',
    [id, time],
  )
  return rows[0]?.since === true
}

/** Administrators of the account who are not disabled. */
export async function listAdministrators(
  db: Queryable,
  accountId: string,
): Promise<readonly Pick<User, 'id' | 'language'>[]> {
  const { rows } = await db.query<Pick<User, 'id' | 'language'>>(
    `select u.id, u.language from users u where u.account_id = $1 and u.disabled_at is null and ${ADMINISTRATOR}
     order by u.id`,
    [accountId],
  )
  return rows
}

/**
 * Whether another administrator can sign in; one whose invitation is still open does not count. Call under
 * `lockAccount`: only then does the answer hold until the transaction ends.
 */
export async function hasOtherAdministrator(tx: Transaction, accountId: string, userId: string): Promise<boolean> {
  const { rows } = await tx.query<{ other: boolean }>(
    `select exists (select from users u
       where u.account_id = $1 and u.id <> $2 and u.disabled_at is null and ${ADMINISTRATOR}
         and (u.origin <> 'own' or u.password_digest is not null or exists (select from passkeys p where p.user_id = u.id))) as other`,
    [accountId, userId],
  )
  return rows[0]?.other ?? false
}

/** Own administrators who can sign in: with a password or a passkey, and not disabled. Call under `lockAccount`. */
export async function listOwnAdministrators(
  db: Queryable,
  accountId: string,
): Promise<readonly Pick<User, 'id' | 'email'>[]> {
  const { rows } = await db.query<Pick<User, 'id' | 'email'>>(
    `select u.id, u.email from users u
     where u.account_id = $1 and u.origin = 'own' and u.disabled_at is null and ${ADMINISTRATOR}
       and (u.password_digest is not null or exists (select from passkeys p where p.user_id = u.id))
     order by u.email`,
    [accountId],
  )
  return rows
}

export async function replaceUserRoles(tx: Transaction, userId: string, roleIds: readonly string[]): Promise<void> {
  await tx.query('delete from user_roles where user_id = $1 and role_id <> all($2::text[])', [userId, roleIds])
  await addRoles(tx, userId, roleIds)
  await announce(tx, { userId })
}

async function addRoles(tx: Transaction, userId: string, roleIds: readonly string[]): Promise<void> {
  await tx.query(
    `insert into user_roles (user_id, role_id, granted_at) select $1, unnest($2::text[]), now()
     on conflict (user_id, role_id) do nothing`,
    [userId, roleIds],
  )
}

/** False when the user was already in that state. */
export async function setDisabled(tx: Transaction, id: string, disabled: boolean): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update users set disabled_at = case when $2 then now() end where id = $1 and (disabled_at is not null) <> $2',
    [id, disabled],
  )
  if (rowCount === 1) await announce(tx, { userId: id })
  return rowCount === 1
}

/**
 * Deletes password, passkeys, authenticator, recovery codes and the link to the identity provider, so that none of the
 * old ones can be used to sign in.
 */
export async function clearFactors(tx: Transaction, id: string): Promise<void> {
  await tx.query(
    `update users set was_reset = true, password_digest = null, origin = case origin when 'provider' then 'own' else origin end,
       issuer = null, subject = null
     where id = $1`,
    [id],
  )
  await tx.query('delete from passkeys where user_id = $1', [id])
  await tx.query('delete from authenticators where user_id = $1', [id])
  await tx.query('delete from recovery_codes where user_id = $1', [id])
}
