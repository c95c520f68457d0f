/**
 * How long grants are kept after they ended, and the addresses in them: docs/decisions/0030-what-is-kept-and-for-how-long.md. What
 * refers to a grant (codes, dialogs, events of the audit log, deliveries) does so by its id alone and outlives it.
 */

import { tryLockByName } from './advisory-locks.ts'
import type { Postgres } from './postgres.ts'

/** A refresh may wait for a grant that is being written: for as long as it takes to write so many. */
const BATCH = 500

/** What is left after so many is for the next sweep. */
const MAX_BATCHES = 100

export type GrantRetention = {
  /** After a grant has ended. */
  readonly keptMs: number
  /** After which a token set has ended in any case. */
  readonly maxMs: number
}

/** Forgets grants that were revoked so long ago, and token sets that ran out so long ago. A link that refers to one goes first. */
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

/** Forgets where living grants were asked from, too. */
export function forgetAddresses(db: Postgres, keptMs: number): Promise<void> {
  return inBatches(
    db,
    `update grants set requested_from = null where id in (
       select id from grants where requested_from is not null and created_at < now() - $1 * interval '1 millisecond'
       order by created_at limit ${BATCH} for no key update skip locked)`,
    keptMs,
  )
}

/** By one process at a time. Whoever holds a row at this moment is not waited for: the next sweep finds it again. */
async function inBatches(db: Postgres, statement: string, ageMs: number): Promise<void> {
  for (let batch = 1; batch <= MAX_BATCHES; batch += 1) {
    const written = await db.transaction(async (tx) => {
      if (!(await tryLockByName(tx, 'forgetting_grants'))) return 0
      return (await tx.query(statement, [ageMs])).rowCount ?? 0
    })
    if (written < BATCH) return
  }
}
