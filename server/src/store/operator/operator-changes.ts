/** The table operator_changes. Its rows are written only after `lockAccount`. */
import type { OperatorChangeKind, OperatorChangeOutcome } from '../../core/operator/operator-change.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { operatorsOf } from './operators.ts'

export type OperatorChange = {
  readonly id: string
  readonly accountId: string
  readonly change: OperatorChangeKind
  /** Null: the user does not exist yet. */
  readonly userId: string | null
  readonly email: string
  readonly roleIds: readonly string[] | null
  readonly language: string
  /** User id. */
  readonly by: string
  readonly operators: readonly string[]
  readonly proposedAt: number
  readonly expiresAt: number
}

export type NewOperatorChange = Omit<OperatorChange, 'operators' | 'proposedAt' | 'expiresAt'>

/** False when a change of this user is already pending. */
export async function insertOperatorChange(
  tx: Transaction,
  change: NewOperatorChange,
  confirmableMs: number,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into operator_changes (id, account_id, change, user_id, email, role_ids, language, proposed_by, proposed_at,
       operators, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, now(), ${operatorsOf('$2')}, now() + $9 * interval '1 millisecond')
     on conflict (account_id, email) where outcome is null do nothing`,
    [
      ...[change.id, change.accountId, change.change, change.userId, change.email, change.roleIds, change.language],
      ...[change.by, confirmableMs],
    ],
  )
  return rowCount === 1
}

const CHANGE = `select id, account_id as "accountId", change, user_id as "userId", email, role_ids as "roleIds", language,
    proposed_by as by, operators, proposed_at as "proposedAt", expires_at as "expiresAt"
  from operator_changes`

const PENDING = 'outcome is null and expires_at > now()'

/** Null when it is decided or expired. */
export async function findPendingChange(db: Queryable, accountId: string, id: string): Promise<OperatorChange | null> {
  const { rows } = await db.query<OperatorChange>(`${CHANGE} where account_id = $1 and id = $2 and ${PENDING}`, [
    accountId,
    id,
  ])
  return rows[0] ?? null
}

/** Oldest first. */
export async function listPendingChanges(db: Queryable, accountId: string): Promise<readonly OperatorChange[]> {
  const { rows } = await db.query<OperatorChange>(
    `${CHANGE} where account_id = $1 and ${PENDING} order by proposed_at, id`,
    [accountId],
  )
  return rows
}

export async function markChangeDecided(
  tx: Transaction,
  id: string,
  outcome: Exclude<OperatorChangeOutcome, 'expired'>,
  by: string,
): Promise<void> {
  await tx.query(
    'update operator_changes set outcome = $2, decided_by = $3, decided_at = now() where id = $1 and outcome is null',
    [id, outcome, by],
  )
}

/** Accounts with changes that nobody confirmed in time. */
export async function listAccountsWithExpired(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select distinct account_id as id from operator_changes where outcome is null and expires_at <= now()',
  )
  return rows.map(({ id }) => id)
}

/** Returns what it marked. */
export async function markChangesExpired(tx: Transaction, accountId: string): Promise<readonly OperatorChange[]> {
  const { rows } = await tx.query<OperatorChange>(
    `with expired as (
       update operator_changes set outcome = 'expired', decided_at = now()
       where account_id = $1 and outcome is null and expires_at <= now() returning id)
     ${CHANGE} where id in (select id from expired)`,
    [accountId],
  )
  return rows
}
