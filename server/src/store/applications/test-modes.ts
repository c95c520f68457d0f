/**
 * The table application_test_modes. A decision in test mode shares the lock of its row, and whoever ends test mode takes
 * it first, so that no grant is made meanwhile.
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

const TEST_MODE = `select t.user_id, t.key_id, t.digest, t.ends_at, now() as now
  from application_test_modes t where t.application_id = $1`

export type LockedTestMode = { readonly testMode: TestMode; readonly now: number }

/** For a decision, so that ending it waits for the grant and revokes it. Several tests of one application decide at once. */
export async function shareTestMode(tx: Transaction, applicationId: string): Promise<void> {
  await tx.query('select from application_test_modes where application_id = $1 for share', [applicationId])
}

/** For its end: waits for decisions that are under way. */
export async function lockTestMode(tx: Transaction, applicationId: string): Promise<LockedTestMode | null> {
  return first(await tx.query<Row>(`${TEST_MODE} for update of t`, [applicationId]))
}

function first({ rows: [row] }: { readonly rows: readonly Row[] }): LockedTestMode | null {
  if (!row) return null
  const secret = { keyId: row.key_id, digest: row.digest }
  return { testMode: { userId: row.user_id, secret, endsAt: row.ends_at }, now: row.now }
}

export async function deleteTestMode(tx: Transaction, applicationId: string): Promise<void> {
  await tx.query('delete from application_test_modes where application_id = $1', [applicationId])
}

/** Applications whose test mode is past its time. */
export async function listOverdueTestModes(db: Queryable): Promise<readonly string[]> {
  const { rows } = await db.query<{ application_id: string }>(
    'select application_id from application_test_modes where ends_at <= now() order by application_id',
  )
  return rows.map((row) => row.application_id)
}

/** Applications that are tested as this user, with their test modes locked. */
export async function lockTestModesOf(tx: Transaction, userId: string): Promise<readonly string[]> {
  const { rows } = await tx.query<{ application_id: string }>(
    'select application_id from application_test_modes where user_id = $1 order by application_id for update',
    [userId],
  )
  return rows.map((row) => row.application_id)
}

export async function listTestModesOfKey(db: Queryable, keyId: number): Promise<readonly string[]> {
  const { rows } = await db.query<{ application_id: string }>(
    'select application_id from application_test_modes where key_id = $1 order by application_id',
    [keyId],
  )
  return rows.map((row) => row.application_id)
}
