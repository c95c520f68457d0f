/**
 * An installation of three cells in this process: three databases, replicated from the first by PostgreSQL, and a service
 * on each. Cells reach each other through proxies that a test can break.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { onFreePort } from '../../../tools/free-port.ts'
import { type RunningService, startService } from '../../src/app.ts'
import { createAccount } from '../../src/flows/accounts/register.ts'
import { addCell, makeFirstCell } from '../../src/flows/cells/commission.ts'
import { enterUserCode } from '../../src/flows/device/enter-code.ts'
import { bucketOfSlug } from '../../src/secrets/bucket.ts'
import { readCellMap } from '../../src/store/cells/map.ts'
import { migrate } from '../../src/store/postgres/migrate.ts'
import { openPostgres, type Postgres } from '../../src/store/postgres/postgres.ts'
import { Device } from './device.ts'
import type { TestDatabase } from './engines/database.ts'
import { type OwnPostgres, startOwnPostgres } from './engines/own-postgres.ts'
import { type MadeApplication, type MadeUser, makeApplication, makeConfig, makeUser } from './make.ts'
import { type CellProxy, startCellProxy } from './network/cell-proxy.ts'

export type TestCell = {
  readonly id: number
  readonly url: string
  readonly proxy: CellProxy
  readonly pool: pg.Pool
  service: RunningService
}

export type TestCells = {
  readonly cells: readonly TestCell[]
  readonly application: MadeApplication
  device(cell: number): Device
  /** A new account in a cell, with one user. */
  makeMember(cell: number): Promise<MadeUser & { readonly slug: string; readonly bucket: number }>
  /** Enters the digits as this user, in the cell of their account. */
  enter(cell: number, user: MadeUser, userCode: string): ReturnType<typeof enterUserCode>
  restart(cell: number): Promise<void>
  /** After its service was stopped. */
  start(cell: number): Promise<void>
  /** In the database of every cell: the rows of all. */
  query: TestDatabase['query']
  /** Settings of the services of a cell, for another process of it. */
  environmentOf(cell: number): Record<string, string>
  /** Stops the service of a cell and takes its database away, also from the copies of it. */
  stopCell(cell: number): Promise<void>
  stop(): Promise<void>
}

/** The account that registers applications, in the home cell. */
export const PUBLISHER = 'publisher'

const LIFETIME = { DEVICE_CODE_LIFETIME: '600' }

