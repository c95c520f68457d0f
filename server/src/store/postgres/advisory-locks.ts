/**
 * The advisory locks of the service, all of them by name. ARCHITECTURE.md, "Lock order", says what each one is for and which lock
 * is taken first.
 */
import type { Transaction } from './postgres.ts'

/**
 * A name is one lock in the whole database. Held until the transaction ends. PostgreSQL knows advisory locks by a number, so
 * names are hashed: should two names ever share a number, they wait for each other, and nothing worse.
 */
export type AdvisoryLock =
  | 'application_changes'
  | 'audit_seals'
  | 'device_code_partitions'
  | 'dropping_partitions'
  | 'forgetting_grants'
  | 'judging'
  | 'reminding'
  | `crowd:${string}`
  | `entry:${string}`
  | `mails:${string}`
  | `review:${string}`
  | `sign_in:${string}`
  | `user_code:${string}`

export async function lockByName(tx: Transaction, name: AdvisoryLock): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name])
}

/** False when another transaction holds it: for jobs of which one at a time is enough. */
export async function tryLockByName(tx: Transaction, name: AdvisoryLock): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked',
    [name],
  )
  return rows[0]?.locked ?? false
}

/**
 * Of a session and not of a transaction, because some migrations run outside one (migrate.ts). A number, so that it can be found in
 * pg_locks by an operator who wonders what a second `latchkey migrate` waits for.
 */
export const MIGRATION_LOCK = 7_018_001

/** Of a session, too: `latchkey audit archive` detaches partitions outside a transaction. One archive at a time. */
export const ARCHIVE_LOCK = 7_018_005
