/** The fake service as applications use it in tests: no network, no waiting, with a user. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createClient } from '../../src/index.ts'
import { createFakeService } from '../../src/testing.ts'

const failing = (code: string) => expect.objectContaining({ name: 'LatchkeyError', code })

describe('the device flow', () => {
  test('granted while the application polls, the token set arrives without waiting', async () => {
    const service = createFakeService()
    const client = createClient(service.clientOptions)
    const session = await client.device.start({ variant: 'token_set', scope: ['orders:read'], state: 'kiosk-7' })
    const startedAt = service.clock.now()
    const waiting = session.wait()
    service.grant(session.displayCode)
    const tokens = await waiting
    expect(tokens).toMatchObject({ variant: 'token_set', scope: ['orders:read'], state: 'kiosk-7' })
    expect(tokens.accessToken).toMatch(/^lka_0000[\w-]{56}$/)
    expect(service.clock.now() - startedAt).toBeGreaterThanOrEqual(5_000)
    expect(service.requests.map(({ path, status }) => `${path} ${status}`)).toEqual([
      '/auth/oauth/device/code 200',
      '/auth/oauth/device/polling 200',
    ])
  })

  test('granted before the application polls, the access key arrives as well', async () => {
    const service = createFakeService()
    const client = createClient(service.clientOptions)
    const session = await client.device.start({ variant: 'access_key' })
    service.grant(session.userCode, { scope: ['orders:write', 'something:else'] })
    expect(await session.wait()).toMatchObject({ variant: 'access_key', scope: ['orders:write'] })
  })

  test('a public application gets a token set, too', async () => {
    const service = createFakeService({ public: true })
    const client = createClient(service.clientOptions)
    const session = await client.device.start({ variant: 'token_set' })
    service.grant(session.userCode)
    expect(await session.wait()).toMatchObject({ scope: ['orders:read', 'orders:write'] })
    expect(service.requests.map(({ path }) => path)).toEqual(['/oauth/device_authorization', '/oauth/token'])
  })

  test.each([
    ['reject', 'auth_rejected'],
    ['expire', 'code_expired'],
  ] as const)('%s leads to %s, and the user code is not known any more', async (act, code) => {
    const service = createFakeService()
    const session = await createClient(service.clientOptions).device.start({ variant: 'token_set' })
    service[act](session.userCode)
    await expect(session.wait()).rejects.toEqual(failing(code))
    expect(() => service.grant(session.userCode)).toThrow('No code with these digits is waiting')
  })

  test('without a decision, time stands still until it is advanced', async () => {
    const service = createFakeService()
    const session = await createClient(service.clientOptions).device.start({ variant: 'token_set' })
    const types: string[] = []
    const listening = (async () => {
      for await (const event of session) types.push(event.type)
    })()
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(types).toEqual([])
    await service.clock.advance(12_000)
    expect(types).toEqual(['pending', 'pending'])
    await service.clock.advance(600_000)
    await listening
    expect(types.at(-1)).toBe('expired')
  })

  test('a repeated poll states the remaining lifetime, until the token expires, is refreshed, or ten minutes passed', async () => {
    const service = createFakeService({ accessTokenLifetime: 3600 })
    const form = { SVCappid: service.application.id, SVCsecret: service.application.secret }
    const ask = async (path: string, more: Record<string, string> = {}) => {
      const body = new URLSearchParams({ ...form, ...more })
      const headers = { 'idempotency-key': 'one-poll' }
      return (await service.fetch(service.baseUrl + path, { method: 'POST', body, headers })).json()
    }
    const accepted = async () => {
      const { device_code, user_code } = await ask('/auth/oauth/device/code')
      service.grant(user_code)
      const poll = () => ask('/auth/oauth/device/polling', { device_code })
      return { first: await poll(), poll }
    }
    const kept = await accepted()
    expect(kept.first.expires_in).toBe(3600)
    await service.clock.advance(20_000)
    expect(await kept.poll()).toEqual({ ...kept.first, expires_in: 3580 })
    await service.clock.advance(579_999)
    expect(await kept.poll()).toEqual({ ...kept.first, expires_in: 3000 })
    await service.clock.advance(1)
    expect(await kept.poll()).toMatchObject({ error: 'invalid' })

    const renewed = await accepted()
    const second = await ask('/auth/oauth/refresh', { refresh_token: renewed.first.refresh_token })
    await service.clock.advance(20_000)
    const again = await ask('/auth/oauth/refresh', { refresh_token: renewed.first.refresh_token })
    expect(again).toEqual({ ...second, expires_in: 3580 })
    expect(await renewed.poll()).toMatchObject({ error: 'invalid' })
  })

  test('a repeated poll does not return an expired access token', async () => {
    const service = createFakeService({ accessTokenLifetime: 60 })
    const { id, secret } = service.application
    const ask = async (path: string, more: Record<string, string> = {}) => {
      const body = new URLSearchParams({ SVCappid: id, SVCsecret: secret, ...more })
      const headers = { 'idempotency-key': 'one-poll' }
      return (await service.fetch(service.baseUrl + path, { method: 'POST', body, headers })).json()
    }
    const { device_code, user_code } = await ask('/auth/oauth/device/code')
    service.grant(user_code)
    const first = await ask('/auth/oauth/device/polling', { device_code })
    await service.clock.advance(59_000)
    expect(await ask('/auth/oauth/device/polling', { device_code })).toEqual({ ...first, expires_in: 1 })
    await service.clock.advance(1)
    expect(await ask('/auth/oauth/device/polling', { device_code })).toMatchObject({ error: 'invalid' })
  })

  test('early polls answer slow_down, and do not restart the interval', async () => {
    const service = createFakeService({ interval: 5 })
    const { id, secret } = service.application
    const form = { SVCappid: id, SVCsecret: secret }
    const ask = async (path: string, more: Record<string, string> = {}) => {
      const body = new URLSearchParams({ ...form, ...more })
      return (await service.fetch(service.baseUrl + path, { method: 'POST', body })).json()
    }
    const { device_code } = await ask('/auth/oauth/device/code')
    const poll = async () => (await ask('/auth/oauth/device/polling', { device_code })).error
    expect(await poll()).toBe('auth_pending')
    await service.clock.advance(4_400)
    expect(await poll()).toBe('slow_down')
    await service.clock.advance(100)
    expect(await poll()).toBe('auth_pending')
  })

  test('a test runner’s fake timers do not interfere', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const service = createFakeService()
    const session = await createClient(service.clientOptions).device.start({ variant: 'token_set' })
    service.grant(session.userCode)
    expect(await session.wait()).toMatchObject({ variant: 'token_set' })
  })

  test('an aborted wait ends at once, though the clock stands still', async () => {
    const service = createFakeService()
    const session = await createClient(service.clientOptions).device.start({ variant: 'token_set' })
    const over = new AbortController()
    const waiting = session.wait({ signal: over.signal })
    over.abort()
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('a suspended application gets no codes, and a restored one does', async () => {
    const service = createFakeService()
    const { device } = createClient(service.clientOptions)
    service.suspend()
    await expect(device.start({ variant: 'token_set' })).rejects.toEqual(failing('application_suspended'))
    service.restore()
    await device.start({ variant: 'token_set' })
  })
})

describe('faults', () => {
  test.each(['network', 'lost_answer', 'unavailable'] as const)(
    '%s: the same credentials arrive in the end',
    async (fault) => {
      const service = createFakeService()
      const session = await createClient(service.clientOptions).device.start({ variant: 'access_key' })
      service.grant(session.userCode)
      service.fail(fault, 3)
      expect((await session.wait()).accessKey).toMatch(/^lkk_/)
      expect(service.requests.map(({ status }) => status)).toEqual([
        200,
        ...Array(3).fill(fault === 'unavailable' ? 503 : null),
        200,
      ])
    },
  )
})

describe('credentials', () => {
  async function connect(options: Parameters<typeof createFakeService>[0] = {}) {
    const service = createFakeService(options)
    const client = createClient(service.clientOptions)
    const session = await client.device.start({ variant: 'token_set' })
    service.grant(session.userCode)
    return { service, client, first: await session.wait() }
  }

  test('are accepted by /me, and refreshed before they expire', async () => {
    const { service, client, first } = await connect()
    const me = await client.fetch(`${service.baseUrl}/1/me`)
    expect(await me.json()).toMatchObject({
      account: 'acme',
      application: service.application.id,
      variant: 'token_set',
    })
    await service.clock.advance(3_590_000)
    expect((await client.fetch(`${service.baseUrl}/1/me`)).status).toBe(200)
    expect(await client.bearer()).not.toBe(first.accessToken)
  })

  test('a lost refresh is repeated with the same set; an older refresh token revokes the grant', async () => {
    const { service, client, first } = await connect()
    await service.clock.advance(3_600_000)
    service.fail('lost_answer')
    const second = await client.bearer()
    expect(second).not.toBe(first.accessToken)
    expect((await client.fetch(`${service.baseUrl}/me`)).status).toBe(200)
    await service.clock.advance(31_000)
    const body = new URLSearchParams({
      SVCappid: service.application.id,
      SVCsecret: service.application.secret,
      refresh_token: first.refreshToken,
    })
    const answer = await service.fetch(`${service.baseUrl}/auth/oauth/refresh`, { method: 'POST', body })
    expect(await answer.json()).toMatchObject({ error: 'invalid_grant' })
    await expect(client.fetch(`${service.baseUrl}/me`)).rejects.toEqual(failing('reauthorize'))
  })

  test('end when the user removes the application, and when the application revokes them', async () => {
    const { service, client } = await connect()
    service.removeAccess()
    await service.clock.advance(3_600_000)
    await expect(client.bearer()).rejects.toEqual(failing('reauthorize'))
    const other = await connect()
    const bearer = await other.client.bearer()
    await other.client.revoke()
    const headers = { authorization: `Bearer ${bearer}` }
    expect((await other.service.fetch(`${other.service.baseUrl}/me`, { headers })).status).toBe(401)
  })
})

describe('the dialog', () => {
  test('a decided request redirects with a code that is exchanged once', async () => {
    const redirectUri = 'https://app.test/callback'
    const service = createFakeService({ redirectUris: [redirectUri] })
    const client = createClient(service.clientOptions)
    const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
    const query = new URLSearchParams({
      client_id: service.application.id,
      response_type: 'code',
      redirect_uri: redirectUri,
      state: 'basket-7',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    })
    const address = `${service.baseUrl}/1/auth/oauth/authorize?${query}`
    const denied = new URL(service.answerDialog(address, 'cancel')).searchParams
    expect(Object.fromEntries(denied)).toEqual({ error: 'access_denied', state: 'basket-7', iss: service.baseUrl })
    const back = new URL(service.answerDialog(address, 'allow', { scope: ['orders:read'] }))
    const code = back.searchParams.get('code') ?? ''
    expect(await client.dialog.exchange({ code, verifier, redirectUri })).toMatchObject({ scope: ['orders:read'] })
    await expect(client.dialog.exchange({ code, verifier, redirectUri })).rejects.toEqual(failing('code_used'))
    expect((await client.fetch(`${service.baseUrl}/me`)).status).toBe(401)
    expect(() => service.answerDialog(address.replace('S256', 'plain'), 'allow')).toThrow('no code_challenge')
  })
})

test('no other host is reached', async () => {
  const service = createFakeService()
  await expect(service.fetch('https://elsewhere.test/')).rejects.toThrow(TypeError)
  expect((await service.fetch(`${service.baseUrl}/nowhere`)).status).toBe(404)
  const wrong = await service.fetch(`${service.baseUrl}/auth/oauth/device/code`)
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
})
