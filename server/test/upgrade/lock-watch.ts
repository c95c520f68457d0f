/** How long requests wait for locks of a migration, by pg_locks, looked at every few milliseconds. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

export type LongestWait = { readonly ms: number; readonly what: string }

export type LockWatch = { longest(): LongestWait; stop(): Promise<void> }

const EVERY_MS = 10

/** The longest wait for a lock that the migration holds or requested earlier. Other lock waits are left out. */
const WAITS = `
  select extract(epoch from clock_timestamp() - l.waitstart) * 1000 as ms, l.mode || ' on ' || coalesce(l.relation::regclass::text, l.locktype) ||
    ', in ' || left(a.query, 100) as what
  from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where not l.granted and l.waitstart is not null and a.datname = current_database() and a.application_name <> 'latchkey migrate'
    and exists (select from pg_stat_activity m where m.application_name = 'latchkey migrate' and m.pid = any(pg_blocking_pids(l.pid)))
  order by 1 desc limit 1`

export async function watchLocks(url: string): Promise<LockWatch> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  let longest: LongestWait = { ms: 0, what: 'nothing' }
  let stopped = false
  const looking = (async () => {
    while (!stopped) {
      const { rows } = await client.query<{ ms: string; what: string }>(WAITS)
      const [row] = rows
      if (row && Number(row.ms) > longest.ms) longest = { ms: Number(row.ms), what: row.what }
      await sleep(EVERY_MS)
    }
  })()
  return {
    longest: () => longest,
    stop: async () => {
      stopped = true
      await looking
      await client.end()
    },
  }
}
