/**
 * Listeners of a session, saved sessions, and public applications.
 * docs/interface/device-flow.md, "Request a device code".
 */
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { DeviceEvent, DeviceSession } from '../../src/index.ts'
import { failure } from '../rig/failure.ts'
import { ACCESS, pending, record, refusal, scripted, tokenSet } from '../rig/scripted.ts'
import { accepted, gapsOf, start } from '../rig/started.ts'

describe('a listener', () => {
  const types = async (session: DeviceSession, count: number): Promise<string[]> => {
    const seen: DeviceEvent[] = []
    for await (const event of session) if (seen.push(event) === count) break
    return seen.map(({ type }) => type)
  }

  test('gets every poll, and the end', async () => {
    const { clock, next, session, state } = await start()
    next(pending, refusal('slow_down'), pending, accepted(state))
    expect(await clock.during(types(session, 9))).toEqual(['pending', 'slow_down', 'pending', 'accepted'])
    expect(await types(session, 9)).toEqual(['accepted'])
  })

  test.each(['rejected', 'expired'])('gets %s as an event, not as an error', async (outcome) => {
    const { clock, next, session } = await start()
    next(refusal(`auth_${outcome}`))
    expect(await clock.during(types(session, 9))).toEqual([outcome])
  })

  test('shares the polls with other listeners', async () => {
    const { asked, clock, next, session, state } = await start()
    next(pending, pending, accepted(state))
    const [tokens, again, seen] = await clock.during(Promise.all([session.wait(), session.wait(), types(session, 9)]))
    expect(tokens).toBe(again)
    expect(seen).toEqual(['pending', 'pending', 'accepted'])
    expect(asked).toHaveLength(4)
  })

  test('can stop, and polling stops with the last of them', async () => {
    const { asked, clock, next, session } = await start()
    next(pending)
    const [one, two] = [new AbortController(), new AbortController()]
    const waits = [failure(session.wait({ signal: one.signal })), failure(session.wait({ signal: two.signal }))]
    await clock.pass(6_000)
    one.abort()
    expect(await waits[0]).toMatchObject({ name: 'AbortError' })
    await clock.pass(6_000)
    expect(asked).toHaveLength(3)
    two.abort()
    expect(await waits[1]).toMatchObject({ name: 'AbortError' })
    await clock.pass(60_000)
    expect(asked).toHaveLength(3)
  })

  test('can continue later, at the same pace', async () => {
    const { asked, clock, next, session, state } = await start()
    next(pending)
    expect(await clock.during(types(session, 1))).toEqual(['pending'])
    next(accepted(state))
    await clock.during(session.wait())
    expect(gapsOf(asked)).toEqual([5.5, 5.5])
  })

  test('gets nothing when the signal was aborted before', async () => {
    const { asked, session } = await start()
    expect(await failure(session.wait({ signal: AbortSignal.abort('why') }))).toBe('why')
    expect(asked).toHaveLength(1)
  })
})

describe('a session that is saved', () => {
  test('continues in another process, with the same key, after one interval', async () => {
    const { asked, clock, next, session, state } = await start({ state: 'kiosk-7' })
    next(pending)
    const events = session.events()
    await clock.during(events.next())
    await events.return()
    const saved = JSON.stringify(session)
    const other = scripted()
    other.next(accepted(state))
    const resumed = other.client.device.resume<'token_set'>(JSON.parse(saved))
    expect(resumed).toMatchObject({ userCode: '432324981', expiresAt: session.expiresAt })
    const began = other.clock.now()
    expect(await other.clock.during(resumed.wait())).toMatchObject({ accessToken: ACCESS, state: 'kiosk-7' })
    expect((other.asked[0]?.at ?? 0) - began).toBe(5_500)
    expect(other.asked[0]?.headers.get('idempotency-key')).toBe(asked[1]?.headers.get('idempotency-key'))
    expect(other.asked[0]?.form).toEqual(asked[1]?.form)
  })

  test.each([{}, { variant: 'token_set' }, { version: 1, variant: 'token_set', deviceCode: 5 }])(
    'must be one',
    async (saved) => {
      const { client } = scripted()
      expect(() => client.device.resume(saved as never)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
    },
  )

  test('is not revealed by printing it', async () => {
    const { client, session } = await start()
    const seen = inspect([session, client], { depth: 9, showHidden: true })
    expect(seen).not.toMatch(/lk[a-z]_/)
  })
})

describe('a public application', () => {
  test('uses the device flow of the standard dialect, without a secret', async () => {
    const { asked, client, clock, next } = scripted({ appSecret: undefined })
    next(
      record({ state: undefined, verification_uri: 'https://public.example/activate' }),
      refusal('authorization_pending'),
      tokenSet({ token_type: 'Bearer', scope: 'orders:read orders:write' }),
    )
    const session = await client.device.start({
      variant: 'token_set',
      scope: 'orders:read,orders:write',
      state: 'mine',
    })
    expect(session.verificationUrl).toBe('https://public.example/activate')
    const tokens = await clock.during(session.wait())
    expect(tokens).toMatchObject({ accessToken: ACCESS, scope: ['orders:read', 'orders:write'], state: 'mine' })
    expect(asked.map(({ url, form }) => [new URL(url).pathname, form])).toEqual([
      ['/oauth/device_authorization', { client_id: 'app_n61zbfpywkrj', scope: 'orders:read orders:write' }],
      ...[1, 2].map(() => [
        '/oauth/token',
        {
          client_id: 'app_n61zbfpywkrj',
          grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
          device_code: expect.any(String),
        },
      ]),
    ])
  })

  test.each([
    ['access_denied', 'auth_rejected'],
    ['expired_token', 'code_expired'],
    ['invalid_grant', 'code_used'],
    ['invalid_client', 'invalid_application'],
  ])('reads %s as %s', async (answer, code) => {
    const { client, clock, next } = scripted({ appSecret: undefined })
    next(record({ state: undefined }), refusal(answer))
    const session = await client.device.start({ variant: 'token_set' })
    expect(await failure(clock.during(session.wait()))).toMatchObject({ code })
  })

  test('cannot request an access key', async () => {
    const { asked, client } = scripted({ appSecret: undefined })
    expect(await failure(client.device.start({ variant: 'access_key' }))).toMatchObject({ code: 'invalid_request' })
    expect(asked).toHaveLength(0)
  })
})

test.each([
  [400, 'invalid_scope', 'invalid_scope'],
  [400, 'invalid_request', 'invalid_request'],
  [401, 'invalid_application', 'invalid_application'],
  [403, 'application_suspended', 'application_suspended'],
  [403, 'device_flow_disabled', 'invalid_application'],
  [404, 'not_found', 'unexpected_answer'],
  [429, 'too_many_requests', 'too_many_requests'],
  [503, 'unavailable', 'unavailable'],
])('a code request that is answered %d %s fails with %s, and is not repeated', async (status, error, code) => {
  const { asked, client, next } = scripted()
  next(refusal(error, { 'retry-after': '2', 'x-request-id': 'req-9' }, status))
  expect(await failure(client.device.start({ variant: 'token_set' }))).toMatchObject({
    code,
    refusal: error,
    retryAfter: 2,
    requestId: 'req-9',
  })
  expect(asked).toHaveLength(1)
})
