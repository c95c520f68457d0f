/**
 * Decisions about device codes, as every process hears of them: read from audit_events, which each decision writes to in its own
 * transaction anyway. docs/decisions/0026-decisions-are-announced-by-the-audit-log.md.
 *
 * Transactions commit in another order than they began, so a reader goes on from the oldest transaction that was still running
 * when it last looked. Some rows are read twice, none is missed, and writers wait for nothing.
 */
import type { AuditKind } from '../../core/audit/kind.ts'
import type { Queryable } from '../postgres/postgres.ts'

/** Events after which the next poll of the code may have another answer. */
const DECISIVE: readonly AuditKind[] = ['grant.created', 'code.rejected', 'code.closed']

export type AnnouncedDecisions = {
  readonly deviceCodeIds: readonly string[]
  /** Every transaction with a lower number is over. */
  readonly oldestRunning: bigint
  /** No transaction has this number yet. */
  readonly next: bigint
}

type Row = { oldest_running: string; next: string; device_code_id: string | null }

/** `from`: the lowest transaction number of interest; null: only where the feed stands now. */
export async function readAnnouncedDecisions(db: Queryable, from: bigint | null): Promise<AnnouncedDecisions> {
  const { rows } = await db.query<Row>({
    name: 'read-announced-decisions',
    // The upper bound keeps out what a restored dump brought along: numbers that another server gave out. No transaction is a
    // month old, and nothing is written ahead of time: of all the months, two to four are looked into.
    text: `select pg_snapshot_xmin(seen)::text as oldest_running, pg_snapshot_xmax(seen)::text as next, e.device_code_id
      from pg_current_snapshot() as seen left join audit_events e
        on e.xid >= $1::xid8 and e.xid < pg_snapshot_xmax(seen) and e.at > now() - interval '1 month' and e.kind = any($2) and e.device_code_id is not null`,
    values: [from?.toString() ?? null, DECISIVE],
  })
  const deviceCodeIds = rows.flatMap(({ device_code_id }) => device_code_id ?? [])
  return { deviceCodeIds, oldestRunning: BigInt(rows[0]?.oldest_running ?? 0), next: BigInt(rows[0]?.next ?? 0) }
}
