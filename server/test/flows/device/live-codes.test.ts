/** Counting live codes: one process counts for all. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { makePartitionsAhead } from '../../../src/flows/sweep.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const TURN = 30_000

let service: TestService
/** Two processes of the same service. */
let one: Context
let other: Context
beforeAll(async () => {
  service = await startTestService({}, { clock: true, listen: false })
  await makePartitionsAhead(service.context.db, service.config.deviceCodeLifetimeMs)
  one = await createContext(service.config)
  other = await createContext(service.config)
})
afterAll(async () => {
  await closeContext(one)
  await closeContext(other)
  await service.stop()
})
beforeEach(async () => {
  await service.database.advance(TURN)
  await one.liveCodes.recount()
  await other.liveCodes.recount()
})

/** Inserted without being counted by a process. */
const addUnseen = async (codes: number) => {
  await service.database.query(
    `insert into device_codes (id, expires_at, created_at, application_id, variant, status, key_id, user_code_digits, user_code_digest, scopes, state)
     select gen_random_uuid(), now() + interval '15 minutes', now(), $1, 'token_set', 'pending',
       1, 15, uuid_send(gen_random_uuid()), '{}', '' from generate_series(1, $2) n`,
    [service.application.id, codes],
  )
}
const known = () => [one.liveCodes.count(), other.liveCodes.count()]

it('of two processes one counts, and the other reads its result', async () => {
  const [before = 0] = known()
  expect(known()).toEqual([before, before])
  await addUnseen(10)
  await service.database.advance(TURN)
  await one.liveCodes.recount()
  await addUnseen(5)
  await other.liveCodes.recount()
  expect(known(), 'the second did not count again').toEqual([before + 10, before + 10])

  await service.database.advance(TURN)
  await other.liveCodes.recount()
  await one.liveCodes.recount()
  expect(known(), 'whoever comes first').toEqual([before + 15, before + 15])
})

it('nobody waits for a running count: the others use the last one', async () => {
  const [before = 0] = known()
  await addUnseen(10)
  await service.database.advance(TURN)
  let counting: Promise<void> | undefined
  await service.context.db.transaction(async (tx) => {
    // Blocks the count for as long as this transaction lasts.
    await tx.query('lock table only device_codes in access exclusive mode')
    counting = one.liveCodes.recount()
    const waiting = () =>
      service.database.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query like 'update live_device_codes%'",
      )
    await expect.poll(waiting).toHaveLength(1)
    await other.liveCodes.recount()
    expect(other.liveCodes.count()).toBe(before)
  })
  await counting
  expect(known()).toEqual([before + 10, before])
  await other.liveCodes.recount()
  expect(known()).toEqual([before + 10, before + 10])
})

it('codes added after the count began stay added, those before are not counted twice', async () => {
  const [before = 0] = known()
  other.liveCodes.added()
  await addUnseen(1)
  expect(known()).toEqual([before, before + 1])
  await other.liveCodes.recount()
  expect(known(), 'the last count is older than what was added').toEqual([before, before + 1])
  await service.database.advance(TURN)
  // The order is computed from durations, exact to a few round trips.
  await sleep(200)
  await one.liveCodes.recount()
  other.liveCodes.added()
  await other.liveCodes.recount()
  expect(known()).toEqual([before + 1, before + 2])
})

it('before the first count, also while another process makes it, a process assumes a million', async () => {
  const fresh = await createContext(service.config)
  expect(fresh.liveCodes.count()).toBe(1_000_000)
  await service.database.query('update live_device_codes set codes = null, counted_at = null')
  await service.context.db.transaction(async (tx) => {
    await tx.query('select from live_device_codes for update')
    await fresh.liveCodes.recount()
  })
  expect(fresh.liveCodes.count()).toBe(1_000_000)
  await closeContext(fresh)
})
