/**
 * Feed of decisions about device codes, pulled by every process: read from audit_events, which each decision writes to
 * in its own transaction anyway. docs/decisions/0026-decisions-are-announced-by-the-audit-log.md.
 *
 * Transactions do not commit in the order in which they began, so a reader continues from the oldest transaction that
 * was still running at its last read. Some rows are read twice, none is missed, and writers do not wait.
 */
import type { AuditKind } from '../../core/audit/kind.ts'
import { HISTORY, type History, type HistoryRow, historyFrom } from '../postgres/history.ts'
import type { Queryable } from '../postgres/postgres.ts'

/** Events after which the next poll of the code may get another answer. */
const DECISIVE: readonly AuditKind[] = ['grant.created', 'code.rejected', 'code.closed']

export type AnnouncedDecisions = {
  readonly deviceCodeIds: readonly string[]
  /** Every transaction with a lower number has ended. */
  readonly oldestRunning: bigint
  readonly history: History
}

type Row = HistoryRow & { oldest_running: string; device_code_id: string | null }

/** `from`: the lowest transaction number to read; null: return the current position only. */
export async function readAnnouncedDecisions(db: Queryable, from: bigint | null): Promise<AnnouncedDecisions> {
  const { rows } = await db.query<Row>({
    name: 'read-announced-decisions',
    // The upper bound excludes events of a restored dump, whose transaction numbers come from another server. The bound
    // on `at` prunes partitions: no transaction is a month old and nothing is written ahead of time, so two to four
    // months are read.
    text: `select pg_snapshot_xmin(seen)::text as oldest_running, e.device_code_id, ${HISTORY}
      from pg_current_snapshot() as seen left join audit_events e
        on e.xid >= $1::xid8 and e.xid < pg_snapshot_xmax(seen) and e.at > now() - interval '1 month' and e.kind = any($2) and e.device_code_id is not null`,
    values: [from?.toString() ?? null, DECISIVE],
  })
  const deviceCodeIds = rows.flatMap(({ device_code_id }) => device_code_id ?? [])
  return { deviceCodeIds, oldestRunning: BigInt(rows[0]?.oldest_running ?? 0), history: historyFrom(rows[0]) }
}
