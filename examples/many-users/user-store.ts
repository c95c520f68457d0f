/** A server that acts for many users: one row per user holds the credentials, and a lock per user lets one process refresh. */
import { type Client, createClient, type Store } from '@latchkey/sdk'
import type pg from 'pg'

// #region store
/** `locks` is a pool of its own: a connection is held while a refresh is under way. */
export function userStore(db: pg.Pool, locks: pg.Pool, userId: number): Store {
  return {
    read: async () => {
      const { rows } = await db.query('select credentials from latchkey_credentials where user_id = $1', [userId])
      return rows[0]?.credentials ?? null
    },
    write: async (credentials) => {
      await db.query(
        `insert into latchkey_credentials (user_id, credentials) values ($1, $2)
         on conflict (user_id) do update set credentials = excluded.credentials`,
        [userId, credentials],
      )
    },
    clear: async () => {
      await db.query('delete from latchkey_credentials where user_id = $1', [userId])
    },
    withLock: async (work) => {
      const connection = await locks.connect()
      try {
        await connection.query('begin')
        await connection.query(`select pg_advisory_xact_lock(hashtextextended('latchkey:' || $1::text, 0))`, [userId])
        return await work()
      } finally {
        // Closing the connection releases the lock, also if it is broken.
        connection.release(true)
      }
    },
  }
}
// #endregion

export type Service = { readonly baseUrl: string; readonly appId: string; readonly appSecret: string }

// #region use
export function clientOf(service: Service, db: pg.Pool, locks: pg.Pool, userId: number): Client {
  return createClient({ ...service, store: userStore(db, locks, userId) })
}

/** A job for one user. */
export async function readOrders(client: Client, apiUrl: string): Promise<unknown> {
  const response = await client.fetch(`${apiUrl}/orders`, { signal: AbortSignal.timeout(10_000) })
  if (!response.ok) throw new Error(`The API answered ${response.status}.`)
  return response.json()
}
// #endregion
