/**
 * The advisory locks of the service, by name. ARCHITECTURE.md, "Lock order", says what each one is for and in which
 * order they are taken.
 */
import type { Transaction } from './postgres.ts'

/**
 * A name is one lock in the whole database, held until the transaction ends. PostgreSQL identifies advisory locks by a
 * number, so names are hashed; if two names collide, their holders wait for each other, and nothing worse.
 */
export type AdvisoryLock =
  | 'application_changes'
  | 'audit_seals'
  | 'counting_days'
  | 'counting_today'
  | 'device_code_partitions'
  | 'dropping_partitions'
  | 'forgetting_grants'
  | 'judging'
  | 'reminding'
  | 'restoring'
  | `crowd:${string}`
  | `entry:${string}`
  | `external_id:${string}`
  | `mails:${string}`
  | `review:${string}`
  | `sign_in:${string}`
  | `user_code:${string}`

export async function lockByName(tx: Transaction, name: AdvisoryLock): Promise<void> {
  await tx.query({
    name: 'lock-by-name',
    text: 'select pg_advisory_xact_lock(hashtextextended($1, 0))',
    values: [name],
  })
}

/** In one statement. The names are sorted, so that two transactions with the same ones do not wait for each other. */
export async function lockByNames(tx: Transaction, names: readonly AdvisoryLock[]): Promise<void> {
  await tx.query({
    name: 'lock-by-names',
    text: 'select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest($1::text[]) as name',
    values: [names.toSorted()],
  })
}

/** False when another transaction holds the lock: for jobs that need to run in one process only. */
export async function tryLockByName(tx: Transaction, name: AdvisoryLock): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked',
    [name],
  )
  return rows[0]?.locked ?? false
}

/**
 * Session lock and not a transaction lock, because some migrations run outside a transaction (migrate.ts). A fixed
 * number, so that an operator can find in pg_locks what a second `latchkey migrate` waits for.
 */
export const MIGRATION_LOCK = 7_018_001

/** Session lock, too: `latchkey audit detach` detaches partitions outside a transaction. One month at a time. */
export const DETACH_LOCK = 7_018_005
