/**
 * Takes away again what something had lost of its access, by the names that `access_of` of the migrations gives. The
 * caller has locked the subject.
 */
import { announce } from '../grants/changes.ts'
import type { Transaction } from '../postgres/postgres.ts'

export async function readAccess(tx: Transaction, subject: string): Promise<readonly string[]> {
  const { rows } = await tx.query<{ access: string[] }>("select coalesce(access_of($1), '{}') as access", [subject])
  return rows[0]?.access ?? []
}

/** The accounts of these users, roles and accounts, in the order in which they are locked. */
export async function readAccountIds(tx: Transaction, subjects: readonly string[]): Promise<readonly string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `select account_id as id from users where id = any($1) union select account_id from roles where id = any($1)
     union select id from accounts where id = any($1) order by 1`,
    [subjects],
  )
  return rows.map(({ id }) => id)
}

export async function takeFromUser(tx: Transaction, id: string, taken: readonly string[]): Promise<void> {
  await tx.query("delete from passkeys where user_id = $1 and 'passkey:' || digest_of(id) = any($2)", [id, taken])
  await tx.query("delete from authenticators where user_id = $1 and 'authenticator:' || id = any($2)", [id, taken])
  await tx.query(
    `update users set permissions = array(select p from unnest(permissions) p where 'permission:' || p <> all($2))
     where id = $1`,
    [id, taken],
  )
  await tx.query("delete from user_roles where user_id = $1 and 'role:' || role_id = any($2)", [id, taken])
  await announce(tx, { userId: id })
}

export async function findRoleAccount(tx: Transaction, id: string): Promise<string | null> {
  const { rows } = await tx.query<{ account_id: string }>('select account_id from roles where id = $1', [id])
  return rows[0]?.account_id ?? null
}

export async function takeFromRole(tx: Transaction, id: string, taken: readonly string[]): Promise<void> {
  const accountId = await findRoleAccount(tx, id)
  await tx.query("delete from role_scopes where role_id = $1 and 'scope:' || scope = any($2)", [id, taken])
  if (taken.includes('exists')) await tx.query('delete from roles where id = $1', [id])
  if (accountId !== null) await announce(tx, { accountId })
}

/** `left`: has the applications to which the policy was restricted. */
export async function takeFromAccount(
  tx: Transaction,
  id: string,
  taken: readonly string[],
  left: readonly string[],
): Promise<void> {
  await tx.query(
    `update accounts set device_flow = device_flow and 'device_flow' <> all($2),
       unverified_publishers = unverified_publishers and 'unverified_publishers' <> all($2),
       second_factor_required_at = case when 'without_second_factor' = any($2) then now() else second_factor_required_at end,
       only_applications = case
         when 'every_application' = any($2)
           then array(select substr(l, 13) from unnest($3::text[]) l where l like 'application:%')
         when only_applications is not null
           then array(select a from unnest(only_applications) a where 'application:' || a <> all($2)) end
     where id = $1`,
    [id, taken, left],
  )
}

/** Requires `markApplicationChanged`. */
export async function takeFromApplication(tx: Transaction, id: string, taken: readonly string[]): Promise<void> {
  const without = (column: string) =>
    `${column} = array(select s from unnest(${column}) s where 'scope:' || s <> all($2))`
  await tx.query(
    `update applications set device_flow = device_flow and 'device_flow' <> all($2),
       pkce_required = pkce_required or 'without_pkce' = any($2),
       ${without('allowed_scopes')}, ${without('default_scopes')}, ${without('required_scopes')},
       redirect_uris = array(select r from unnest(redirect_uris) r where 'redirect:' || digest_of(r) <> all($2))
     where id = $1`,
    [id, taken],
  )
}
