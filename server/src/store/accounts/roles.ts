/** The tables roles and role_scopes: named sets of scopes, each of one account. */

import { announce } from '../grants/changes.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type NewRole = {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly holdsEveryScope: boolean
  readonly scopes: readonly string[]
}

/** False when the account already has a role of this name. */
export async function insertRole(tx: Transaction, role: NewRole): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into roles (id, account_id, name, holds_every_scope, created_at) values ($1, $2, $3, $4, now())
     on conflict (account_id, name) do nothing`,
    [role.id, role.accountId, role.name, role.holdsEveryScope],
  )
  if (rowCount === 1) await addScopes(tx, role.id, role.scopes)
  return rowCount === 1
}

export type Role = {
  readonly id: string
  readonly name: string
  readonly holdsEveryScope: boolean
  /** The listed scopes; a role that holds every scope needs none. */
  readonly scopes: readonly string[]
  /** How many users have it. */
  readonly people: number
}

const COLUMNS = `r.id, r.name, r.holds_every_scope as "holdsEveryScope",
    array(select rs.scope from role_scopes rs where rs.role_id = r.id order by 1) as scopes`

const ROLE = `select ${COLUMNS}, (select count(*) from user_roles ur where ur.role_id = r.id) as people
  from roles r`

/** For sign-ins and changes under `lockAccount`: a large account has thousands of users to count. */
export type UncountedRole = Omit<Role, 'people'>

export async function readRoles(db: Queryable, accountId: string): Promise<readonly UncountedRole[]> {
  const { rows } = await db.query<UncountedRole>(
    `select ${COLUMNS} from roles r where r.account_id = $1 order by r.name`,
    [accountId],
  )
  return rows
}

export async function listRoles(db: Queryable, accountId: string): Promise<readonly Role[]> {
  const { rows } = await db.query<Role>(`${ROLE} where r.account_id = $1 order by r.name`, [accountId])
  return rows
}

export async function readRole(db: Queryable, accountId: string, id: string): Promise<Role | null> {
  const { rows } = await db.query<Role>(`${ROLE} where r.account_id = $1 and r.id = $2`, [accountId, id])
  return rows[0] ?? null
}

/** False when another role of the account has this name. Call under `lockAccount`. */
export async function renameRole(tx: Transaction, accountId: string, id: string, name: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update roles set name = $3 where account_id = $1 and id = $2
       and not exists (select from roles where account_id = $1 and name = $3 and id <> $2)`,
    [accountId, id, name],
  )
  return rowCount === 1
}

export async function replaceRoleScopes(
  tx: Transaction,
  accountId: string,
  id: string,
  scopes: readonly string[],
): Promise<void> {
  await tx.query('delete from role_scopes where role_id = $1', [id])
  await addScopes(tx, id, scopes)
  await announce(tx, { accountId })
}

async function addScopes(tx: Transaction, id: string, scopes: readonly string[]): Promise<void> {
  await tx.query('insert into role_scopes (role_id, scope) select $1, unnest($2::text[])', [id, scopes])
}

/** Deletes a role. Its users lose the scopes that they held by this role only. */
export async function deleteRole(tx: Transaction, accountId: string, id: string): Promise<void> {
  await tx.query('delete from roles where account_id = $1 and id = $2', [accountId, id])
  await announce(tx, { accountId })
}
