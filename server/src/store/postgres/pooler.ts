/**
 * Connection poolers, such as PgBouncer in transaction mode: each transaction of a client may run in another session of
 * PostgreSQL. So named statements are not used behind one, nothing is set for a session, and what the service sets when
 * it connects has to be set by the pooler (docs/history.md#0057).
 */
import type pg from 'pg'

/** What a connection of the service sets when it begins, and a pooler does not pass on. */
const SESSION = `select pg_backend_pid() as pid, concat_ws(', ',
    case when upper(current_setting('timezone')) <> 'UTC' then 'timezone' end,
    case when current_setting('jit') = 'on' then 'jit' end,
    case when current_setting('statement_timeout') = '0' then 'statement_timeout' end,
    case when current_setting('lock_timeout') = '0' then 'lock_timeout' end,
    case when current_setting('idle_in_transaction_session_timeout') = '0'
      then 'idle_in_transaction_session_timeout' end) as unset`

type Connected = Pick<pg.ClientBase, 'query'> & { readonly processID?: number | null }

/** `pooled`: the process id sent when the connection started (BackendKeyData) is not that of the PostgreSQL backend. */
export async function examineConnection(
  client: Connected,
): Promise<{ readonly pooled: boolean; readonly unset: string }> {
  const { rows } = await client.query<{ pid: number; unset: string }>(SESSION)
  return { pooled: rows[0]?.pid !== client.processID, unset: rows[0]?.unset ?? '' }
}

export type Pooler = {
  /** For each new connection, before its first use. Fails if the pooler leaves out a setting. */
  recognise(client: Connected): Promise<void>
  readonly isThere: boolean
}

export function createPooler(): Pooler {
  let isThere = false
  return {
    recognise: async (client) => {
      const { pooled, unset } = await examineConnection(client)
      if (!pooled) return
      isThere = true
      if (unset !== '')
        throw new Error(`the connection pooler does not set ${unset}, as connect_query in ${REFERENCE} does`)
    },
    get isThere() {
      return isThere
    },
  }
}

const REFERENCE = 'deploy/pgbouncer/pgbouncer.ini'

/** Whether the message says that a pooler rejects or lacks a setting of the service. */
export function isRefusalOfPooler(message: string): boolean {
  return /connection pooler|unsupported startup parameter/.test(message)
}
