/** AP-20, AP-21: wrong secrets cost whoever sends them, never the application that they are tried on, and tell nothing about it. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { post } from '../../rig/device.ts'
import { makeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'

const GUESSES = sized(100_000, 1_000)
const AT_ONCE = 20
const PER_NETWORK = 30

let service: TestService
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '127.0.0.1', CODE_REQUESTS_PER_NETWORK: String(PER_NETWORK) })
})
afterAll(() => service.stop())

const wrong = (time: number) => `lks_${String(time).padStart(43, 'x')}`
const from = (address: string) => ({ 'x-forwarded-for': address })
/** Another network for every forty guesses: the last ten of them are over its limit. */
const guesser = (time: number) => `10.${(time / 40 / 256) & 255}.${(time / 40) & 255}.${1 + (time % 40)}`

it(`AP-21: ${figure(GUESSES)} wrong secrets from many networks are charged to those networks, and lock no application`, async () => {
  const { credentials } = service.device()
  const ask = (path: string, secret: string, address: string, more: Record<string, string> = {}) =>
    post(service.address, path, { form: { ...credentials, SVCsecret: secret, ...more }, headers: from(address) })
  const counted: Record<number, number> = {}
  const owners: number[] = []
  const guessing = async (worker: number) => {
    for (let time = worker; time < GUESSES; time += AT_ONCE) {
      const { status } = await ask('/auth/oauth/device/code', wrong(time), guesser(time))
      counted[status] = (counted[status] ?? 0) + 1
      if (time % 100 === 0) {
        const owner = `192.0.${(time / 100) & 255}.1`
        owners.push((await ask('/auth/oauth/device/code', credentials.SVCsecret, owner)).status)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_each, worker) => guessing(worker)))
  const networks = Math.ceil(GUESSES / 40)
  expect(counted).toEqual({ 401: networks * PER_NETWORK, 429: GUESSES - networks * PER_NETWORK })
  expect(owners, 'the owner’s own requests meanwhile').toEqual(owners.map(() => 200))

  const polled = await Promise.all(
    Array.from({ length: 200 }, (_each, time) =>
      ask('/auth/oauth/device/polling', wrong(time), guesser(time), { device_code: 'lkd_none' }),
    ),
  )
  expect(new Set(polled.map(({ status, body }) => `${status} ${body.error}`))).toEqual(new Set(['400 invalid']))

  const [row] = await service.database.query('select suspended_at, deleted_at from applications where id = $1', [
    service.application.id,
  ])
  expect(row).toEqual({ suspended_at: null, deleted_at: null })
  expect(await service.database.query('select from reviews')).toEqual([])
  const code = await ask('/auth/oauth/device/code', credentials.SVCsecret, '198.51.100.1')
  expect(code.status).toBe(200)
  expect(await service.grant(code.body.user_code)).toBe('granted')
  const { device_code } = code.body
  expect((await ask('/auth/oauth/device/polling', credentials.SVCsecret, '198.51.100.1', { device_code })).status).toBe(
    200,
  )
})

it('AP-20: whether an application is suspended is told to who has its secret, and a wrong secret is answered like an unknown application', async () => {
  const { context, config, account } = service
  const suspended = await makeApplication(context.db, config, account.slug)
  await suspendApplication(context.db, suspended.id, 'test')
  await context.applications.refresh()
  const ask = async (SVCappid: string, SVCsecret: string) => {
    const form = { SVCappid, SVCsecret }
    const { status, body } = await post(service.address, '/auth/oauth/device/code', {
      form,
      headers: from('192.0.2.1'),
    })
    return [status, body]
  }
  expect(await ask(suspended.id, suspended.secret)).toEqual([
    403,
    expect.objectContaining({ error: 'application_suspended' }),
  ])
  const unknown = await ask('app_000000000000', wrong(1))
  expect(unknown).toEqual([401, expect.objectContaining({ error: 'invalid_application' })])
  expect(await ask(suspended.id, wrong(1))).toEqual(unknown)
  expect(await ask(service.application.id, wrong(1))).toEqual(unknown)
})
