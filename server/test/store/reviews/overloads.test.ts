/** Minutes in which requests were shed: added up, read between two times, deleted after a quarter of a year. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPostgres, type Postgres } from '../../../src/store/postgres/postgres.ts'
import { addShed, forgetOverloads, readOverloads } from '../../../src/store/reviews/overloads.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'

const MINUTE = 60_000

let database: TestDatabase
let db: Postgres
beforeAll(async () => {
  database = await createTestDatabase({ clock: true })
  db = openPostgres(database.url, 2)
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

it('each minute has its own count, and is read when it begins between two moments', async () => {
  const now = async () => Number((await database.query<{ now: Date }>('select now() as now'))[0]?.now)
  await database.query('update test_clock.ahead set by = $$1 day$$')
  // To the middle of a minute, so that this test does not cross one by itself.
  await database.advance(90_000 - ((await now()) % MINUTE))
  const first = await now()
  await addShed(db, 3)
  await addShed(db, 4)
  await database.advance(2 * MINUTE)
  await addShed(db, 5)
  const minuteOf = (moment: number) => moment - (moment % MINUTE)
  const begun = minuteOf(first)
  const counts = await database.query('select shed::int as shed from overloads order by minute')
  expect(counts).toEqual([{ shed: 7 }, { shed: 5 }])
  expect(await readOverloads(db, begun, begun + 3 * MINUTE)).toEqual([begun, begun + 2 * MINUTE])
  expect(await readOverloads(db, begun + 1, begun + 2 * MINUTE)).toEqual([])
  await database.advance(90 * 24 * 60 * MINUTE - MINUTE)
  await forgetOverloads(db)
  expect(await database.query('select from overloads')).toHaveLength(1)
})
