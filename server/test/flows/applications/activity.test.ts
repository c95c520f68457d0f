/** Activity of an application, as its account sees it: the codes of the last day, their polling, and no other application's. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Activity, readActivity } from '../../../src/flows/applications/activity.ts'
import { restoreApplication, suspendApplication } from '../../../src/flows/applications/manage.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { post } from '../../rig/device.ts'
import { type MadeApplication, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, signInAs } from '../../rig/signed-in.ts'
import { textOf } from '../../rig/web.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterAll(() => service.stop())

async function make(): Promise<MadeApplication> {
  const application = await makeApplication(service.context.db, service.config, service.account.slug)
  await service.context.applications.refresh()
  return application
}

/** Saves counts that are still in the process. */
async function expectActivity({ id }: MadeApplication, activity: Partial<Activity>): Promise<void> {
  const read = async () => {
    await service.context.usage.save()
    return readActivity(service.context, service.account.id, id)
  }
  await expect.poll(read, { timeout: 30_000 }).toMatchObject({ id, ...activity })
}

async function advance(ms: number): Promise<void> {
  await service.database.advance(ms)
  await service.context.applications.refresh()
}

describe('the funnel', () => {
  it('counts requested, entered, granted and rejected codes', async () => {
    const application = await make()
    await expectActivity(application, { funnel: { requested: 0, entered: 0, granted: 0, rejected: 0 } })
    const device = service.device('oauth', application)
    const codes = []
    for (let each = 0; each < 7; each += 1) codes.push(await device.code())
    const [first, second, third, fourth] = codes.map(({ user_code }) => user_code)
    await service.grant(first ?? '')
    await service.grant(second ?? '')
    await service.reject(third ?? '')
    await enterUserCode(service.context, service.user.id, fourth ?? '')
    await expectActivity(application, { funnel: { requested: 7, entered: 4, granted: 2, rejected: 1 } })
  })

  it('counts a code entered several times once', async () => {
    const application = await make()
    const { user_code } = await service.device('oauth', application).code()
    for (let each = 0; each < 3; each += 1) await enterUserCode(service.context, service.user.id, user_code)
    expect(await service.grant(user_code)).toBe('granted')
    await expectActivity(application, { funnel: { requested: 1, entered: 1, granted: 1, rejected: 0 } })
  })

  it('DC-23: an application that requests a code whenever one has expired is flagged to its account, and not suspended', async () => {
    const [looping, used] = [await make(), await make()]
    const read = async ({ id }: MadeApplication) => {
      await service.context.usage.save()
      const web = await signInAs(service, service.user)
      return textOf((await web.get(`/developer/application/activity?application=${id}`)).text)
    }
    const flag = wordsFor('en').t('activity.unused_title')
    for (let quarter = 0; quarter < 22 * 4; quarter += 1) {
      const { device_code } = await service.device('oauth', looping).code()
      if (quarter % 2 === 0) {
        const { user_code } = await service.device('oauth', used).code()
        if (quarter % 16 === 0) await enterUserCode(service.context, service.user.id, user_code)
      }
      await advance(15 * MINUTE)
      expect((await service.device('oauth', looping).poll(device_code)).body.error).toBe('auth_expired')
      if (quarter === 20) expect(await read(looping), 'too few to tell').not.toContain(flag)
    }
    expect(await read(looping)).toContain(flag)
    for (let time = 0; time < 10; time += 1) await service.device('oauth', used).code()
    expect(await read(used), 'an application with users').not.toContain(flag)
    const [row] = await service.database.query('select suspended_at from applications where id = $1', [looping.id])
    expect(row).toEqual({ suspended_at: null })
    expect(await service.database.query('select from reviews where application_id = $1', [looping.id])).toEqual([])
  })

  it('counts outcomes of the codes requested in the last day, whenever they were decided', async () => {
    const application = await make()
    const device = service.device('oauth', application)
    const [clock] = await service.database.query<{ ms: number }>(
      "select (extract(epoch from date_trunc('hour', now()) + interval '1 hour' - now()) * 1000)::float8 as ms",
    )
    // A minute before a full hour; a decision a little later is within the 24 hours read at the end.
    await advance((clock?.ms ?? 0) - MINUTE)
    const before = await device.code()
    await expectActivity(application, { funnel: { requested: 1, entered: 0, granted: 0, rejected: 0 } })
    await advance(2 * MINUTE)
    expect(await service.grant(before.user_code)).toBe('granted')
    const after = await device.code()
    await expectActivity(application, { funnel: { requested: 2, entered: 1, granted: 1, rejected: 0 } })
    expect(await service.reject(after.user_code)).toBe('rejected')
    await expectActivity(application, { funnel: { requested: 2, entered: 2, granted: 1, rejected: 1 } })
    await advance(23 * HOUR)
    await expectActivity(application, { funnel: { requested: 1, entered: 1, granted: 0, rejected: 1 } })
    await advance(HOUR)
    await expectActivity(application, { funnel: { requested: 0, entered: 0, granted: 0, rejected: 0 } })
  })

  it('excludes other applications', async () => {
    const [application, other] = [await make(), await make()]
    const { user_code } = await service.device('oauth', other).code()
    await service.grant(user_code)
    await expectActivity(other, { funnel: { requested: 1, entered: 1, granted: 1, rejected: 0 } })
    await expectActivity(application, { funnel: { requested: 0, entered: 0, granted: 0, rejected: 0 }, requests: [] })
  })
})

