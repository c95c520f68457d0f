/** A migrated PostgreSQL of its own, in a temporary folder, that a test may stop and freeze. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPostgres } from '../../../../tools/engine-processes.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { processesOf, signalAll } from './postgres-programs.ts'

export type OwnPostgres = {
  readonly url: string
  start(): void
  /** Immediate shutdown, as in a power failure. */
  stop(): void
  /** SIGKILL to every process. */
  kill(): void
  /** Of all its processes that run now. */
  pids(): readonly number[]
  /** Accepts connections but does not answer until it is thawed. */
  freeze(): void
  thaw(): void
  remove(): void
}

/** `prepare`: is called with the empty folder, before it is used. */
export async function startOwnPostgres(prepare: (folder: string) => void = () => {}): Promise<OwnPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-postgres-'))
  prepare(folder)
  // PostgreSQL runs as another user and needs access.
  chmodSync(folder, 0o755)
  const postgres = createPostgres(folder, await freePort())
  postgres.start()
  await migrate(postgres.url)
  return {
    url: postgres.url,
    start: postgres.start,
    stop: () => postgres.stop('immediate'),
    kill: () => signalAll(postgres.pid(), 'SIGKILL'),
    pids: () => processesOf(postgres.pid()),
    freeze: () => signalAll(postgres.pid(), 'SIGSTOP'),
    thaw: () => signalAll(postgres.pid(), 'SIGCONT'),
    remove: () => {
      signalAll(postgres.pid(), 'SIGCONT')
      postgres.stop('immediate')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
