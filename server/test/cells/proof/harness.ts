/**
 * Three cells on one machine, as an operator sets them up: a PostgreSQL, a Redis and two built servers for each, and HAProxy in
 * front, with the files of `latchkey cell proxy-config` and `latchkey cell proxy-sync` beside it.
 */
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { createRedis } from '../../../../tools/engine-processes.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { openPostgres } from '../../../src/store/postgres/postgres.ts'
import { startLogicalPostgres, until } from '../../rig/cells.ts'
import type { OwnPostgres } from '../../rig/engines/own-postgres.ts'
import { processesOf } from '../../rig/engines/postgres-programs.ts'
import { type MadeApplication, makeAccount, makeApplication, makeConfig, makeEnvironment } from '../../rig/make.ts'
import { EXECUTABLE } from '../../rig/process/executable.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { spawnTied } from '../../rig/process/tied-process.ts'

const CELLS = [0, 1, 2]
const SERVERS_PER_CELL = 2
export const HOST = 'service.example'
const HAPROXY = '/usr/sbin/haproxy'

export type Cell = {
  readonly id: number
  readonly postgres: OwnPostgres
  readonly redis: ReturnType<typeof createRedis>
  /** Of its processes. */
  readonly environment: Record<string, string>
  readonly servers: ServerProcess[]
  readonly pool: pg.Pool
  /** File with the URL of its database, for commands. */
  readonly urlFile: string
}

export type Harness = {
  readonly folder: string
  readonly cells: readonly Cell[]
  readonly application: MadeApplication
  /** Of HAProxy. */
  readonly address: string
  /** Of HAProxy's master and workers. */
  proxyPids(): readonly number[]
  /** The master starts a new worker; the old one finishes its requests. */
  reloadProxy(): void
  /** Runs `latchkey` in the home cell; returns what it printed. */
  run(...args: readonly string[]): Promise<string>
  /** SIGKILL to the servers, to PostgreSQL and to Redis. */
  kill(cell: Cell): Promise<void>
  /** Starts the same programs again, as systemd would. */
  revive(cell: Cell): Promise<void>
}

type Port = number

export async function openHarness<T>(work: (harness: Harness) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-cells-'))
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o755)
  const stops: (() => unknown)[] = [() => removeFolder(folder)]
  try {
    const ports: Port[][] = []
    for (const _ of CELLS) ports.push(await freePorts(SERVERS_PER_CELL))
    const cells: Cell[] = []
    for (const id of CELLS) cells.push(await startEngines(folder, id, stops))
    const home = cellOf(cells, 0)
    const application = await registerApplication(home)
    const run = (...args: readonly string[]) => runLatchkey(home.environment, args)
    await commission(cells, ports, run)
    for (const cell of cells) await startServers(cell, ports[cell.id] ?? [])
    stops.push(() => Promise.all(cells.flatMap(({ servers }) => servers.map((server) => server.kill('SIGKILL')))))
    const proxy = await startProxy(folder, home, ports, run, stops)
    return await work({
      folder,
      cells,
      application,
      run,
      ...proxy,
      kill: async (cell) => {
        await Promise.all(cell.servers.map((server) => server.kill('SIGKILL')))
        cell.postgres.kill()
        cell.redis.stop('SIGKILL')
      },
      revive: async (cell) => {
        cell.postgres.start()
        cell.redis.start()
        await startServers(cell, ports[cell.id] ?? [])
      },
    })
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}

export function cellOf(cells: readonly Cell[], id: number): Cell {
  const found = cells[id]
  if (!found) throw new Error(`no cell ${id}`)
  return found
}

async function freePorts(count: number): Promise<Port[]> {
  const ports: Port[] = []
  while (ports.length < count) ports.push(await freePort())
  return ports
}

async function startEngines(folder: string, id: number, stops: (() => unknown)[]): Promise<Cell> {
  const postgres = await startLogicalPostgres()
  stops.push(() => postgres.remove())
  const own = join(folder, `cell-${id}`)
  mkdirSync(own)
  const redis = createRedis(own, await freePort())
  redis.start()
  stops.push(() => redis.stop('SIGKILL'))
  const pool = new pg.Pool({ connectionString: postgres.url, max: 4 })
  pool.on('error', () => {})
  stops.push(() => pool.end())
  const urlFile = join(own, 'database.url')
  writeFileSync(urlFile, postgres.url)
  const environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    CELL: String(id),
    PUBLIC_URL: `http://${HOST}`,
    TRUST_PROXY: '127.0.0.1',
    // Longer than the proof: no code may expire.
    DEVICE_CODE_LIFETIME: '3600',
    LOG_LEVEL: 'info',
  }
  return { id, postgres, redis, environment, servers: [], pool, urlFile }
}

