/**
 * Test mode: an application decides its own codes, so that its developer's tests need no browser.
 * docs/interface/device-flow.md, "Test mode".
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { endTestMode, startTestMode } from '../../src/flows/applications/test-mode.ts'
import { post, type WireVariant } from '../rig/device.ts'
import { type MadeApplication, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { makeSignedInUser } from '../rig/signed-in.ts'
import { switchTestModeOff, switchTestModeOn } from '../rig/test-mode.ts'
import { everyRow, mailsOf } from '../rig/witness.ts'

let service: TestService
let tested: MadeApplication
let testSecret: string
beforeAll(async () => {
  service = await startTestService()
  tested = await makeApplication(service.context.db, service.config, service.account.slug)
  testSecret = await switchTestModeOn(service, tested)
})
afterAll(() => service.stop())

type Given = { readonly by?: MadeApplication; readonly secret?: string }

const decide = (userCode: string, decision: string, { by = tested, secret = testSecret }: Given = {}) =>
  post(service.address, '/1/auth/test/decision', {
    form: { SVCappid: by.id, SVCsecret: by.secret, test_secret: secret, user_code: userCode, decision },
  })

describe.each<WireVariant>(['oauth', 'key'])('in the %s variant', (variant) => {
  it('a code that was granted by request is collected by the next poll, and the credential works', async () => {
    const device = service.device(variant, tested)
    const code = await device.code()
    expect((await decide(code.user_code, 'grant')).body).toEqual({ decision: 'grant', scope: 'orders:read' })
    const { status, body } = await device.poll(code.device_code)
    expect(status).toBe(200)
    const credential = body.access_token ?? body.access_key ?? ''
    const me = await post(service.address, '/1/me', {
      method: 'GET',
      headers: { authorization: `Bearer ${credential}` },
    })
    expect(me.body).toMatchObject({ user: service.user.id, application: tested.id })
  })

  it('a code that was rejected by request is rejected', async () => {
    const device = service.device(variant, tested)
    const code = await device.code()
    expect((await decide(code.user_code, 'reject')).status).toBe(200)
    expect((await device.poll(code.device_code)).body.error).toBe('auth_rejected')
  })

  it('a code may be asked for that expires at once', async () => {
    const device = service.device(variant, tested)
    const code = await device.code({ expires_in: '1' })
    expect(code.expires_in).toBe(1)
    expect((await device.code({ expires_in: '0' })).expires_in).toBe(600)
    await expect
      .poll(async () => (await device.poll(code.device_code)).body.error, { timeout: 30_000, interval: 300 })
      .toBe('auth_expired')
  })
})

it('the developer gets no mail about their own tests', async () => {
  const before = await mailsOf(service, service.user)
  const { user_code } = await service.device('oauth', tested).code()
  await decide(user_code, 'grant')
  expect(await mailsOf(service, service.user)).toEqual(before)
})

describe('nobody else', () => {
  it('can enter its codes on a page, whoever they are', async () => {
    const { user_code } = await service.device('oauth', tested).code()
    const { web } = await makeSignedInUser(service)
    expect((await web.enterCode(user_code)).status).toBe(400)
    expect((await decide(user_code, 'grant')).status, 'and it is still the application’s to decide').toBe(200)
  })

  it('decides by request: not an application out of test mode, not another one, not without the secret', async () => {
    const { user_code } = await service.device('oauth', tested).code()
    const other = await makeApplication(service.context.db, service.config, service.account.slug)
    const otherSecret = await switchTestModeOn(service, other)
    const before = await everyRow(service)
    expect((await decide(user_code, 'grant', { by: service.application })).body.error).toBe('invalid_test_secret')
    expect((await decide(user_code, 'grant', { by: other })).body.error).toBe('invalid_test_secret')
    expect((await decide(user_code, 'grant', { by: other, secret: otherSecret })).body.error).toBe('invalid')
    expect((await decide(user_code, 'grant', { by: { ...tested, secret: 'lks_x' } })).body.error).toBe(
      'invalid_application',
    )
    expect((await decide('not a code', 'grant')).body.error).toBe('invalid')
    expect((await decide(user_code, 'maybe')).body.error).toBe('invalid_request')
    expect(await everyRow(service)).toEqual(before)
  })

  it('switches it on or off for an application of another account', async () => {
    const { slug } = await makeAccount(service.context.db)
    const stranger = await makeUser(service.context.db, slug)
    const { context, application } = service
    expect((await startTestMode(context, stranger.id, application.id)).outcome).toBe('not_found')
    expect((await endTestMode(context, stranger.id, tested.id)).outcome).toBe('not_found')
  })
})

it('out of test mode, people decide again, and a wished lifetime is ignored', async () => {
  const application = await makeApplication(service.context.db, service.config, service.account.slug)
  const secret = await switchTestModeOn(service, application)
  await switchTestModeOff(service, application)
  const code = await service.device('oauth', application).code({ expires_in: '1' })
  expect(code.expires_in).toBe(600)
  expect((await decide(code.user_code, 'grant', { by: application, secret })).body.error).toBe('invalid_test_secret')
  expect(await service.grant(code.user_code)).toBe('granted')
})
