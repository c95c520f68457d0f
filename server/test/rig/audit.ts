/** The audit log in tests: inserts events, seals them on request, and tampers with rows. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { byService, byUser } from '../../src/core/audit/actor.ts'
import type { AuditKind } from '../../src/core/audit/kind.ts'
import { type AuditHead, readHead, sealBatch } from '../../src/flows/audit/seal.ts'
import { type Verification, verifyAudit, verifyMonth } from '../../src/flows/audit/verify.ts'
import type { Keyset } from '../../src/secrets/keyset.ts'
import { createGrantId } from '../../src/secrets/random.ts'
import { type AuditEvent, recordEvent } from '../../src/store/audit/events.ts'
import { openPostgres, type Postgres, type Queryable } from '../../src/store/postgres/postgres.ts'
import type { TestDatabase } from './engines/database.ts'

export type Log = {
  readonly db: Postgres
  record(...events: readonly Partial<AuditEvent>[]): Promise<void>
  /** Seals until all committed events are sealed. A running transaction of another test in the same PostgreSQL may delay it. */
  seal(): Promise<void>
  verify(noted?: AuditHead | null, keys?: Keyset): Promise<Verification>
  head(): Promise<AuditHead>
  close(): Promise<void>
}

export function openLog(database: TestDatabase, keys: Keyset): Log {
  const db = openPostgres(database.url, 4)
  const config = { keys } as Parameters<typeof sealBatch>[0]['config']
  return {
    db,
    record: (...events) =>
      db.transaction(async (tx) => {
        for (const event of events)
          await recordEvent(tx, { kind: 'session.started', actor: byService('test'), ...event })
      }),
    seal: async () => {
      for (;;) {
        await sealBatch({ db, config })
        const [left] = await database.query<{ left: boolean }>(
          'select exists (select from audit_events e where not exists (select from audit_seals s where s.event_id = e.id)) as left',
        )
        if (!left?.left) return
        await sleep(20)
      }
    },
    verify: (noted = null, by = keys) => verifyAudit(db, by, noted),
    head: async () => (await readHead({ db })) ?? { position: 0, hash: Buffer.alloc(0) },
    close: () => db.close(),
  }
}

/** Fills every column, each with a different value. */
export function makeEvents(count: number): readonly AuditEvent[] {
  const kinds: readonly AuditKind[] = ['session.started', 'grant.created', 'code.rejected', 'user.disabled']
  return Array.from({ length: count }, (_, index) => ({
    kind: kinds[index % kinds.length] ?? 'session.started',
    actor: byUser(`usr_${String(index).padStart(12, '1')}`),
    accountId: `acc_${String(index).padStart(12, '0')}`,
    userId: `usr_${String(index).padStart(12, '0')}`,
    applicationId: `app_${String(index).padStart(12, '0')}`,
    grantId: createGrantId(),
    deviceCodeId: randomUUID(),
    detail: { how: 'password', times: index, list: ['a', { b: null }] },
  }))
}

/** A superuser with the triggers disabled, who can change any row. */
export type Intruder = (sql: string, values?: unknown[]) => Promise<{ rows: Record<string, string>[] }>

class Undone extends Error {}

/** Verifies the log after tampering with it. */
export function tamper(
  log: Log,
  keys: Keyset,
  work: (run: Intruder) => Promise<unknown>,
  noted: AuditHead | null = null,
): Promise<Verification> {
  return tamperAndVerify(log, work, (tx) => verifyAudit(tx, keys, noted))
}

/** Verifies a detached month after tampering with its tables. */
export function tamperMonth(
  log: Log,
  keys: Keyset,
  month: string,
  work: (run: Intruder) => Promise<unknown>,
): Promise<Verification | string> {
  return tamperAndVerify(log, work, (tx) => verifyMonth(tx, keys, { month, noted: null }))
}

/** The changes are rolled back and never visible to others. */
async function tamperAndVerify<T>(
  { db }: Log,
  work: (run: Intruder) => Promise<unknown>,
  verify: (tx: Queryable) => Promise<T>,
): Promise<T> {
  let found: { readonly result: T } | null = null
  await db
    .transaction(async (tx) => {
      await tx.query('set local session_replication_role = replica')
      await work((sql, values) => tx.query(sql, values))
      found = { result: await verify(tx) }
      throw new Undone()
    })
    .catch((error) => {
      if (!(error instanceof Undone)) throw error
    })
  if (!found) throw new Error('it was not verified')
  return (found as { readonly result: T }).result
}

/** A month in UTC, as 2026-08: the current one, or `months` before it. */
export function monthAgo(months: number): string {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)).toISOString().slice(0, 7)
}

/** Records an event with this time; null: now. In a transaction of its own. */
export async function recordAt(database: TestDatabase, at: string | null): Promise<void> {
  await database.query(
    `insert into audit_events (at, kind, actor_kind, actor_id, via, detail)
     values (coalesce($1::timestamptz, now()), 'session.started', 'service', 'test', 'job',
       jsonb_build_object('how', gen_random_uuid(), 'times', 1.0))`,
    [at],
  )
}
