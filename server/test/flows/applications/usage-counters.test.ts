/** Usage counters between two saves: nothing is counted twice, and nothing is lost while PostgreSQL is down. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createUsageCounters, NO_APPLICATION } from '../../../src/flows/applications/usage-counters.ts'
import { listRequests, type NotedRequest, readCounts } from '../../../src/store/applications/activity.ts'
import { openPostgres, type Postgres, Unavailable } from '../../../src/store/postgres/postgres.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { makeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

useOwnTimeouts()

const HOUR = 3_600_000
const NONE = { requested: 0, polls: 0, earlyPolls: 0, secretsInUrl: 0 }

let service: TestService
let elsewhere: Postgres
beforeAll(async () => {
  service = await startTestService({}, { clock: true, listen: false })
  elsewhere = openPostgres(service.database.url, 2)
})
afterAll(async () => {
  await elsewhere.close()
  await service.stop()
})

const make = async () => (await makeApplication(service.context.db, service.config, service.account.slug)).id
const countsOf = (id: string, hours = 24) => readCounts(service.context.db, id, hours)
const makeNote = (applicationId: string, given: Partial<NotedRequest> = {}): NotedRequest => ({
  applicationId,
  at: Date.now(),
  authenticated: true,
  operation: 'requestTokenCode',
  refusal: null,
  message: null,
  ...given,
})
const messagesOf = async (id: string) => {
  const lines = await listRequests(service.context.db, id)
  return lines.map(({ message }) => message).toReversed()
}

/** Makes saves fail while `work` runs. */
async function whileAway(work: () => Promise<void>): Promise<void> {
  await elsewhere.transaction(async (tx) => {
    await tx.query('lock table application_hours, application_requests in access exclusive mode')
    await work()
  })
}

it('adds up the counts of several processes, also when all save at once', async () => {
  const [one, other] = [await make(), await make()]
  const processes = Array.from({ length: 6 }, (_, index) =>
    createUsageCounters(index % 2 === 0 ? service.context.db : elsewhere),
  )
  for (const [index, usage] of processes.entries()) {
    // In different orders, so that they would deadlock if rows were not locked in a fixed order.
    for (const id of index % 2 === 0 ? [one, other] : [other, one]) {
      for (let poll = 0; poll < 10; poll += 1) usage.count(id, 'polls')
      usage.count(id, 'earlyPolls')
      usage.count(id, 'requested')
    }
    usage.count(other, 'secretsInUrl')
  }
  await Promise.all(processes.map((usage) => usage.save()))
  expect(await countsOf(one)).toEqual({ requested: 6, polls: 60, earlyPolls: 6, secretsInUrl: 0 })
  expect(await countsOf(other)).toEqual({ requested: 6, polls: 60, earlyPolls: 6, secretsInUrl: 6 })
})

it('saves each count once', async () => {
  const id = await make()
  const usage = createUsageCounters(service.context.db)
  usage.count(id, 'polls')
  usage.note(makeNote(id))
  await usage.save()
  await usage.save()
  expect(await countsOf(id)).toEqual({ ...NONE, polls: 1 })
  expect(await listRequests(service.context.db, id)).toHaveLength(1)
})

it('saves nothing for requests in the name of no application', async () => {
  const id = await make()
  const usage = createUsageCounters(service.context.db)
  usage.note(makeNote(NO_APPLICATION))
  usage.note(makeNote(id))
  await usage.save()
  expect(await listRequests(service.context.db, NO_APPLICATION)).toEqual([])
  expect(await listRequests(service.context.db, id)).toHaveLength(1)
})

it('counts per hour, and keeps the last 24', async () => {
  const id = await make()
  const usage = createUsageCounters(service.context.db)
  for (let hour = 0; hour < 25; hour += 1) {
    if (hour > 0) await service.database.advance(HOUR)
    usage.count(id, 'polls')
    await usage.save()
  }
  const hours = await service.database.query('select polls::int from application_hours where application_id = $1', [id])
  expect(hours).toEqual(Array.from({ length: 25 }, () => ({ polls: 1 })))
  expect(await countsOf(id)).toEqual({ ...NONE, polls: 24 })
  expect(await countsOf(id, 1)).toEqual({ ...NONE, polls: 1 })
})