/** Replaces the servers of the cell that ended. */
async function startServers(cell: Cell, ports: readonly Port[]): Promise<void> {
  const started = await Promise.all(
    ports.map((port) => startServerProcess({ ...cell.environment, PORT: String(port) })),
  )
  cell.servers.splice(0, cell.servers.length, ...started)
}

/** By an account in the home cell that is older than the cells. */
async function registerApplication({ environment }: Cell): Promise<MadeApplication> {
  const { CELL: _cell, ...before } = environment
  const db = openPostgres(before.DATABASE_URL ?? '', 2)
  try {
    const { slug } = await makeAccount(db, { slug: 'publisher' })
    return await makeApplication(db, makeConfig(before), slug)
  } finally {
    await db.close()
  }
}

async function runLatchkey(environment: Record<string, string>, args: readonly string[]): Promise<string> {
  const env = { PATH: process.env.PATH, ...makeEnvironment(environment) }
  const { stdout } = await promisify(execFile)(process.execPath, [EXECUTABLE, ...args], { env, maxBuffer: 2 ** 24 })
  return stdout
}

async function commission(cells: readonly Cell[], ports: readonly Port[][], run: Harness['run']): Promise<void> {
  for (const { id, urlFile } of cells) {
    const place = ['--name', `cell-${id}`, '--address', `http://127.0.0.1:${ports[id]?.[0]}`]
    if (id === 0) await run('cell', 'init', '0', ...place)
    else await run('cell', 'add', String(id), ...place, '--database-file', urlFile)
  }
  const { pool } = cellOf(cells, 0)
  // As if the cells had been added yesterday: a new cell waits until codes of the previous owner of its prefixes have expired.
  await pool.query("update code_prefixes set changed_at = changed_at - interval '1 day'")
  await pool.query('update cell_map set version = version + 1')
  await waitForSameMap(cells)
}

/** Waits until every cell has the map of the home cell. */
export async function waitForSameMap(cells: readonly Cell[]): Promise<void> {
  const versionIn = async ({ pool }: Cell) =>
    Number((await pool.query('select version from cell_map')).rows[0]?.version)
  const version = await versionIn(cellOf(cells, 0))
  for (const cell of cells) await until(async () => (await versionIn(cell)) >= version)
}

async function startProxy(
  folder: string,
  home: Cell,
  ports: readonly Port[][],
  run: Harness['run'],
  stops: (() => unknown)[],
): Promise<Pick<Harness, 'address' | 'proxyPids' | 'reloadProxy'>> {
  const address = `http://127.0.0.1:${await freePort()}`
  const place = ['--out', folder, '--socket', join(folder, 'haproxy.sock')]
  const servers = ports.flatMap((of, id) => ['--servers', `${id}=${of.map((port) => `127.0.0.1:${port}`).join(',')}`])
  await run('cell', 'proxy-config', ...place, '--bind', new URL(address).host, ...servers)
  const proxy = spawnTied('TERM', HAPROXY, ['-W', '-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' })
  const sync = spawnTied('TERM', process.execPath, [EXECUTABLE, 'cell', 'proxy-sync', ...place], {
    env: { PATH: process.env.PATH, ...makeEnvironment(home.environment) },
    stdio: 'ignore',
  })
  stops.push(() => [proxy, sync].map((each) => each.kill('SIGTERM')))
  await until(async () => (await statusOf(address)) === 200)
  return {
    address,
    proxyPids: () => processesOf(proxy.pid ?? null),
    reloadProxy: () => proxy.kill('SIGUSR2'),
  }
}

async function statusOf(address: string): Promise<number> {
  const answer = await fetch(`${address}/health/ready`, { signal: AbortSignal.timeout(5_000) }).catch(() => null)
  if (answer === null) await sleep(50)
  return answer?.status ?? 0
}
