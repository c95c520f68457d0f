/**
 * Commits with a synchronous standby: an answer is sent only after the standby has everything that the answer says.
 * docs/history.md#0055
 */
import type pg from 'pg'
import { WRITTEN } from './confirmed-commits.ts'

/**
 * Commits, and waits until the standby has everything that the transaction read or wrote. A row can be visible although
 * the standby lacks it: the wait of its commit was cancelled, or PostgreSQL was restarted meanwhile. A transaction that
 * writes waits for its own commit, and so for all before it. One that wrote nothing would not wait, so it writes an
 * empty logical message, which changes no table. A standby refuses this as read-only.
 */
export const COMMIT = `select case when pg_current_xact_id_if_assigned() is null and current_setting('synchronous_standby_names') <> ''
    then pg_logical_emit_message(pg_current_xact_id() is not null, 'latchkey', '') end, ${WRITTEN} as written; commit`

/**
 * The function of PostgreSQL that waits for the standby. Its warning means that the commit is visible here and may be
 * missing there. The text of the warning depends on the language of the server, this name does not.
 */
const STANDBY_WAIT_ROUTINE = 'SyncRepWaitForLSN'

const unconfirmed = new WeakSet<pg.ClientBase>()

/** Watches every connection of the pool. */
export function watchCommits(pool: pg.Pool): void {
  pool.on('connect', (client) => {
    client.on('notice', ({ routine }) => {
      if (routine === STANDBY_WAIT_ROUTINE) unconfirmed.add(client)
    })
  })
}

/** Throws if the standby may lack a commit of this connection, which must not be used again. */
export function checkCommits(client: pg.ClientBase): void {
  if (unconfirmed.has(client)) throw new Error('the standby did not confirm the commit')
}
