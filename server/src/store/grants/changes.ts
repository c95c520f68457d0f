/**
 * The table grant_changes: the feed of everything that changes what a credential may do, pulled by every process.
 *
 * A row is written in the transaction that makes the change. Transactions do not commit in the order in which they
 * began, so a reader does not remember the last row it saw but the oldest transaction that was still running when it
 * read: every row it could not see yet has that transaction number or a higher one. Some rows are read twice, none is
 * missed, and writers do not wait.
 */

import { HISTORY, type History, type HistoryRow, historyFrom } from '../postgres/history.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

/** Affected grants: a single one, all of a user, all in an account (its roles changed), or all of an application. */
export type GrantChange =
  | { readonly grantId: string }
  | { readonly userId: string }
  | { readonly accountId: string }
  | { readonly applicationId: string }

export async function announce(tx: Transaction, change: GrantChange): Promise<void> {
  const [name, value] = Object.entries(change)[0] ?? []
  const columns = { grantId: 'grant_id', userId: 'user_id', accountId: 'account_id', applicationId: 'application_id' }
  await tx.query(`insert into grant_changes (at, ${columns[name as keyof typeof columns]}) values (now(), $1)`, [value])
}

export async function announceGrants(tx: Transaction, grantIds: readonly string[]): Promise<void> {
  if (grantIds.length === 0) return
  await tx.query('insert into grant_changes (at, grant_id) select now(), unnest($1::text[])', [grantIds])
}

/** Position of a reader: a transaction number (xid8) as text. */
export type FeedPosition = string

type Row = HistoryRow & {
  position: string
  xid: string
  grant_id: string | null
  user_id: string | null
  account_id: string | null
  application_id: string | null
}

/** A change with the transaction that made it. */
export type PulledChange = GrantChange & { readonly xid: string }

export type PulledChanges = {
  readonly position: FeedPosition
  readonly changes: readonly PulledChange[]
  readonly history: History
}

/**
 * `after` null: start now. The changes returned then are those that the next pull reads again, because an older
 * transaction is still running.
 */
export async function readGrantChanges(db: Queryable, after: FeedPosition | null): Promise<PulledChanges> {
  const { rows } = await db.query<Row>({
    name: 'read-grant-changes',
    text: `select pg_snapshot_xmin(pg_current_snapshot())::text as position, c.xid::text as xid, c.grant_id, c.user_id, c.account_id,
        c.application_id, here.*
      from (select ${HISTORY}) as here left join grant_changes c on c.xid >= coalesce($1::xid8, pg_snapshot_xmin(pg_current_snapshot()))`,
    values: [after],
  })
  return { position: rows[0]?.position ?? '0', changes: rows.flatMap(changeFrom), history: historyFrom(rows[0]) }
}

function changeFrom({ xid, ...row }: Row): PulledChange[] {
  if (row.grant_id !== null) return [{ xid, grantId: row.grant_id }]
  if (row.user_id !== null) return [{ xid, userId: row.user_id }]
  if (row.account_id !== null) return [{ xid, accountId: row.account_id }]
  if (row.application_id !== null) return [{ xid, applicationId: row.application_id }]
  return []
}

/**
 * Purges changes after an hour. A process that has not pulled for that long drops its whole cache
 * (flows/grants/cache.ts).
 */
export function forgetGrantChanges(db: Queryable): Promise<void> {
  return forget(db, 'grant_changes', "at < now() - interval '1 hour'")
}
