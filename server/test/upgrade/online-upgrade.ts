/**
 * One upgrade under load: a database of the first release, processes of the first release and of this tree side by side,
 * migrations that are killed and resumed, then the first release alone on the new schema.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pendingMigrations } from '../../src/store/postgres/migrate.ts'
import { listMigrations, MIGRATIONS_FOLDER } from '../../src/store/postgres/migration-files.ts'
import { type EmptyDatabase, engineUrl } from '../rig/engines/database.ts'
import { makeConfig } from '../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { type Build, CURRENT } from './builds.ts'
import { type LongestWait, watchLocks } from './lock-watch.ts'
import { type Kill, LATER_MIGRATIONS, runMigrations } from './migrator.ts'
import { type Cast, prepareCast, quantile, startUpgradeLoad } from './upgrade-load.ts'

export type Upgraded = {
  readonly migrations: number
  readonly requests: number
  readonly failures: readonly string[]
  readonly longestWait: LongestWait
  readonly kills: number
  readonly sideBySideSeconds: number
  /** p99 latency during the migrations, divided by that before them. */
  readonly p99Ratio: number
  /** Requests that the first release alone answered afterwards. */
  readonly afterRollback: number
}

type Given = {
  readonly database: EmptyDatabase
  readonly first: Build
  /** Before the migrations, and after the rollback. */
  readonly quietSeconds: number
  /** Kills under load: the nth run ends at its nth statement after the lock and the list of migrations. */
  readonly kills: number
}

const STATEMENTS_BEFORE_FIRST = 3

export async function upgradeOnline({ database, first, quietSeconds, kills }: Given): Promise<Upgraded> {
  const environment = {
    DATABASE_URL: database.url,
    REDIS_URL: engineUrl('REDIS_URL'),
    PUBLIC_URL: 'https://service.example',
  }
  const start = ({ executable }: Build) => startServerProcess(environment, { executable })
  const own = await pendingMigrations(database.url)
  const cast = await castOf(database, environment)
  const servers: ServerProcess[] = [await start(first)]
  const load = startUpgradeLoad(
    cast,
    servers.map(({ address }) => address),
  )
  const watch = await watchLocks(database.url)
  try {
    // A process of this tree refuses to start before its own migrations are applied: until then only the first release runs.
    if (own.length > 0) await runMigrations(database.url, MIGRATIONS_FOLDER)
    servers.push(await start(CURRENT))
    const begun = performance.now()
    load.addresses = servers.map(({ address }) => address)
    load.takeTimes()
    await sleep(quietSeconds * 1000)
    const before = quantile(load.takeTimes(), 0.99)

    for (let run = 1; run <= kills; run += 1) await runMigrations(database.url, LATER_MIGRATIONS, killOf(run))
    await runMigrations(database.url, LATER_MIGRATIONS)
    const during = quantile(load.takeTimes(), 0.99)
    await sleep(1_000)
    const sideBySideSeconds = (performance.now() - begun) / 1000

    const [old, current] = servers
    load.addresses = [old?.address ?? '']
    await sleep(1_000)
    await current?.kill('SIGTERM')
    servers.push(await start(first))
    load.addresses = [old?.address ?? '', servers.at(-1)?.address ?? '']
    const rolledBack = load.requests
    await sleep(quietSeconds * 1000)
    await load.stop()
    return {
      migrations: own.length + (await listMigrations(LATER_MIGRATIONS)).length,
      requests: load.requests,
      failures: load.failures,
      longestWait: watch.longest(),
      kills,
      sideBySideSeconds,
      p99Ratio: during / before,
      afterRollback: load.requests - rolledBack,
    }
  } finally {
    await load.stop()
    await Promise.all(servers.map((server) => server.kill('SIGTERM')))
    await watch.stop()
  }
}

function killOf(run: number): Kill {
  return { at: STATEMENTS_BEFORE_FIRST + run, moment: run % 2 === 0 ? 'before' : 'during' }
}

async function castOf({ url }: EmptyDatabase, environment: Record<string, string>): Promise<Cast> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const query = async <Row extends pg.QueryResultRow>(sql: string, values?: unknown[]) =>
      (await client.query<Row>(sql, values)).rows
    return await prepareCast(makeConfig(environment), { query })
  } finally {
    await client.end()
  }
}
