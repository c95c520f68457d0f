/**
 * Continuity of PostgreSQL: whether it still has every commit that a process saw before. After a failover to a standby
 * that lagged behind, or a restore, it has not, and what the process remembers must be read again
 * (docs/history.md#0039).
 *
 * Each pull of changes reads these columns in its own statement, so that they describe the very server and snapshot
 * that its rows come from.
 */

/**
 * Columns for any query. `server` changes whenever commits can have been lost: PostgreSQL was started (every failover
 * and every physical restore starts or changes the server), or the database or its tables were created anew.
 */
export const HISTORY = `concat_ws('/', extract(epoch from pg_postmaster_start_time()),
    (select oid from pg_database where datname = current_database()), to_regclass('applications')::oid) as server,
  pg_snapshot_xmax(pg_current_snapshot())::text as next_xid`

export type HistoryRow = { readonly server: string; readonly next_xid: string }

export type History = {
  readonly server: string
  /** No transaction has this number yet. */
  readonly nextXid: bigint
}

export function historyFrom(row: HistoryRow | undefined): History {
  return { server: row?.server ?? '', nextXid: BigInt(row?.next_xid ?? 0) }
}

/**
 * False if commits may have been lost between the two. Transaction numbers alone do not tell: new transactions may
 * have caught up before this process looks again.
 */
export function isContinued(before: History, now: History): boolean {
  return before.server === now.server && before.nextXid <= now.nextXid
}
