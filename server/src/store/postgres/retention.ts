/**
 * Retention of ended grants and of the addresses in them: docs/history.md#0030. Rows
 * that refer to a grant (codes, dialogs, audit events, deliveries) hold its id only and outlive it.
 */

import { tryLockByName } from './advisory-locks.ts'
import type { Postgres } from './postgres.ts'

/** Limits how long a refresh may wait for a grant in a batch: until the batch is written. */
const BATCH = 500

/** For each kind of row. The rest is left to the next sweep. */
const MAX_MS = 2 * 60 * 1000

export type GrantRetention = {
  /** How long a grant is kept after it ended. */
  readonly keptMs: number
  /** Maximum lifetime of a token set. */
  readonly maxMs: number
}

/**
 * Purges grants revoked, and token sets expired, longer ago than `keptMs`. A grant that a link refers to is kept until
 * the link is purged.
 */
export async function forgetEndedGrants(db: Postgres, { keptMs, maxMs }: GrantRetention): Promise<void> {
  const ended = [
    ['revoked_at', 'revoked_at is not null', keptMs],
    ['created_at', "revoked_at is null and variant = 'token_set'", maxMs + keptMs],
  ] as const
  for (const [moment, which, ageMs] of ended) {
    await inBatches(
      db,
      `delete from grants where id in (
         select id from grants g where ${which} and ${moment} < now() - $1 * interval '1 millisecond'
           and not exists (select from links l where l.grant_id = g.id)
         order by ${moment} limit ${BATCH} for update skip locked)`,
      ageMs,
    )
  }
}

/** Clears the requesting address of grants older than `keptMs`, live ones included. */
export function forgetAddresses(db: Postgres, keptMs: number): Promise<void> {
  return inBatches(
    db,
    `update grants set requested_from = null where id in (
       select id from grants where requested_from is not null and created_at < now() - $1 * interval '1 millisecond'
       order by created_at limit ${BATCH} for no key update skip locked)`,
    keptMs,
  )
}

/** Until a batch is not full. Runs in one process at a time. Skips locked rows; the next sweep finds them again. */
async function inBatches(db: Postgres, statement: string, ageMs: number): Promise<void> {
  for (const until = performance.now() + MAX_MS; performance.now() < until; ) {
    const written = await db.transaction(async (tx) => {
      if (!(await tryLockByName(tx, 'forgetting_grants'))) return 0
      return (await tx.query(statement, [ageMs])).rowCount ?? 0
    })
    if (written < BATCH) return
  }
}
