/** A migrated PostgreSQL with one synchronous standby behind one address, without anything that fails over by itself. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPostgres, type PostgresProcess, postgresCommand } from '../../../../tools/engine-processes.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { startSwitchingProxy } from '../network/switching-proxy.ts'
import { runProgram, runStatements, signalAll } from './postgres-programs.ts'

export type ReplicatedPostgres = {
  /** Leads to the primary, later to the standby that was promoted. */
  readonly url: string
  readonly primary: Server
  readonly standby: Server
  /** Backends that wait for the standby: their transactions are committed on the primary and not confirmed. */
  waiting(): Promise<readonly number[]>
  /** Commits do not wait for the standby any more. */
  commitAlone(): Promise<unknown>
  /** The standby receives nothing any more: what is committed from now on is lost with the primary. */
  detachStandby(): Promise<void>
  /** Nothing reaches the primary any more; the standby is promoted, and the address leads to it. */
  failOver(): Promise<void>
  remove(): Promise<void>
}

export type Server = {
  readonly url: string
  freeze(): void
  thaw(): void
  start(): void
  /** Immediate: as in a power failure. */
  stop(mode?: 'fast' | 'immediate'): void
}

type Options = {
  /** Seconds that the clock of the standby is ahead, or behind if negative. */
  readonly standbyAhead?: number
}

export async function startReplicatedPostgres({ standbyAhead = 0 }: Options = {}): Promise<ReplicatedPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-replicated-'))
  const create = async (name: string) => {
    const path = join(folder, name)
    for (const each of [folder, path, join(path, 'sockets')]) {
      mkdirSync(each, { recursive: true })
      // PostgreSQL runs as a user of its own and has to write there.
      chmodSync(each, 0o777)
    }
    const port = await freePort()
    return { ...createPostgres(path, port), port, sockets: join(path, 'sockets') }
  }
  const first = await create('primary')
  const second = await create('standby')
  first.start()
  await migrate(first.url)
  await runProgram('pg_basebackup', '-d', first.url, '-D', second.data, '-R', '-X', 'stream', '-c', 'fast')
  if (standbyAhead === 0) second.start()
  else startAhead(second, standbyAhead)
  const waitForStandby = (names: string) =>
    runStatements(first.url, `alter system set synchronous_standby_names = '${names}'`, 'select pg_reload_conf()')
  await waitForStandby('*')
  const isSynchronous = async () =>
    (await runStatements(first.url, "select from pg_stat_replication where sync_state = 'sync'")).length > 0
  while (!(await isSynchronous())) await sleep(100)
  const proxy = await startSwitchingProxy(first.port)
  return {
    url: first.url.replace(`:${first.port}`, `:${proxy.port}`),
    primary: serverOf(first),
    standby: serverOf(second),
    waiting: async () => {
      const rows = await runStatements(first.url, "select pid from pg_stat_activity where wait_event = 'SyncRep'")
      return rows.map(({ pid }) => Number(pid))
    },
    commitAlone: () => waitForStandby(''),
    detachStandby: async () => {
      await runStatements(second.url, "alter system set primary_conninfo = ''", 'select pg_reload_conf()')
      while ((await runStatements(second.url, 'select from pg_stat_wal_receiver')).length > 0) await sleep(20)
    },
    failOver: async () => {
      proxy.cut()
      signalAll(second.pid(), 'SIGCONT')
      // A new timeline that the primary does not follow.
      await runProgram('pg_ctl', '-D', second.data, '-w', 'promote')
      proxy.lead(second.port)
    },
    remove: async () => {
      await proxy.stop()
      for (const server of [first, second]) {
        signalAll(server.pid(), 'SIGCONT')
        server.stop('immediate')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function serverOf({ url, pid, start, stop }: PostgresProcess): Server {
  return {
    url,
    freeze: () => signalAll(pid(), 'SIGSTOP'),
    thaw: () => signalAll(pid(), 'SIGCONT'),
    start,
    stop: (mode = 'immediate') => stop(mode),
  }
}

/** Debian's package `libfaketime`. Intervals stay true: only the time of day differs. */
function startAhead({ data, port, sockets }: PostgresProcess & { port: number; sockets: string }, seconds: number) {
  const environment = [
    'LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1',
    `FAKETIME=${seconds > 0 ? '+' : ''}${seconds}s`,
    'FAKETIME_DONT_FAKE_MONOTONIC=1',
  ]
  const settings = `-p ${port} -h 127.0.0.1 -k ${sockets} -c max_connections=300`
  const start = postgresCommand('pg_ctl', ['-D', data, '-o', settings, '-l', join(data, 'server.log'), '-w', 'start'])
  const program = start.findIndex((word) => word.endsWith('/pg_ctl'))
  const [file = '', ...args] = [...start.slice(0, program), 'env', ...environment, ...start.slice(program)]
  execFileSync(file, args, { cwd: '/', stdio: 'ignore' })
}