/** `more`: settings of every cell, or of each. */
export async function startTestCells(
  more: Record<string, string> | ((cell: number) => Record<string, string>) = {},
): Promise<TestCells> {
  const postgres = await startLogicalPostgres()
  const admin = new pg.Pool({ connectionString: postgres.url, max: 2 })
  admin.on('error', () => {})
  const urls = [0, 1, 2].map((id) => Object.assign(new URL(postgres.url), { pathname: `/cell_${id}` }).href)
  const proxies = await Promise.all(urls.map(() => startCellProxy()))
  for (const [id, url] of urls.entries()) {
    await admin.query(`create database cell_${id}`)
    await migrate(url)
  }
  const home = openPostgres(urls[0] ?? '', 2)
  await commission(home, urls, proxies)
  const config = makeConfig({ DATABASE_URL: urls[0] ?? '' })
  const application = await makeApplication(home, config, PUBLISHER)

  const environmentOf = (id: number) => ({
    ...LIFETIME,
    ...(typeof more === 'function' ? more(id) : more),
    DATABASE_URL: urls[id] ?? '',
    CELL: String(id),
    PUBLIC_URL: 'http://service.example',
  })
  const start = (id: number) =>
    onFreePort((port) => startService(makeConfig({ ...environmentOf(id), PORT: String(port) })))
  const startBehindProxy = async (id: number) => {
    const service = await start(id)
    proxies[id]?.leadTo(Number(new URL(service.address).port))
    return service
  }
  const cells: TestCell[] = []
  const stopped = new Set<number>()
  for (const [id, url] of urls.entries()) {
    const pool = new pg.Pool({ connectionString: url, max: 2 })
    pool.on('error', () => {})
    const proxy = proxies[id]
    if (!proxy) throw new Error('no proxy')
    cells.push({ id, url, proxy, pool, service: await startBehindProxy(id) })
  }
  const cellOf = (id: number) => {
    const cell = cells[id]
    if (!cell) throw new Error(`no cell ${id}`)
    return cell
  }
  await until(async () => {
    for (const { service } of cells) await service.context.applications.refresh()
    return cells.every(({ service }) => service.context.applications.find(application.id) !== null)
  })

  return {
    cells,
    application,
    device: (id) => new Device(cellOf(id).service.address, application),
    makeMember: async (id) => {
      const { context } = cellOf(id).service
      const member = slugIn(context.cells?.map().buckets ?? new Map(), id)
      const made = await createAccount(context.db, { slug: member, name: member })
      if (made.outcome === 'refused') throw new Error(made.reason)
      return { ...(await makeUser(context.db, member)), slug: member, bucket: bucketOfSlug(member) }
    },
    enter: (id, user, userCode) => enterUserCode(cellOf(id).service.context, user.id, userCode),
    query: async (sql, values) =>
      (await Promise.all(cells.map(({ pool }) => pool.query(sql, values)))).flatMap(({ rows }) => rows),
    environmentOf,
    restart: async (id) => {
      await cellOf(id).service.stop()
      cellOf(id).service = await startBehindProxy(id)
    },
    start: async (id) => {
      cellOf(id).service = await startBehindProxy(id)
    },
    stopCell: async (id) => {
      await cellOf(id).service.stop()
      stopped.add(id)
      await admin.query(`update pg_database set datallowconn = false where datname = 'cell_${id}'`)
      await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = 'cell_${id}'`)
    },
    stop: async () => {
      await Promise.all(cells.filter(({ id }) => !stopped.has(id)).map(({ service }) => service.stop()))
      await Promise.all(cells.map(({ pool }) => pool.end()))
      await Promise.all(proxies.map((proxy) => proxy.stop()))
      await Promise.all([home.close(), admin.end()])
      postgres.remove()
    },
  }
}

export async function startLogicalPostgres(): Promise<OwnPostgres> {
  const postgres = await startOwnPostgres()
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await client.query('alter system set wal_level = logical')
  await client.query('alter system set max_logical_replication_workers = 12')
  await client.query('alter system set max_worker_processes = 20')
  await client.end()
  postgres.stop()
  postgres.start()
  return postgres
}

/** The account in the home cell that registers the application is older than the cells. */
async function commission(home: Postgres, urls: readonly string[], proxies: readonly CellProxy[]): Promise<void> {
  await createAccount(home, { slug: PUBLISHER, name: 'Publisher' })
  const [homeUrl = ''] = urls
  for (const [id, url] of urls.entries()) {
    const cell = { id, name: `cell-${id}`, address: proxies[id]?.address ?? '' }
    const result =
      id === 0 ? await makeFirstCell(home, homeUrl, cell) : await addCell(home, homeUrl, cell, url, homeUrl)
    if (result.outcome === 'refused') throw new Error(result.reason)
  }
  // As if the cells had been added long ago: codes of the previous owner of a prefix have expired.
  await home.query("update code_prefixes set changed_at = changed_at - interval '1 day'")
  await home.query('update cell_map set version = version + 1')
  const { version } = await readCellMap(home)
  for (const url of urls) {
    const copy = openPostgres(url, 1)
    await until(async () => (await readCellMap(copy)).version === version)
    await copy.close()
  }
}

/** A slug whose bucket is in this cell. */
let count = 0
function slugIn(buckets: ReadonlyMap<number, number>, cell: number): string {
  for (;;) {
    count += 1
    const slug = `member-${count}`
    if (buckets.get(bucketOfSlug(slug)) === cell) return slug
  }
}

export async function until(check: () => Promise<boolean>, withinMs = 30_000): Promise<void> {
  const end = performance.now() + withinMs
  while (!(await check())) {
    if (performance.now() > end) throw new Error('did not happen in time')
    await sleep(50)
  }
}
