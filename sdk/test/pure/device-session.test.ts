/**
 * Polling of a session, on a virtual clock, with a scripted service.
 * docs/interface/device-flow.md, "Poll for authorization".
 */
import { describe, expect, test } from 'vitest'
import { failure } from '../rig/failure.ts'
import {
  ACCESS,
  json,
  KEY,
  lost,
  pending,
  pendingFor,
  REFRESH,
  record,
  refusal,
  type Script,
  scripted,
} from '../rig/scripted.ts'
import { accepted, gapsOf, start } from '../rig/started.ts'

test('a code is requested with id and secret in the form, and shown in groups of three', async () => {
  const { asked, session } = await start({ state: 'living-room' })
  expect(asked[0]).toMatchObject({
    url: 'https://service.example/auth/oauth/device/code',
    form: { SVCappid: 'app_n61zbfpywkrj', SVCsecret: expect.stringContaining('lks_'), state: 'living-room' },
  })
  expect(session).toMatchObject({ userCode: '432324981', displayCode: '432 324 981' })
  expect(session.verificationUrl).toBe('https://service.example/activate')
  expect(session.remaining()).toBe(600)
})

test.each([
  ['012345678', '012 345 678'],
  ['0123456789', '012 345 6789'],
  ['01234567890', '012 345 678 90'],
  ['012345678901', '012 345 678 901'],
  ['012345678901234', '012 345 678 901 234'],
])('%s is shown as %s', async (user_code, shown) => {
  expect((await start({ record: { user_code } })).session.displayCode).toBe(shown)
})

describe('a session that waits', () => {
  test('polls after one interval and then at the interval, each with a margin, until it has a token set', async () => {
    const { asked, client, clock, next, session, state } = await start({ state: 'living-room' })
    next(pending, pending, accepted(state))
    const tokens = await clock.during(session.wait())
    expect(tokens).toMatchObject({ accessToken: ACCESS, refreshToken: REFRESH, scope: ['orders:read'], state })
    expect(tokens.expiresAt - tokens.issuedAt).toBe(3_600_000)
    expect(gapsOf(asked)).toEqual([5.5, 5.5, 5.5])
    expect(await client.credentials()).toEqual(tokens)
    expect(await session.wait()).toBe(tokens)
    expect(asked).toHaveLength(4)
  })

  test.each([
    [1, 1.5],
    [5, 5.5],
    [60, 66],
  ])('leaves a margin of a tenth, at least half a second, to an interval of %d s', async (interval, gap) => {
    const { asked, clock, next, session, state } = await start({ record: { interval } })
    next(pendingFor(interval), accepted(state))
    await clock.during(session.wait())
    expect(gapsOf(asked)).toEqual([gap, gap])
  })

  test('counts the interval from the answer, however long that took', async () => {
    const { asked, clock, next, session, state } = await start()
    next(async () => {
      await clock.sleep(3_000)
      return pending
    }, accepted(state))
    await clock.during(session.wait())
    expect(gapsOf(asked)).toEqual([5.5, 8.5])
  })

  test('gets an access key in the key variant', async () => {
    const { client, clock, next, asked } = scripted()
    next(record(), ({ url, form }) => {
      expect(url).toBe('https://service.example/auth/key/device/polling')
      expect(form.device_code).toContain('lkd_')
      return json(200, { access_key: KEY, scope: 'orders:read,orders:write', state: asked[0]?.form.state })
    })
    const session = await client.device.start({ variant: 'access_key', scope: ['orders:read', 'orders:write'] })
    expect(asked[0]?.form.scope).toBe('orders:read,orders:write')
    const key = await clock.during(session.wait())
    expect(key).toEqual({ variant: 'access_key', accessKey: KEY, scope: ['orders:read', 'orders:write'], state: '' })
  })

  test.each([
    ['auth_rejected', 'auth_rejected'],
    ['auth_expired', 'code_expired'],
    ['invalid', 'code_used'],
  ])('ends for good when the answer is %s', async (answer, code) => {
    const { asked, clock, next, session } = await start()
    next(pending, refusal(answer, { 'x-request-id': 'req-7' }))
    expect(await failure(clock.during(session.wait()))).toMatchObject({ code, requestId: 'req-7' })
    expect(await failure(session.wait())).toMatchObject({ code })
    expect(asked).toHaveLength(3)
  })

  test('never requests another code by itself', async () => {
    const { asked, clock, next, session } = await start({ record: { expires_in: 60 } })
    next(({ at }) => (at < session.expiresAt ? pending : refusal('auth_expired')))
    expect(await failure(clock.during(session.wait()))).toMatchObject({ code: 'code_expired' })
    expect(asked.filter(({ url }) => url.endsWith('/code'))).toHaveLength(1)
    expect(session.remaining()).toBe(0)
  })

  test('collects a late grant after the expiry', async () => {
    const { clock, next, session, state } = await start({ record: { expires_in: 10 } })
    next(pending, ({ at }) => {
      expect(at).toBeGreaterThan(session.expiresAt)
      return accepted(state)
    })
    expect(await clock.during(session.wait())).toMatchObject({ accessToken: ACCESS })
  })

  test('continues for a while after the expiry, while the service answers 503', async () => {
    const { clock, next, session, state } = await start({ record: { expires_in: 10 } })
    next(({ at }) => (at < session.expiresAt + 30_000 ? pending : accepted(state)))
    expect(await clock.during(session.wait())).toMatchObject({ accessToken: ACCESS })
  })

  test('stops a minute after the expiry, if the service still answers 503', async () => {
    const { asked, clock, next, session, state } = await start({ record: { expires_in: 10 } })
    next(pending)
    expect(await failure(clock.during(session.wait()))).toMatchObject({ code: 'unavailable' })
    expect((asked.at(-1)?.at ?? 0) - session.expiresAt).toBeLessThan(66_000)
    next(accepted(state))
    expect(await clock.during(session.wait())).toMatchObject({ accessToken: ACCESS })
  })
})

