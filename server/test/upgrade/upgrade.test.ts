/** Upgrades without downtime: migrations under load, processes of before and after them side by side, and interrupted runs. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { dumpSchema } from '../../../tools/schema.ts'
import { createTestDatabase, engineUrl, type TestDatabase } from '../rig/engines/database.ts'
import { LONG_TIMEOUTS, type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { figure, sized } from '../rig/size.ts'
import { switchTestModeOn } from '../rig/test-mode.ts'
import { type LongestWait, watchLocks } from './lock-watch.ts'
import { type Kill, runMigrations } from './migrator.ts'
import { startUpgradeLoad, type UpgradeLoad } from './upgrade-load.ts'

const GRANTS = sized(100_000, 2_000)
/** One statement in so many is killed. */
const EVERY = sized(1, 3)
/** Four processes start one after the other; on a busy machine each takes seconds. */
const PATIENCE_MS = 600_000
const QUIET_MS = sized(10_000, 1_500)

let service: TestService
const servers: ServerProcess[] = []
let load: UpgradeLoad
let longestWait: LongestWait
/** Requests before the migrations, until they ended, and until the new process alone served. */
const requests: number[] = []

async function start(): Promise<ServerProcess> {
  const { database, config } = service
  const environment = {
    DATABASE_URL: database.url,
    REDIS_URL: engineUrl('REDIS_URL'),
    PUBLIC_URL: config.publicUrl,
  }
  const server = await startServerProcess(environment, { preload: LONG_TIMEOUTS })
  servers.push(server)
  return server
}

beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') }, { listen: false })
  await addGrants(service.database, GRANTS)
  const testSecret = await switchTestModeOn(service, service.application)
  const before = await start()
  load = await startUpgradeLoad({ service, testSecret, addresses: [before.address] })
  const watch = await watchLocks(service.database.url)
  await sleep(QUIET_MS)
  requests.push(load.requests)

  await runMigrations(service.database.url)
  requests.push(load.requests)
  const after = await start()
  load.addresses = [before.address, after.address]
  await sleep(QUIET_MS)
  load.addresses = [after.address]
  // Requests under way are answered first.
  await sleep(1_000)
  await before.kill('SIGTERM')
  await sleep(QUIET_MS)
  requests.push(load.requests)
  await load.stop()
  longestWait = watch.longest()
  await watch.stop()
}, PATIENCE_MS)
afterAll(async () => {
  await load.stop()
  await Promise.all(servers.map((server) => server.kill('SIGTERM')))
  await service.stop()
})

it('F33: a process of before the migrations and one of after them serve side by side, and each makes complete grants', async () => {
  expect(load.failures).toEqual([])
  const flows = await service.database.query(
    'select flow, count(*) > 0 as some from grants group by flow order by flow',
  )
  expect(flows).toEqual([
    { flow: 'device', some: true },
    { flow: 'dialog', some: true },
  ])
})

it(`F34: ${figure(GRANTS)} grants are migrated under load, and no request fails or queues for a lock`, () => {
  expect(load.failures).toEqual([])
  const [quiet = 0, migrated = 0, ended = 0] = requests
  expect(Math.min(quiet, migrated - quiet, ended - migrated)).toBeGreaterThan(10)
  // Other tests run beside this one and may have the processor.
  expect(longestWait.ms).toBeLessThan(1_000)
})

it(
  `F35: migrations killed at a statement (one in ${EVERY}) and run again end in the same schema and rows`,
  async () => {
    const undisturbed = await createFilledDatabase()
    const statements = (await runMigrations(undisturbed.url)) ?? 0
    const expected = await stateOf(undisturbed)
    for (let at = 1; at <= statements; at += EVERY) {
      const kill: Kill = { at, moment: at % 2 === 0 ? 'before' : 'during' }
      const database = await createFilledDatabase()
      expect(await runMigrations(database.url, kill)).toBe(null)
      // PostgreSQL finishes the statement of a client that is gone, unless its session ends as well.
      if (at % 4 === 1) await endSessions(database)
      await runMigrations(database.url)
      expect([kill, await stateOf(database)]).toEqual([kill, expected])
    }
    expect(statements).toBeGreaterThan(20)
  },
  PATIENCE_MS,
)

async function createFilledDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase()
  onTestFinished(() => database.drop())
  await database.query(
    "insert into accounts (id, slug, name, created_at) values ('acc_000000000000', 'acme', 'Acme', now())",
  )
  await database.query(
    "insert into users (id, account_id, email, created_at) values ('usr_000000000000', 'acc_000000000000', 'ann@acme.example', now())",
  )
  await database.query(
    `insert into applications (id, account_id, name, allowed_scopes, default_scopes, required_scopes, device_flow, created_at, change_number)
     values ('app_000000000000', 'acc_000000000000', 'App', '{}', '{}', '{}', true, now(), 1)`,
  )
  await addGrants(database, 600)
  return database
}

/** Half of them by the device flow. Of the only user and the only application; ids are the same in every database. */
async function addGrants({ query }: TestDatabase, count: number): Promise<void> {
  await query(
    `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, dialog_id, key_id, created_at)
     select 'grt_' || left(md5(i::text), 20), md5(i::text)::uuid, u.account_id, u.id, a.id, 'token_set', '{}',
       case when i % 2 = 0 then md5(i::text)::uuid end, case when i % 2 = 1 then md5(i::text)::uuid end, 1, '2026-01-01T00:00:00Z'
     from generate_series(1, $1::int) i, users u, applications a`,
    [count],
  )
  await query('analyze grants')
}

/** Schema, applied migrations, invalid indexes and every grant. */
async function stateOf({ url, query }: TestDatabase): Promise<unknown> {
  const rows = await query(
    `select (select array_agg(name order by name) from migrations) as applied,
       (select count(*)::int from pg_index where not indisvalid) as invalid,
       (select md5(string_agg(g::text, ',' order by id)) from grants g) as grants`,
  )
  return [dumpSchema(url), rows]
}

async function endSessions({ query }: TestDatabase): Promise<void> {
  await query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'latchkey migrate'",
  )
}
