/** A migrated PostgreSQL of a test's own, in a temporary folder: one that it may stop and freeze without disturbing anybody. */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPostgres } from '../../../tools/engine-processes.ts'
import { freePort } from '../../../tools/free-port.ts'
import { migrate } from '../../src/store/postgres/migrate.ts'

export type OwnPostgres = {
  readonly url: string
  start(): void
  /** At once, as if the machine had lost its power. */
  stop(): void
  /** It accepts connections and says nothing, until it is thawed. */
  freeze(): void
  thaw(): void
  remove(): void
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-postgres-'))
  // PostgreSQL runs as a user of its own and has to get in.
  chmodSync(folder, 0o755)
  const postgres = createPostgres(folder, await freePort())
  postgres.start()
  await migrate(postgres.url)
  return {
    url: postgres.url,
    start: postgres.start,
    stop: () => postgres.stop('immediate'),
    freeze: () => signalAll(postgres.pid(), 'SIGSTOP'),
    thaw: () => signalAll(postgres.pid(), 'SIGCONT'),
    remove: () => {
      signalAll(postgres.pid(), 'SIGCONT')
      postgres.stop('immediate')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** To each of its processes: a stopped postmaster alone would not keep its backends from answering. */
function signalAll(postmaster: number | null, signal: NodeJS.Signals): void {
  if (postmaster === null) return
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ').map(Number)
  for (const each of [postmaster, ...children]) {
    try {
      process.kill(each, signal)
    } catch (error) {
      // A backend whose client has gone may end between being listed and being signalled.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
