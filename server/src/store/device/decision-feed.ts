/**
 * Feed of decisions about device codes, pulled by every process: read from audit_events, which each decision writes to
 * in its own transaction anyway. docs/decisions/0026-decisions-are-announced-by-the-audit-log.md.
 *
 * Transactions do not commit in the order in which they began. So a reader continues from the snapshot of its last read:
 * it reads the transactions that had not ended then, and those that began since. Each row is read once, none is missed,
 * however long a transaction runs, and writers do not wait.
 */
import type { AuditKind } from '../../core/audit/kind.ts'
import { HISTORY, type History, type HistoryRow, historyFrom } from '../postgres/history.ts'
import type { Queryable } from '../postgres/postgres.ts'

/** Events after which the next poll of the code may get another answer. */
const DECISIVE: readonly AuditKind[] = ['grant.created', 'code.rejected', 'code.closed']

export type AnnouncedDecisions = {
  readonly deviceCodeIds: readonly string[]
  /** The snapshot that this read saw. */
  readonly position: string
  readonly history: History
}

type Row = HistoryRow & { position: string; device_code_id: string | null }

/** `position`: of the read before; null: return the current position only. */
export async function readAnnouncedDecisions(db: Queryable, position: string | null): Promise<AnnouncedDecisions> {
  const { rows } = await db.query<Row>({
    name: 'read-announced-decisions',
    // The upper bound excludes events of a restored dump, whose transaction numbers come from another server. The bound
    // on `at` prunes partitions: no transaction is a month old and nothing is written ahead of time, so two to four
    // months are read.
    text: `select seen::text as position, e.device_code_id, ${HISTORY}
      from pg_current_snapshot() as seen left join audit_events e
        on (e.xid >= pg_snapshot_xmax($1::pg_snapshot) or e.xid = any(array(select pg_snapshot_xip($1::pg_snapshot))))
          and e.xid < pg_snapshot_xmax(seen) and e.at > now() - interval '1 month' and e.kind = any($2)
          and e.device_code_id is not null`,
    values: [position, DECISIVE],
  })
  const [first] = rows
  if (!first) throw new Error('the query of the current snapshot returned no row')
  const deviceCodeIds = rows.flatMap(({ device_code_id }) => device_code_id ?? [])
  return { deviceCodeIds, position: first.position, history: historyFrom(first) }
}
