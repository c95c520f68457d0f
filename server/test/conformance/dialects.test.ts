/**
 * docs/interface.md, "Errors", "Limits" and the records of the answers: the same in both variants, in both formats, whichever
 * way the parameters are passed, with and without the version.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CodeRecord, WireVariant } from '../rig/device.ts'
import { describeDialect, dialects, type Spoken, speak } from '../rig/dialects.ts'
import { engineUrl } from '../rig/engines/database.ts'
import { type MadeApplication, makeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let other: MadeApplication
beforeAll(async () => {
  service = await startTestService({ REDIS_URL: engineUrl('REDIS_URL') }, { clock: true })
  other = await makeApplication(service.context.db, service.config, service.account.slug)
  await service.context.applications.refresh()
})
afterAll(() => service.stop())

const variants: WireVariant[] = ['oauth', 'key']
const cases = dialects.flatMap((dialect) => variants.map((variant) => ({ dialect, variant })))
const named = cases.map((each) => ({ ...each, name: `${each.variant}, ${describeDialect(each.dialect)}` }))

describe.each(named)('$name', ({ dialect, variant }) => {
  const speaking = (endpoint: 'code' | 'polling', parameters: Record<string, string>) =>
    speak(service.address, dialect, variant, endpoint, parameters)
  const credentials = () => service.device(variant).credentials
  const request = async (parameters: Record<string, string> = {}) =>
    (await speaking('code', { ...credentials(), ...parameters })).fields as unknown as CodeRecord
  const poll = (code: CodeRecord) => speaking('polling', { ...credentials(), device_code: code.device_code })

  it('a code request answers 200 with the six fields of the record', async () => {
    const answer = await speaking('code', { ...credentials(), scope: 'orders:read', state: 'ä <&> "x" 😀' })
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe(`application/${dialect.format}; charset=utf-8`)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(Object.keys(answer.fields)).toEqual([
      'device_code',
      'user_code',
      'verification_url',
      'expires_in',
      'interval',
      'state',
    ])
    expect(answer.fields).toMatchObject({
      verification_url: '',
      expires_in: '600',
      interval: '5',
      state: 'ä <&> "x" 😀',
    })
    if (dialect.format === 'json') {
      expect(answer.body).toMatchObject({ expires_in: 600, interval: 5, user_code: expect.any(String) })
    }
  })

  it('a state that was not sent comes back empty', async () => {
    expect((await request()).state).toBe('')
  })

  it('grant_type is never needed, and any value of it is ignored', async () => {
    for (const grant_type of ['', 'refresh_token', 'client_credentials', 'anything']) {
      const code = await request({ grant_type })
      expectError(
        await speaking('polling', { ...credentials(), device_code: code.device_code, grant_type }),
        'auth_pending',
      )
    }
  })

  it('auth_pending: 400 with error and message, the user has not yet processed the code', async () => {
    const answer = await poll(await request())
    expectError(answer, 'auth_pending')
    expect(answer.headers['retry-after']).toBe('5')
  })

  it('slow_down: 400, polling is faster than the interval allows', async () => {
    const code = await request()
    await poll(code)
    const answer = await poll(code)
    expectError(answer, 'slow_down')
    expect(answer.headers['retry-after']).toBe('5')
  })

  it('auth_expired: 400, the code expired before the user authorized; then the codes are inactive', async () => {
    const code = await request()
    await service.database.advance(600_001)
    expectError(await poll(code), 'auth_expired')
    expectError(await poll(code), 'invalid')
  })

  it('auth_rejected: 400, the user rejected the application; then the codes are inactive', async () => {
    const code = await request()
    expect(await service.reject(code.user_code)).toBe('rejected')
    expectError(await poll(code), 'auth_rejected')
    expectError(await poll(code), 'invalid')
  })

  it('accepted: 200 with the fields of the variant; then invalid: 400, the code was tokenized', async () => {
    const code = await request({ state: 's', scope: 'orders:write,orders:read' })
    expect(await service.grant(code.user_code)).toBe('granted')
    const answer = await poll(code)
    expect(answer.status).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    const names = variant === 'oauth' ? ['access_token', 'refresh_token', 'expires_in'] : ['access_key']
    expect(Object.keys(answer.fields)).toEqual([...names, 'scope', 'state'])
    expect(answer.fields).toMatchObject({ scope: 'orders:write,orders:read', state: 's' })
    expectError(await poll(code), 'invalid')
  })

  it('polling: an application id, a secret and a device code that do not fit are invalid, each alike', async () => {
    const code = await request()
    const good = { ...credentials(), device_code: code.device_code }
    const [used, foreign] = [await request(), await service.device(variant === 'oauth' ? 'key' : 'oauth').code()]
    expect(await service.reject(used.user_code)).toBe('rejected')
    expectError(await poll(used), 'auth_rejected')
    const bad = [
      { ...good, SVCsecret: `lks_${'x'.repeat(43)}` },
      { ...good, SVCsecret: 'x' },
      { ...good, SVCappid: 'app_000000000000' },
      { ...good, SVCappid: other.id, SVCsecret: other.secret },
      { ...good, device_code: `lkd_0000${'A'.repeat(55)}` },
      { ...good, device_code: `${good.device_code} ` },
      { ...good, device_code: code.user_code },
      { ...good, device_code: used.device_code },
      { ...good, device_code: foreign.device_code },
    ]
    const answers = await Promise.all(bad.map((parameters) => speaking('polling', parameters)))
    for (const answer of answers) expectError(answer, 'invalid')
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
    expectError(await poll(code), 'auth_pending')
  })

  it('polling: a parameter that is missing is named, whatever the others are', async () => {
    const { device_code } = await request()
    const good = { ...credentials(), device_code }
    for (const name of ['SVCappid', 'SVCsecret', 'device_code'] as const) {
      const { [name]: _, ...rest } = good
      const answers = [
        await speaking('polling', rest),
        await speaking('polling', { ...good, [name]: '' }),
        await speaking('polling', { SVCappid: 'x', SVCsecret: 'x', device_code: 'x', [name]: '' }),
      ]
      for (const answer of answers) expectError(answer, 'invalid')
      expect(answers.map(({ fields }) => fields.message)).toEqual(Array(3).fill(`The parameter ${name} is missing.`))
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    }
  })
})

describe('refusals of the code request', () => {
  const device = () => service.device('oauth')

  it('a wrong secret and an unknown application answer 401 invalid_application, alike', async () => {
    const wrong = await device().request({ SVCsecret: `lks_${'x'.repeat(43)}` })
    const unknown = await device().request({ SVCappid: 'app_000000000000' })
    expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_application'])
    expect(unknown.text).toBe(wrong.text)
  })

  it('a missing id or secret answers 400 invalid_request and says which', async () => {
    expect((await device().request({ SVCsecret: '' })).body).toEqual({
      error: 'invalid_request',
      message: 'The parameter SVCsecret is missing.',
    })
  })

  it.each(['unknown', 'orders:read,unknown', 'orders:read orders:delete'])(
    'DC-12: scope %j answers 400 invalid_scope',
    async (scope) => {
      const answer = await device().request({ scope })
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid_scope'])
    },
  )

  it('whitespace separates scopes as well as commas; repetitions count once', async () => {
    const code = await device().code({ scope: ' orders:write  orders:read,orders:write ' })
    await service.grant(code.user_code)
    expect((await device().poll(code.device_code)).body.scope).toBe('orders:write,orders:read')
  })

  it('a state of 1024 bytes is echoed, one of 1025 is refused', async () => {
    const longest = 'ä'.repeat(512)
    expect((await device().code({ state: longest })).state).toBe(longest)
    const longer = await device().request({ state: `${longest}x` })
    expect([longer.status, longer.body.error]).toEqual([400, 'invalid_request'])
  })
})

function expectError(answer: Spoken, error: string): void {
  expect({ status: answer.status, error: answer.fields.error }).toEqual({ status: 400, error })
  expect(Object.keys(answer.fields)).toEqual(['error', 'message'])
}
