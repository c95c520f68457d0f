/** The tables accounts, roles and users: who may decide, and what they hold. */
import type { Queryable, Transaction } from './postgres.ts'

export type Account = { readonly id: string; readonly slug: string; readonly name: string }

export async function insertAccount(tx: Transaction, account: Account): Promise<boolean> {
  const { rowCount } = await tx.query(
    'insert into accounts (id, slug, name, created_at) values ($1, $2, $3, now()) on conflict (slug) do nothing',
    [account.id, account.slug, account.name],
  )
  return rowCount === 1
}

export async function findAccount(db: Queryable, slug: string): Promise<Account | null> {
  const { rows } = await db.query<Account>('select id, slug, name from accounts where slug = $1', [slug])
  return rows[0] ?? null
}

export type NewRole = {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly holdsEveryScope: boolean
  readonly scopes: readonly string[]
}

export async function insertRole(tx: Transaction, role: NewRole): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into roles (id, account_id, name, holds_every_scope, created_at) values ($1, $2, $3, $4, now())
     on conflict (account_id, name) do nothing`,
    [role.id, role.accountId, role.name, role.holdsEveryScope],
  )
  await tx.query('insert into role_scopes (role_id, scope) select $1, unnest($2::text[]) where $3', [
    role.id,
    role.scopes,
    rowCount === 1,
  ])
  return rowCount === 1
}

export async function findRoles(db: Queryable, accountId: string): Promise<readonly { id: string; name: string }[]> {
  const { rows } = await db.query<{ id: string; name: string }>(
    'select id, name from roles where account_id = $1 order by name',
    [accountId],
  )
  return rows
}

export type NewUser = {
  readonly id: string
  readonly accountId: string
  readonly email: string
  readonly passwordDigest: string | null
  readonly roleIds: readonly string[]
}

export async function insertUser(tx: Transaction, user: NewUser): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into users (id, account_id, email, password_digest, created_at) values ($1, $2, $3, $4, now())
     on conflict (account_id, email) do nothing`,
    [user.id, user.accountId, user.email, user.passwordDigest],
  )
  await tx.query('insert into user_roles (user_id, role_id) select $1, unnest($2::text[]) where $3', [
    user.id,
    user.roleIds,
    rowCount === 1,
  ])
  return rowCount === 1
}

export type User = {
  readonly id: string
  readonly accountId: string
  readonly email: string
  readonly disabled: boolean
  /** The union of what the user's roles hold, at this moment. */
  readonly heldScopes: readonly string[]
}

const USER = `select u.id, u.account_id as "accountId", u.email, u.disabled_at is not null as disabled,
  array(select s.name from scopes s where exists (
    select from user_roles ur join roles r on r.id = ur.role_id
    where ur.user_id = u.id and (r.holds_every_scope
      or exists (select from role_scopes rs where rs.role_id = r.id and rs.scope = s.name))) order by 1) as "heldScopes"
  from users u`

export async function findUser(db: Queryable, accountId: string, email: string): Promise<User | null> {
  const { rows } = await db.query<User>(`${USER} where u.account_id = $1 and u.email = lower($2)`, [accountId, email])
  return rows[0] ?? null
}

/** Share-locked: while a decision is being made the user cannot be disabled behind its back. */
export async function lockUser(tx: Transaction, id: string): Promise<User | null> {
  const { rows } = await tx.query<User>(`${USER} where u.id = $1 for share of u`, [id])
  return rows[0] ?? null
}
