/**
 * `expires_in` is true in every answer: docs/interface/device-flow.md, "Delivery", and
 * docs/history.md#0027. Each on the wire, with a clock that the test moves.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { settleDelivery } from '../../src/flows/device/deliver.ts'
import { pollDeviceCode } from '../../src/flows/device/poll.ts'
import { exchangeCode, releaseExchangeLost } from '../../src/flows/dialog/exchange-code.ts'
import { askMe, grant } from '../rig/connect.ts'
import { post, type WireAnswer, type WireVariant } from '../rig/device.ts'
import { allow, exchange, makeDialogApplication } from '../rig/dialog.ts'
import { CALLBACK } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const LIFETIME = 60
const KEY = { 'idempotency-key': 'one-poll' }
const INVALID = [400, 'invalid']

let short: TestService
let long: TestService
beforeAll(async () => {
  short = await startTestService({ ACCESS_TOKEN_LIFETIME: String(LIFETIME) }, { clock: true })
  long = await startTestService({}, { clock: true })
})
afterAll(async () => {
  await short.stop()
  await long.stop()
})

/** The device flow's polls in both dialects. */
const dialects = {
  'the contract’s path': (service: TestService, deviceCode: string, headers = {}) =>
    service.device().poll(deviceCode, headers),
  '/oauth/token': (service: TestService, deviceCode: string, headers = {}) =>
    post(service.address, '/oauth/token', {
      form: {
        client_id: service.application.id,
        client_secret: service.application.secret,
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code: deviceCode,
      },
      headers,
    }),
} as const
type Poll = (typeof dialects)[keyof typeof dialects]
const eachDialect = Object.entries(dialects)

const refresh = ({ address, application }: TestService, refreshToken: string) =>
  post(address, '/auth/oauth/refresh', {
    form: { SVCappid: application.id, SVCsecret: application.secret, refresh_token: refreshToken },
  })

const heard = ({ status, body }: WireAnswer) => [status, status === 200 ? body.access_token : body.error]

/** Some real seconds pass as well on a busy machine, so a few may be missing; never one too many. */
function expectLeft(answer: WireAnswer, seconds: number): void {
  expect(answer.status).toBe(200)
  expect(answer.body.expires_in).toBeLessThanOrEqual(seconds)
  expect(answer.body.expires_in).toBeGreaterThan(seconds - 15)
}

/** The promise kept: the token works now, and is refused one second after the time that its answer stated. */
async function expectTrue(service: TestService, { body }: WireAnswer): Promise<void> {
  expect((await askMe(service, body.access_token)).status).toBe(200)
  await service.database.advance((body.expires_in + 1) * 1000)
  await service.context.applications.refresh()
  expect((await askMe(service, body.access_token)).status).toBe(401)
}

/** A poll that got the outcome, and whose client was gone before it could be sent. */
async function pollAndVanish(service: TestService, deviceCode: string, variant: WireVariant = 'oauth') {
  const { context, application } = service
  const result = await pollDeviceCode(context, {
    applicationId: application.id,
    secret: application.secret,
    deviceCode,
    variant: variant === 'oauth' ? 'token_set' : 'access_key',
    idempotencyKey: null,
    wait: null,
  })
  if (result.outcome !== 'accepted' || !result.ticket) throw new Error(`the poll was answered ${result.outcome}`)
  await settleDelivery(context, result.ticket, false)
  return result.issued
}

describe.each(eachDialect)('a poll that is repeated with its Idempotency-Key, at %s', (_path, poll: Poll) => {
  it('states the whole lifetime first and what is left 20 seconds later, of the same tokens', async () => {
    const { deviceCode } = await grant(short)
    const first = await poll(short, deviceCode, KEY)
    expect(first.body.expires_in).toBe(LIFETIME)
    await short.database.advance(20_000)
    const again = await poll(short, deviceCode, KEY)
    expectLeft(again, 40)
    expect(again.body).toEqual({ ...first.body, expires_in: again.body.expires_in })
    await expectTrue(short, again)
  })

  it('63 seconds later, past a lifetime of 60, is invalid and hands out no dead token', async () => {
    const { deviceCode, grantId } = await grant(short)
    const first = await poll(short, deviceCode, KEY)
    await short.database.advance(63_000)
    expect((await poll(short, deviceCode, KEY)).body.access_token).toBeUndefined()
    // The access itself goes on: the application that did hear the answer renews it.
    expect((await refresh(short, first.body.refresh_token)).status).toBe(200)
    const [row] = await short.database.query<{ revoked: boolean }>(
      'select revoked_at is not null as revoked from grants where id = $1',
      [grantId],
    )
    expect(row?.revoked).toBe(false)
  })

  it('after a refresh is invalid: the set has been renewed since', async () => {
    const { deviceCode } = await grant(short)
    const first = await poll(short, deviceCode, KEY)
    expect(heard(await poll(short, deviceCode, KEY))).toEqual(heard(first))
    expect((await refresh(short, first.body.refresh_token)).status).toBe(200)
    expect((await poll(short, deviceCode, KEY)).status).toBe(400)
  })
})