it('keeps the last fifty requests of an application, in order', async () => {
  const id = await make()
  const usage = createUsageCounters(service.context.db)
  for (let number = 1; number <= 120; number += 1) usage.note(makeNote(id, { at: number, message: `${number}` }))
  await usage.save()
  expect(await messagesOf(id)).toEqual(Array.from({ length: 50 }, (_, index) => `${index + 71}`))
  const [row] = await service.database.query(
    'select count(*)::int as rows, max(id) - min(id) as span from application_requests where application_id = $1',
    [id],
  )
  expect(row, 'no more than fifty were written at all').toEqual({ rows: 50, span: '49' })
})

it('lists authenticated and unauthenticated requests in the order of their arrival', async () => {
  const id = await make()
  const usage = createUsageCounters(service.context.db)
  for (const [index, authenticated] of [false, true, false, true].entries()) {
    usage.note(makeNote(id, { at: 1_000 + index, authenticated, message: `${index}` }))
  }
  await usage.save()
  expect(await messagesOf(id)).toEqual(['0', '1', '2', '3'])
})

it('keeps the last ten unauthenticated requests, without displacing authenticated ones', async () => {
  const id = await make()
  const usage = createUsageCounters(service.context.db)
  for (let number = 1; number <= 5; number += 1) usage.note(makeNote(id, { at: number, message: `own ${number}` }))
  for (let number = 1; number <= 500; number += 1) {
    usage.note(makeNote(id, { at: 10 + number, message: `${number}`, authenticated: false }))
  }
  await usage.save()
  const own = Array.from({ length: 5 }, (_, index) => `own ${index + 1}`)
  expect(await messagesOf(id)).toEqual([...own, ...Array.from({ length: 10 }, (_, index) => `${index + 491}`)])
})

it('keeps unsaved counts while PostgreSQL is down, together with new ones', async () => {
  const id = await make()
  const usage = createUsageCounters(service.context.db)
  usage.count(id, 'polls')
  usage.count(id, 'requested')
  usage.note(makeNote(id, { at: 1, message: 'before' }))
  await whileAway(async () => {
    const saving = expect(usage.save()).rejects.toThrow(Unavailable)
    usage.count(id, 'polls')
    usage.count(id, 'earlyPolls')
    usage.note(makeNote(id, { at: 2, message: 'meanwhile' }))
    await saving
  })
  usage.count(id, 'polls')
  expect(await countsOf(id)).toEqual(NONE)
  await usage.save()
  await usage.save()
  expect(await countsOf(id)).toEqual({ requested: 1, polls: 3, earlyPolls: 1, secretsInUrl: 0 })
  expect(await messagesOf(id)).toEqual(['before', 'meanwhile'])
})

it('keeps no more than the last fifty after PostgreSQL was down', async () => {
  const id = await make()
  const usage = createUsageCounters(service.context.db)
  const note = (from: number) => {
    for (let number = from; number < from + 40; number += 1)
      usage.note(makeNote(id, { at: number, message: `${number}` }))
  }
  note(1)
  await whileAway(async () => {
    const saving = expect(usage.save()).rejects.toThrow(Unavailable)
    note(41)
    await saving
  })
  await usage.save()
  expect(await messagesOf(id)).toEqual(Array.from({ length: 50 }, (_, index) => `${index + 31}`))
})

it('drops what PostgreSQL refuses for good, and continues', async () => {
  const id = await make()
  const usage = createUsageCounters(service.context.db)
  usage.count('app_that_is_none', 'polls')
  await expect(usage.save()).rejects.toThrow('foreign key')
  usage.count(id, 'polls')
  await usage.save()
  expect(await countsOf(id)).toEqual({ ...NONE, polls: 1 })
})

it('sends no statement when there is nothing to save', async () => {
  await whileAway(() => createUsageCounters(service.context.db).save())
})