test('a wall clock corrected by years does not end a code', async () => {
  const { clock, next, session, state } = await start()
  let polls = 0
  next(() => {
    polls += 1
    if (polls === 2) clock.set(clock.now() + 1e12)
    return polls < 100 ? pending : accepted(state)
  })
  expect(await clock.during(session.wait())).toMatchObject({ accessToken: ACCESS })
})

describe('slow_down', () => {
  test('makes every later wait five seconds longer', async () => {
    const { asked, clock, next, session, state } = await start()
    next(pending, refusal('slow_down', { 'retry-after': '5' }), pending, refusal('slow_down'), pending, accepted(state))
    await clock.during(session.wait())
    expect(gapsOf(asked)).toEqual([5.5, 5.5, 11, 11, 16.5, 16.5])
  })

  test('ends the session the third time, before the application is suspended for it', async () => {
    const { asked, clock, next, session } = await start()
    next(refusal('slow_down'))
    expect(await failure(clock.during(session.wait()))).toMatchObject({ code: 'too_many_slow_downs' })
    expect(asked).toHaveLength(4)
    expect(await failure(session.wait())).toMatchObject({ code: 'too_many_slow_downs' })
    expect(asked).toHaveLength(4)
  })

  test('is kept by a restored session', async () => {
    const { client, clock, next, session } = await start()
    next(refusal('slow_down'), refusal('slow_down'), pending)
    const events = session.events()
    await clock.during(events.next())
    await clock.during(events.next())
    await events.return()
    next(refusal('slow_down'))
    const resumed = client.device.resume(JSON.parse(JSON.stringify(session)))
    expect(await failure(clock.during(resumed.wait()))).toMatchObject({ code: 'too_many_slow_downs' })
  })
})