it('a repetition of a dead, renewed or revoked set is the contract’s invalid', async () => {
  const device = short.device()
  const [dead, renewed, revoked] = [await grant(short), await grant(short), await grant(short)]
  const sets = [dead, renewed, revoked].map(({ deviceCode }) => device.poll(deviceCode, KEY))
  const [, second, third] = await Promise.all(sets)
  await refresh(short, second?.body.refresh_token)
  await post(short.address, '/auth/oauth/revoke', {
    form: { ...device.credentials, token: third?.body.refresh_token },
  })
  expect(heard(await device.poll(renewed.deviceCode, KEY))).toEqual(INVALID)
  expect(heard(await device.poll(revoked.deviceCode, KEY))).toEqual(INVALID)
  await short.database.advance(63_000)
  expect(heard(await device.poll(dead.deviceCode, KEY))).toEqual(INVALID)
})

describe('an Idempotency-Key repeats an answer for ten minutes', () => {
  const outcomes = {
    accepted: (userCode: string) => long.grant(userCode),
    rejected: (userCode: string) => long.reject(userCode),
    expired: () => long.database.advance(600_001),
  } as const
  const all = (['oauth', 'key'] as const).flatMap((variant) =>
    (['accepted', 'rejected', 'expired'] as const).map((outcome) => [outcome, variant] as const),
  )

  it.each(all)('%s, %s variant: until then the same outcome, from then on invalid', async (outcome, variant) => {
    const device = long.device(variant)
    const code = await device.code()
    await outcomes[outcome](code.user_code)
    const first = await device.poll(code.device_code, KEY)
    await long.database.advance(590_000)
    const again = await device.poll(code.device_code, KEY)
    expect([again.status, again.body.error]).toEqual([first.status, first.body.error])
    if (outcome === 'accepted' && variant === 'oauth') expectLeft(again, 3600 - 590)
    await long.database.advance(10_000)
    expect(heard(await device.poll(code.device_code, KEY))).toEqual(INVALID)
  })
})

describe('an answer that was lost before it was sent', () => {
  it.each(eachDialect)('is given again 20 seconds later with what is left, at %s', async (_path, poll: Poll) => {
    const { deviceCode } = await grant(short)
    const lost = await pollAndVanish(short, deviceCode)
    await short.database.advance(20_000)
    const answer = await poll(short, deviceCode)
    expectLeft(answer, 40)
    expect(answer.body.access_token).toBe('accessToken' in lost && lost.accessToken)
    await expectTrue(short, answer)
  })

  it('is given 63 seconds later with a new access token, because the first one is dead', async () => {
    const { deviceCode } = await grant(short)
    const lost = await pollAndVanish(short, deviceCode)
    await short.database.advance(63_000)
    const answer = await short.device().poll(deviceCode)
    expect(answer.body.expires_in).toBe(LIFETIME)
    expect(answer.body.access_token).not.toBe('accessToken' in lost && lost.accessToken)
    expect(answer.body.refresh_token).toBe('refreshToken' in lost && lost.refreshToken)
    await expectTrue(short, answer)
  })

  it('of an exchange is given again 20 seconds later with what is left', async () => {
    const application = await makeDialogApplication(short)
    const allowed = await allow(short, { application })
    const lost = await exchangeCode(short.context, {
      applicationId: application.id,
      secret: application.secret,
      code: allowed.code,
      redirectUri: CALLBACK,
      codeVerifier: allowed.pkce.verifier,
      idempotencyKey: null,
    })
    if (lost.outcome !== 'exchanged' || !lost.ticket) throw new Error(`the exchange was answered ${lost.outcome}`)
    expect(lost.issued.expiresInSeconds).toBe(LIFETIME)
    await releaseExchangeLost(short.context, lost.ticket)
    await short.database.advance(20_000)
    const answer = await exchange(short, application, allowed)
    expectLeft(answer, 40)
    expect(answer.body.access_token).toBe(lost.issued.accessToken)
    await expectTrue(short, answer)
  })
})

describe('a refresh that is repeated within its grace', () => {
  const standard = ({ address, application }: TestService, refreshToken: string) =>
    post(address, '/oauth/token', {
      form: {
        client_id: application.id,
        client_secret: application.secret,
        grant_type: 'refresh_token',
        refresh_token: refreshToken,
      },
    })

  it.each([
    ['/auth/oauth/refresh', refresh],
    ['/oauth/token', standard],
  ])('states what is left of the same set, at %s', async (_path, renew) => {
    const { deviceCode } = await grant(short)
    const { body } = await short.device().poll(deviceCode)
    await short.database.advance(30_000)
    const first = await renew(short, body.refresh_token)
    expect(first.body.expires_in).toBe(LIFETIME)
    await short.database.advance(20_000)
    const again = await renew(short, body.refresh_token)
    expectLeft(again, 40)
    expect(again.body).toEqual({ ...first.body, expires_in: again.body.expires_in })
    await expectTrue(short, again)
  })
})
