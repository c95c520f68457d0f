/** The table address_changes: e-mail addresses that management keys asked for, until somebody confirms them. */
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

/** An expression for a query over `users u`; null: none. */
export const PENDING_EMAIL = `(select c.email from address_changes c where c.user_id = u.id and c.expires_at > now())`

export type NewAddressChange = {
  readonly userId: string
  readonly accountId: string
  readonly email: string
  /** Id of the management key. */
  readonly requestedBy: string
  readonly lifetimeMs: number
}

/** Replaces an older one. */
export async function saveAddressChange(tx: Transaction, change: NewAddressChange): Promise<void> {
  await tx.query(
    `insert into address_changes (user_id, account_id, email, requested_by, requested_at, expires_at)
     values ($1, $2, $3, $4, now(), now() + $5 * interval '1 millisecond')
     on conflict (user_id) do update set email = excluded.email, requested_by = excluded.requested_by,
       requested_at = excluded.requested_at, expires_at = excluded.expires_at`,
    [change.userId, change.accountId, change.email, change.requestedBy, change.lifetimeMs],
  )
}

export async function deleteAddressChange(tx: Transaction, userId: string): Promise<void> {
  await tx.query('delete from address_changes where user_id = $1', [userId])
}

/** Whether another user of the account has the address, or is to have it. Call under `lockAccount`. */
export async function isAddressTaken(
  tx: Transaction,
  accountId: string,
  email: string,
  exceptId: string | null,
): Promise<boolean> {
  const { rows } = await tx.query<{ taken: boolean }>(
    `select exists (select from users u where u.account_id = $1 and u.email = $2 and u.id is distinct from $3)
       or exists (select from address_changes c where c.account_id = $1 and c.email = $2
         and c.user_id is distinct from $3 and c.expires_at > now()) as taken`,
    [accountId, email, exceptId],
  )
  return rows[0]?.taken ?? false
}

export type PendingAddressChange = {
  readonly userId: string
  readonly email: string
  readonly pendingEmail: string
  /** Label of the management key; null: deleted. */
  readonly program: string | null
  readonly requestedAt: number
}

/** The oldest first. */
export async function listAddressChanges(
  db: Queryable,
  accountId: string,
  limit: number,
): Promise<readonly PendingAddressChange[]> {
  const { rows } = await db.query<PendingAddressChange>(
    `select c.user_id as "userId", u.email, c.email as "pendingEmail", k.label as program, c.requested_at as "requestedAt"
     from address_changes c join users u on u.id = c.user_id left join management_keys k on k.id = c.requested_by
     where c.account_id = $1 and c.expires_at > now() order by c.requested_at, c.user_id limit $2`,
    [accountId, limit],
  )
  return rows
}

export async function countAddressChanges(db: Queryable, accountId: string): Promise<number> {
  const { rows } = await db.query<{ pending: number }>(
    'select count(*) as pending from address_changes where account_id = $1 and expires_at > now()',
    [accountId],
  )
  return rows[0]?.pending ?? 0
}

export function forgetAddressChanges(db: Queryable): Promise<void> {
  return forget(db, 'address_changes', 'expires_at < now()')
}