describe('polling', () => {
  it('has no factor without polls', async () => {
    await expectActivity(await make(), { polling: { polls: 0, early: 0, factor: null } })
  })

  it('has a factor of 1 without early polls', async () => {
    const application = await make()
    const device = service.device('oauth', application)
    for (const { device_code } of [await device.code(), await device.code()]) await device.poll(device_code)
    await expectActivity(application, { polling: { polls: 2, early: 0, factor: 1 } })
  })

  it('has the ratio of polls to allowed polls as its factor', async () => {
    const application = await make()
    const device = service.device('oauth', application)
    const { device_code } = await device.code()
    for (let each = 0; each < 5; each += 1) await device.poll(device_code)
    await expectActivity(application, { polling: { polls: 5, early: 4, factor: 5 } })
  })

  it('is too fast if every poll of the last day was early', async () => {
    const application = await make()
    for (let each = 0; each < 3; each += 1) {
      service.context.usage.count(application.id, 'polls')
      service.context.usage.count(application.id, 'earlyPolls')
    }
    await expectActivity(application, { polling: { polls: 3, early: 3, factor: 3 } })
  })
})

describe('access', () => {
  it('is limited to the account that registered the application', async () => {
    const application = await make()
    await service.device('oauth', application).code()
    const other = await makeAccount(service.context.db)
    expect(await readActivity(service.context, other.id, application.id)).toBeNull()
    expect(await readActivity(service.context, service.account.id, 'app_000000000000')).toBeNull()

    const stranger = await makeUser(service.context.db, other.slug)
    const path = (id: string) => `/developer/application/activity?application=${id}`
    const web = await signInAs(service, stranger, { account: other })
    const [foreign, unknown] = [await web.get(path(application.id)), await web.get(path('app_000000000000'))]
    expect([foreign.status, textOf(foreign.text)]).toEqual([404, textOf(unknown.text)])
    const clerk = await makeSignedInUser(service)
    expect((await clerk.web.get(path(application.id))).status).toBe(403)
  })

  it('shows its administrators the requests with their errors and messages as sent', async () => {
    const application = await make()
    const device = service.device('oauth', application)
    const { device_code } = await device.code()
    for (let each = 0; each < 2; each += 1) await device.poll(device_code)
    await device.request({ scope: 'everything' })
    await post(service.address, '/oauth/token', { form: { client_id: application.id, client_secret: 'wrong' } })
    await post(service.address, '/auth/oauth/device/code', { query: device.credentials })
    await expectActivity(application, { secretsInUrl: 1, polling: { polls: 2, early: 1, factor: 2 } })

    const web = await signInAs(service, service.user)
    const page = await web.get(`/developer/application/activity?application=${application.id}`)
    expect(page.status).toBe(200)
    const text = textOf(page.text)
    expect(text).toContain('Your devices poll 2.0 times as often as allowed. Wait interval seconds between polls.')
    expect(text).toContain('The secret was sent in the URL once')
    expect(text).toContain('Requested 2 100%')
    const lines = [
      '/1/auth/oauth/device/code Succeeded',
      '/oauth/token Refused invalid_client Unknown application id or wrong secret.',
      '/1/auth/oauth/device/code Refused invalid_scope The scope is unknown or not allowed for this application. The message names the rejected scopes',
    ]
    const places = lines.map((line) => text.indexOf(line))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places).not.toContain(-1)
    expect(page.text).not.toContain(application.secret)
  })
})

describe('an appeal', () => {
  const path = ({ id }: MadeApplication) => `/developer/application/activity?application=${id}`

  it('is sent on the page of a suspended application, once, and read by operators', async () => {
    const application = await make()
    const web = await signInAs(service, service.user)
    expect((await web.get(path(application))).text).not.toContain('<textarea')
    await suspendApplication(service.context.db, application.id, 'for a look')
    const own = await web.get(`/developer/application?application=${application.id}`)
    expect(own.text).toContain(`href="${path(application)}"`)

    await web.get(path(application))
    const empty = await web.submit('/developer/application/appeal', { words: ' \r\n ' })
    expect(empty.status).toBe(400)
    expect(textOf(empty.text)).toContain('Enter a message of 1 to 2,000 characters.')
    // Browsers count a new line as one character and send two.
    const words = `Firmware 3 is out.\n${'x'.repeat(1_981)}`
    const sent = await web.submit('/developer/application/appeal', { words: words.replace('\n', '\r\n') })
    expect([sent.status, textOf(sent.text)]).toEqual([200, expect.stringContaining('You appealed on')])
    expect(sent.text).not.toContain('<textarea')
    const found = await readReviewedApplication(service.context, application.id)
    expect(found?.review).toMatchObject({ reason: 'operator', appeal: words })
  })

  it('is refused when the application is already restored', async () => {
    const application = await make()
    await suspendApplication(service.context.db, application.id, 'for a look')
    const web = await signInAs(service, service.user)
    await web.get(path(application))
    await restoreApplication(service.context.db, application.id, 'looked')
    const late = await web.submit('/developer/application/appeal', { words: 'Please.' })
    expect([late.status, textOf(late.text)]).toEqual([
      400,
      expect.stringContaining('The application is no longer suspended'),
    ])
  })
})
