/** Stored requests of an application: the newest fifty, with concurrent writers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  forgetCounts,
  insertRequests,
  listRequests,
  type NotedRequest,
  readCounts,
  trimRequests,
} from '../../../src/store/applications/activity.ts'
import { openPostgres, type Postgres } from '../../../src/store/postgres/postgres.ts'
import { makeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let db: Postgres
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  db = openPostgres(service.database.url, 12)
})
afterAll(async () => {
  await db.close()
  await service.stop()
})

const make = async () => (await makeApplication(service.context.db, service.config, service.account.slug)).id

/** Numbered in order. */
const makeNotes = (applicationId: string, count: number, from = 1, authenticated = true): NotedRequest[] =>
  Array.from({ length: count }, (_, index) => {
    const number = from + index
    const noted = { at: number * 1_000, operation: 'token', refusal: 'invalid_grant', message: `${number}` }
    return { applicationId, authenticated, ...noted }
  })

const numbersOf = async (id: string) => (await listRequests(db, id)).map(({ message }) => Number(message))
const down = (from: number, count: number) => Array.from({ length: count }, (_, index) => from - index)
const rowsOf = async (id: string) => {
  const rows = await service.database.query('select from application_requests where application_id = $1', [id])
  return rows.length
}

describe('the last requests', () => {
  it('are listed newest first, as recorded', async () => {
    const id = await make()
    await insertRequests(db, [
      {
        applicationId: id,
        at: 1_700_000_000_123,
        authenticated: true,
        operation: 'introspect',
        refusal: null,
        message: null,
      },
    ])
    await insertRequests(db, makeNotes(id, 2))
    expect(await listRequests(db, id)).toEqual([
      { at: 2_000, operation: 'token', refusal: 'invalid_grant', message: '2' },
      { at: 1_000, operation: 'token', refusal: 'invalid_grant', message: '1' },
      { at: 1_700_000_000_123, operation: 'introspect', refusal: null, message: null },
    ])
  })

  it('stay at fifty, and those of another application stay as they are', async () => {
    const [id, other] = [await make(), await make()]
    await insertRequests(db, makeNotes(other, 60))
    for (const from of [1, 41, 81]) {
      await insertRequests(db, makeNotes(id, 40, from))
      await trimRequests(db, [id])
    }
    expect(await rowsOf(id)).toBe(50)
    expect(await numbersOf(id)).toEqual(down(120, 50))
    expect(await rowsOf(other)).toBe(60)
  })

  it('are the application’s own, however many unauthenticated ones were sent', async () => {
    const id = await make()
    for (let turn = 0; turn < 5; turn += 1) {
      await insertRequests(db, [...makeNotes(id, 12, turn * 12 + 1), ...makeNotes(id, 90, 10_000 + turn * 90, false)])
      await trimRequests(db, [id])
    }
    expect(await rowsOf(id)).toBe(60)
    const listed = await numbersOf(id)
    expect(listed).toHaveLength(50)
    expect(listed.filter((number) => number >= 10_000)).toEqual(down(10_449, 10))
    expect(listed.filter((number) => number < 10_000)).toEqual(down(60, 40))
  })

  it('are fifty when there are exactly fifty, and fewer when there are fewer', async () => {
    const [full, few] = [await make(), await make()]
    await insertRequests(db, [...makeNotes(full, 50), ...makeNotes(few, 3)])
    await trimRequests(db, [full, few])
    expect([await rowsOf(full), await rowsOf(few)]).toEqual([50, 3])
  })

  it('are fifty after many saves at the same moment, and every save succeeds', async () => {
    const ids = [await make(), await make(), await make(), await make()]
    const save = async (turn: number) => {
      const order = turn % 2 === 0 ? ids : ids.toReversed()
      await db.transaction((tx) =>
        insertRequests(
          tx,
          order.flatMap((id) => makeNotes(id, 30, turn * 30)),
        ),
      )
      await trimRequests(db, order)
    }
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 12 }, (_, turn) => save(round * 12 + turn)))
      expect(await Promise.all(ids.map(rowsOf))).toEqual(ids.map(() => 50))
    }
  })
})

it('counts per hour are deleted after ninety days', async () => {
  const id = await make()
  await service.database.query(
    `insert into application_hours (application_id, hour, polls) values
       ($1, date_trunc('hour', now()) - interval '91 days', 1), ($1, date_trunc('hour', now()) - interval '89 days', 2)`,
    [id],
  )
  await forgetCounts(db)
  expect(await readCounts(db, id, 24 * 100)).toEqual({ requested: 0, polls: 2, earlyPolls: 0, secretsInUrl: 0 })
})

it('counts per five minutes are deleted after two days', async () => {
  const { database } = service
  await database.query('truncate application_minutes')
  const steps = ['0 hours', '47 hours', '49 hours']
  for (const ago of steps) {
    await database.query('insert into application_minutes values ($1, now() - $2::interval, 1, 1)', [
      service.application.id,
      ago,
    ])
  }
  await forgetCounts(service.context.db)
  expect(await database.query('select from application_minutes')).toHaveLength(2)
})
