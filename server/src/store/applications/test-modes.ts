/**
 * The table application_test_modes. Rows are inserted and deleted only behind `application_changes`; a test decision
 * locks its row, so that no grant is made while test mode ends.
 */
import type { TestMode } from '../../core/applications/test-mode.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export type NewTestMode = Omit<TestMode, 'endsAt'> & { readonly applicationId: string; readonly lifetimeMs: number }

/** Returns when it ends. */
export async function insertTestMode(tx: Transaction, testMode: NewTestMode): Promise<number> {
  const { applicationId, userId, secret, lifetimeMs } = testMode
  const { rows } = await tx.query<{ endsAt: number }>(
    `insert into application_test_modes (application_id, user_id, key_id, digest, started_at, ends_at)
     values ($1, $2, $3, $4, now(), now() + $5 * interval '1 millisecond') returning ends_at as "endsAt"`,
    [applicationId, userId, secret.keyId, secret.digest, lifetimeMs],
  )
  return rows[0]?.endsAt ?? 0
}

type Row = { user_id: string; key_id: number; digest: Buffer; ends_at: number; now: number }

export type LockedTestMode = { readonly testMode: TestMode; readonly now: number }

/** Shared: several tests of one application decide at once, and test mode ends after them. */
export async function lockTestMode(tx: Transaction, applicationId: string): Promise<LockedTestMode | null> {
  const { rows } = await tx.query<Row>(
    `select t.user_id, t.key_id, t.digest, t.ends_at, now() as now
     from application_test_modes t where t.application_id = $1 for share of t`,
    [applicationId],
  )
  const [row] = rows
  if (!row) return null
  const secret = { keyId: row.key_id, digest: row.digest }
  return { testMode: { userId: row.user_id, secret, endsAt: row.ends_at }, now: row.now }
}

/** False when there was none. */
export async function deleteTestMode(tx: Transaction, applicationId: string): Promise<boolean> {
  const { rowCount } = await tx.query('delete from application_test_modes where application_id = $1', [applicationId])
  return rowCount === 1
}

/** Applications whose test mode is past its time. */
export async function listOverdueTestModes(db: Queryable): Promise<readonly string[]> {
  return applicationIds(db, 'ends_at <= now()', [])
}

/** Applications that are tested as this user. */
export async function listTestModesOf(db: Queryable, userId: string): Promise<readonly string[]> {
  return applicationIds(db, 'user_id = $1', [userId])
}

async function applicationIds(db: Queryable, condition: string, values: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ application_id: string }>(
    `select application_id from application_test_modes where ${condition} order by application_id`,
    [...values],
  )
  return rows.map((row) => row.application_id)
}
