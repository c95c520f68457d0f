/** Charts of an application: a day is counted once, after it is over, and today while it lasts. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countDays, readDaySeries } from '../../../src/flows/applications/days.ts'
import { tryLockByName } from '../../../src/store/postgres/advisory-locks.ts'
import { type Connected, connect } from '../../rig/connect.ts'
import { makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterAll(() => service.stop())

const make = async () => {
  const application = await makeApplication(service.context.db, service.config, service.account.slug)
  await service.context.applications.refresh()
  return application
}
const seriesOf = async ({ id }: { id: string }) =>
  (await readDaySeries(service.context, service.context.db, id)).slice(-3)
const countedDays = () => service.database.query('select day from counted_days')
const pass = async (ms: number) => {
  await service.database.advance(ms)
  await service.context.applications.refresh()
}
/** Moves the clock to the given time of the next day. */
const passToNextDay = async (sinceMidnight: number) => {
  const [row] = await service.database.query<{ left: number }>(
    `select (extract(epoch from date_trunc('day', test_clock.now()) + interval '1 day' - test_clock.now()) * 1000)::float8 as left`,
  )
  await pass((row?.left ?? 0) + sinceMidnight)
}
const purge = ({ grantId }: Connected) => service.database.query('delete from grants where id = $1', [grantId])

it('a day is counted ten minutes after its end; what is purged later stays counted', async () => {
  const application = await make()
  const other = await makeUser(service.context.db, service.account.slug)
  const grants = [await connect(service, { application }), await connect(service, { application })]
  grants.push(await connect(service, { application, user: other }))
  const day = { entered: 3, granted: 3, rejected: 0, newUsers: 2, networks: 1 }
  expect((await seriesOf(application))[2]).toMatchObject(day)

  await passToNextDay(5 * MINUTE)
  await countDays(service.context)
  const before = await countedDays()
  await pass(6 * MINUTE)
  await countDays(service.context)
  expect((await countedDays()).length).toBe(before.length + 1)

  await service.database.query('delete from mails')
  await service.database.query('delete from links')
  for (const grant of grants) await purge(grant)
  expect((await seriesOf(application))[1]).toMatchObject(day)
  expect((await seriesOf(application))[2]).toMatchObject({ granted: 0, newUsers: 0, networks: 0 })
})

it('days are counted once, by one process, and all that were missed', async () => {
  const application = await make()
  await connect(service, { application })
  await passToNextDay(DAY + 20 * MINUTE)
  await service.context.db.transaction(async (tx) => {
    expect(await tryLockByName(tx, 'counting_days')).toBe(true)
    await countDays(service.context)
    const uncounted = await seriesOf(application)
    expect(uncounted.map(({ granted, newUsers }) => [granted, newUsers])).toEqual([
      [1, 1],
      [0, 0],
      [0, 0],
    ])
  })
  const before = (await countedDays()).length
  await Promise.all([countDays(service.context), countDays(service.context), countDays(service.context)])
  expect((await countedDays()).length).toBe(before + 2)
  const series = await seriesOf(application)
  expect(series.map(({ granted }) => granted)).toEqual([1, 0, 0])
})

it('a user is new on the day of the first grant only', async () => {
  const application = await make()
  await connect(service, { application })
  await passToNextDay(20 * MINUTE)
  await connect(service, { application })
  await countDays(service.context)
  expect((await seriesOf(application)).map(({ granted, newUsers }) => [granted, newUsers])).toEqual([
    [0, 0],
    [1, 1],
    [1, 0],
  ])
})

it('today of an application with many grants is read from the last count, and corrected when the day is over', async () => {
  const application = await make()
  const { grantId } = await connect(service, { application })
  await service.database.query(
    `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, key_id, created_at, requested_from, first_of_user)
     select 'grt_' || left(md5('busy' || n), 20), gen_random_uuid(), account_id, user_id, application_id, variant, scopes, gen_random_uuid(), key_id, created_at,
       inet '198.18.0.0' + 256 * n, false
     from grants, generate_series(1, 500) n where id = $1`,
    [grantId],
  )
  await countDays(service.context)
  await connect(service, { application })
  expect((await seriesOf(application))[2]).toMatchObject({ granted: 1, networks: 501 })
  await passToNextDay(20 * MINUTE)
  await countDays(service.context)
  expect((await seriesOf(application))[1]).toMatchObject({ granted: 2, networks: 501 })
})
