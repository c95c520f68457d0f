/** A real PgBouncer with deploy/pgbouncer/pgbouncer.ini, on a free port, in front of the PostgreSQL of the tests. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isFree, onFreePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { spawnTied } from '../process/tied-process.ts'
import { engineUrl } from './database.ts'

const REFERENCE = new URL('../../../../deploy/pgbouncer/pgbouncer.ini', import.meta.url)

const PASSWORD = 'a-password-of-this-test'

export type PgBouncer = {
  /** The same database, through the pooler. */
  through(databaseUrl: string): string
  start(): Promise<void>
  /** Resolves when it has ended. */
  stop(): Promise<void>
  remove(): Promise<void>
}

/** `poolSize`: connections to PostgreSQL. `change`: a mistake in the file. */
export async function startPgBouncer(poolSize: number, change = (text: string) => text): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-pgbouncer-'))
  // PgBouncer refuses to run as root.
  chmodSync(folder, 0o755)
  const { username, port: postgresPort } = new URL(engineUrl('DATABASE_URL'))
  const users = join(folder, 'users.txt')
  writeFileSync(users, `"${username}" "${PASSWORD}"\n`)
  const file = join(folder, 'pgbouncer.ini')
  let child: ChildProcess | null = null
  let port = 0
  const start = async () => {
    const started = spawnPgBouncer(file)
    child = started
    while (await isFree(port)) {
      if (started.exitCode !== null)
        throw new Error(`EADDRINUSE: PgBouncer ended, probably because port ${port} is taken`)
      await sleep(20)
    }
  }
  await onFreePort(async (free) => {
    port = free
    const replaced: readonly (readonly [string, string])[] = [
      ['latchkey = host=127.0.0.1 port=5432 dbname=latchkey', `* = host=127.0.0.1 port=${postgresPort}`],
      ['listen_port = 6432', `listen_port = ${port}\nunix_socket_dir =`],
      ['/etc/pgbouncer/userlist.txt', users],
      ['default_pool_size = 40', `default_pool_size = ${poolSize}`],
    ]
    const text = replaced.reduce(
      (before, [from, to]) => {
        if (!before.includes(from)) throw new Error(`pgbouncer.ini has no "${from}"`)
        return before.replace(from, to)
      },
      readFileSync(REFERENCE, 'utf8'),
    )
    writeFileSync(file, change(text))
    await start()
  })
  const stop = async () => {
    if (child === null || child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  return {
    through: (databaseUrl) => {
      const url = new URL(databaseUrl)
      return Object.assign(url, { port: String(port), password: PASSWORD }).href
    },
    start,
    stop,
    remove: async () => {
      await stop()
      removeFolder(folder)
    },
  }
}

function spawnPgBouncer(file: string): ChildProcess {
  const program = '/usr/sbin/pgbouncer'
  if (process.getuid?.() !== 0) return spawnTied('KILL', program, ['-q', file], { stdio: 'ignore' })
  // Changing the user clears the parent-death signal, so setpriv sets it again.
  const as = ['--reuid', 'postgres', '--regid', 'postgres', '--clear-groups', '--pdeathsig', 'KILL']
  return spawnTied('KILL', '/usr/bin/setpriv', [...as, program, '-q', file], { stdio: 'ignore' })
}
