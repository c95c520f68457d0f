/** Dropping a partition of device_codes: no poll waits for it, and one process does it. */
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { sweep } from '../../src/flows/sweep.ts'
import { readDeviceCodeStatuses } from '../../src/store/device/codes.ts'
import { openPostgres, type Postgres, type Queryable, Unavailable } from '../../src/store/postgres/postgres.ts'
import { createTestDatabase, type TestDatabase } from '../rig/engines/database.ts'
import { makeConfig } from '../rig/make.ts'

let database: TestDatabase
let db: Postgres
/** A backup or a long query: holds a lock on the table and every partition until its transaction ends. */
let reader: pg.Client
beforeAll(async () => {
  database = await createTestDatabase()
  db = openPostgres(database.url, 4)
  reader = new pg.Client({ connectionString: database.url })
  await reader.connect()
})
afterAll(async () => {
  await reader.end()
  await db.close()
  await database.drop()
})
afterEach(() => reader.query('rollback'))

const run = () => sweep(db, makeConfig({ DATABASE_URL: database.url }))
const makeOld = (hour: string) => database.query('select make_device_code_partition($1)', [`2026-01-02T${hour}:00:00Z`])
const startReading = async () => {
  await reader.query('begin')
  await reader.query('select count(*) from device_codes')
}

/** Polls repeatedly until the work is done, at least this often. Fails if a poll has to wait for a lock. */
async function pollDuring(work: Promise<unknown>, least: number): Promise<number> {
  // With a custom plan, a poll locks the table and the partition of its code. A generic plan would lock every partition.
  const options = '-c lock_timeout=1ms -c plan_cache_mode=force_custom_plan'
  const client = new pg.Client({ connectionString: database.url, options })
  await client.connect()
  const place = { id: '00000000-0000-4000-8000-000000000000', expiresAt: Date.now() }
  let over = false
  const done = () => {
    over = true
  }
  work.then(done, done)
  let polls = 0
  try {
    while (!over || polls < least) {
      await readDeviceCodeStatuses(client as unknown as Queryable, [place])
      polls += 1
    }
  } finally {
    await client.end()
  }
  return polls
}

it.each([
  ['reads all codes', 'select count(*) from device_codes'],
  ['holds the table alone, as a long poll would', 'lock table only device_codes in access share mode'],
  [
    'holds the partition alone, as autovacuum does',
    'lock table only device_codes_2026010203 in share update exclusive mode',
  ],
])('while somebody %s, no poll waits for a lock; the sweep after that drops the partition', async (_, holding) => {
  await makeOld('03')
  await reader.query('begin')
  await reader.query(holding)
  const sweeping = run()
  expect(await pollDuring(sweeping, 200)).toBeGreaterThanOrEqual(200)
  expect(await sweeping).toMatchObject({ partitions: [], left: ['device_codes_2026010203'] })
  await reader.query('commit')
  expect(await run()).toMatchObject({ partitions: ['device_codes_2026010203'], left: [] })
})

it('one process drops partitions at a time: the others skip it and continue their sweep', async () => {
  await makeOld('03')
  await startReading()
  const first = run()
  await expect
    .poll(() =>
      database.query(
        "select from pg_stat_activity where query like 'select drop_device_code_partition%' and state = 'active'",
      ),
    )
    .toHaveLength(1)
  expect(await run()).toMatchObject({ partitions: [], left: [] })
  expect(await first).toMatchObject({ left: ['device_codes_2026010203'] })
  await reader.query('commit')
  const both = await Promise.all([run(), run()])
  expect(both.flatMap(({ partitions }) => partitions)).toEqual(['device_codes_2026010203'])
})

it('a table that is in use for hours is reported', async () => {
  for (const hour of ['03', '04', '05', '06', '07', '08']) await makeOld(hour)
  await startReading()
  expect((await run()).left).toHaveLength(6)
  await reader.query('commit')
  await makeOld('09')
  await startReading()
  const refused = await run().catch((error) => error)
  expect(refused).toBeInstanceOf(Unavailable)
  expect(refused.message).toContain('7 partitions of device_codes')
  await reader.query('commit')
  expect((await run()).partitions).toHaveLength(7)
})