describe('when answers are lost', () => {
  const faults: [string, Script | Response | Error][] = [
    ['the connection is cut', lost()],
    ['the service is unavailable', refusal('unavailable', {}, 503)],
    ['a proxy answers with a page', new Response('<h1>Bad gateway</h1>', { status: 502 })],
    ['a hotel answers with a page', new Response('<h1>Welcome</h1>')],
    ['the answer is cut short', new Response('{"access_token":"lka_')],
    ['there are too many requests', refusal('too_many_requests', {}, 429)],
    ['something on the way answers', new Response('no', { status: 403 })],
    ['a redirect leads elsewhere', new Response(null, { status: 302, headers: { location: 'https://evil.example' } })],
  ]
  test.each(faults)('and %s, the poll is repeated with the same key, ever more slowly', async (_, fault) => {
    const { asked, clock, next, session, state } = await start()
    next(fault, fault, fault, accepted(state))
    expect(await clock.during(session.wait())).toMatchObject({ accessToken: ACCESS })
    const keys = new Set(asked.slice(1).map(({ headers }) => headers.get('idempotency-key')))
    expect([...keys]).toEqual([expect.stringMatching(/^[\x21-\x7e]{16,255}$/)])
    const [first = 0, second = 0, third = 0] = gapsOf(asked).slice(1)
    expect(first).toBeGreaterThanOrEqual(5.5)
    expect(second).toBeGreaterThanOrEqual(11)
    expect(third).toBeGreaterThanOrEqual(22)
    expect(third).toBeLessThanOrEqual(22 * 1.25)
  })

  test('the delays are short again after the first answer', async () => {
    const { asked, clock, next, session, state } = await start()
    next(lost(), lost(), pending, lost(), accepted(state))
    await clock.during(session.wait())
    expect(gapsOf(asked)[4]).toBeLessThanOrEqual(5.5 * 1.25)
  })

  test('a session that expired long ago is given up soon', async () => {
    const { asked, clock, next, session } = await start()
    await clock.pass(86_400_000)
    next(lost())
    const began = clock.now()
    expect(await failure(clock.during(session.wait()))).toMatchObject({ code: 'network' })
    expect(clock.now() - began).toBeLessThan(180_000)
    expect(asked.length).toBeGreaterThan(3)
  })

  test('all polls of a session have one key, and no two sessions have the same', async () => {
    const keys = await Promise.all(
      [1, 2].map(async () => {
        const { asked, clock, next, session, state } = await start()
        next(pending, pending, accepted(state))
        await clock.during(session.wait())
        return new Set(asked.slice(1).map(({ headers }) => headers.get('idempotency-key')))
      }),
    )
    expect(keys.map(({ size }) => size)).toEqual([1, 1])
    expect(new Set(keys.flatMap((each) => [...each])).size).toBe(2)
  })

  test('Retry-After is honoured', async () => {
    const { asked, clock, next, session, state } = await start()
    next(refusal('unavailable', { 'retry-after': '40' }, 503), accepted(state))
    await clock.during(session.wait())
    expect(gapsOf(asked)).toEqual([5.5, 40])
  })

  test('Retry-After is honoured until the code expires', async () => {
    const { asked, clock, next, session } = await start({ record: { expires_in: 60 } })
    next(refusal('unavailable', { 'retry-after': '86400' }, 503), refusal('auth_expired'))
    expect(await failure(clock.during(session.wait()))).toMatchObject({ code: 'code_expired' })
    expect(gapsOf(asked)).toEqual([5.5, 54.5])
  })

  test('an answer that does not come within 15 s after its wait is given up', async () => {
    const { asked, clock, next, session, state } = await start()
    next(() => new Promise(() => {}), accepted(state))
    await clock.during(session.wait())
    expect(gapsOf(asked)[1]).toBeGreaterThanOrEqual(45.5)
    expect(gapsOf(asked)[1]).toBeLessThan(40 + 5.5 * 1.25)
  })

  test('without any answer until long after the expiry, the error says so', async () => {
    const { clock, next, session, state } = await start({ record: { expires_in: 10 } })
    next(lost('ENOTFOUND'))
    expect(await failure(clock.during(session.wait()))).toMatchObject({ code: 'network' })
    next(accepted(state))
    expect(await clock.during(session.wait())).toMatchObject({ accessToken: ACCESS })
  })

  test('an answer with another state is not accepted', async () => {
    const { asked, clock, next, session, state } = await start()
    next(accepted('another state'), accepted(state))
    await clock.during(session.wait())
    expect(asked).toHaveLength(3)
    const service = scripted()
    service.next(record({ state: 'another state' }))
    expect(await failure(service.client.device.start({ variant: 'token_set' }))).toMatchObject({
      code: 'unexpected_answer',
    })
  })
})
