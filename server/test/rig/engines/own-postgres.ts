/** A migrated PostgreSQL of its own, in a temporary folder, that a test may stop and freeze. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPostgres } from '../../../../tools/engine-processes.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { signalAll } from './postgres-programs.ts'

export type OwnPostgres = {
  readonly url: string
  start(): void
  /** Immediate shutdown, as in a power failure. */
  stop(): void
  /** Accepts connections but does not answer until it is thawed. */
  freeze(): void
  thaw(): void
  remove(): void
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-postgres-'))
  // PostgreSQL runs as another user and needs access.
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
