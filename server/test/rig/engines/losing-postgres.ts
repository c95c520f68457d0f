/** A PostgreSQL that loses commits in the three ways in which operators lose them, each behind one address. */
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPostgres, type PostgresProcess } from '../../../../tools/engine-processes.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { startSwitchingProxy } from '../network/switching-proxy.ts'
import { runProgram, runStatements } from './postgres-programs.ts'

export type Way = 'a promoted standby' | 'a restored copy of the disk' | 'a restored dump'

export const WAYS: readonly Way[] = ['a promoted standby', 'a restored copy of the disk', 'a restored dump']

export type LosingPostgres = {
  readonly url: string
  /** Everything that is committed after this will be lost. */
  keep(): Promise<void>
  /**
   * Goes back to the state at `keep`, then advances the transaction id and the sequence of changes, so that a process
   * cannot detect the loss by a lower number.
   */
  lose(): Promise<void>
  remove(): Promise<void>
}

export async function startLosingPostgres(way: Way): Promise<LosingPostgres> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-losing-'))
  const open = (path: string) => {
    mkdirSync(path, { recursive: true })
    // PostgreSQL runs as a user of its own and has to write there.
    chmodSync(path, 0o777)
    return path
  }
  open(folder)
  const created: PostgresProcess[] = []
  const create = async (name: string) => {
    const path = open(join(folder, name))
    open(join(path, 'sockets'))
    const port = await freePort()
    const server = { ...createPostgres(path, port), port }
    created.push(server)
    return server
  }
  const first = await create('first')
  first.start()
  await migrate(first.url)
  const proxy = await startSwitchingProxy(first.port)
  const ways: Record<Way, () => Promise<Pick<LosingPostgres, 'keep' | 'lose'>>> = {
    'a promoted standby': async () => {
      const standby = await create('standby')
      return {
        keep: async () => {
          await runProgram('pg_basebackup', '-d', first.url, '-D', standby.data, '-R', '-X', 'stream', '-c', 'fast')
          standby.start()
          await runStatements(standby.url, "alter system set primary_conninfo = ''", 'select pg_reload_conf()')
          for (let left = 1; left > 0; ) {
            left = Number(
              (await runStatements(standby.url, 'select count(*) as left from pg_stat_wal_receiver'))[0]?.left,
            )
          }
        },
        lose: async () => {
          const ahead = await nextXid(first.url)
          proxy.cut()
          first.stop('immediate')
          await runProgram('pg_ctl', '-D', standby.data, '-w', 'promote')
          await catchUp(standby.url, ahead)
          proxy.lead(standby.port)
        },
      }
    },
    'a restored copy of the disk': async () => {
      const copy = join(folder, 'copy')
      return {
        keep: async () => {
          await runProgram('pg_basebackup', '-d', first.url, '-D', copy, '-X', 'stream', '-c', 'fast')
        },
        lose: async () => {
          const ahead = await nextXid(first.url)
          proxy.cut()
          first.stop('immediate')
          rmSync(first.data, { recursive: true })
          renameSync(copy, first.data)
          first.start()
          await catchUp(first.url, ahead)
          proxy.lead(first.port)
        },
      }
    },
    'a restored dump': async () => {
      const dump = join(folder, 'dump')
      return {
        keep: async () => {
          await runProgram('pg_dump', '-d', first.url, '-F', 'c', '-f', dump)
        },
        lose: async () => {
          const ahead = await nextXid(first.url)
          proxy.cut()
          const name = new URL(first.url).pathname.slice(1)
          const other = new URL('/postgres', first.url).href
          await runStatements(other, `drop database ${name} with (force)`, `create database ${name}`)
          await runProgram('pg_restore', '-d', first.url, dump)
          await catchUp(first.url, ahead)
          proxy.lead(first.port)
        },
      }
    },
  }
  return {
    url: first.url.replace(`:${first.port}`, `:${proxy.port}`),
    ...(await ways[way]()),
    remove: async () => {
      await proxy.stop()
      for (const server of created) server.stop('immediate')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function nextXid(url: string): Promise<bigint> {
  return BigInt((await runStatements(url, 'select pg_current_xact_id()::text as next'))[0]?.next)
}

async function catchUp(url: string, xid: bigint): Promise<void> {
  await runStatements(
    url,
    `do $$ begin while pg_current_xact_id() <= '${xid}' loop commit; end loop; end $$`,
    "select setval('application_changes', last_value + 100) from application_changes",
  )
}
