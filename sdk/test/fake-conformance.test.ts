/**
 * The fake service answers as the real one does: the same script, by the same client, against both, comparing every answer
 * over the wire. What necessarily differs (credentials, digits, times, messages) is compared by its form.
 */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DialogWindow } from '../../server/test/rig/dialog.ts'
import { CALLBACK, makeApplication } from '../../server/test/rig/make.ts'
import { startTestService, type TestService } from '../../server/test/rig/service.ts'
import { type Client, createClient, createVerifier } from '../src/index.ts'
import { createFakeService } from '../src/testing.ts'

const SCOPES = ['orders:read', 'orders:write']
const INTERVAL = 1
const CODE_LIFETIME = 4

type Identity = { readonly id: string; readonly secret: string }

/** One of the two services, with its user. */
type Side = {
  readonly baseUrl: string
  readonly application: Identity
  readonly resource: Identity
  readonly fetch: typeof globalThis.fetch
  readonly clock?: { now(): number; sleep(ms: number, signal?: AbortSignal): Promise<void> }
  grant(userCode: string): unknown
  reject(userCode: string): unknown
  answerDialog(address: string, answer: 'allow' | 'cancel'): string | Promise<string>
  pass(ms: number): Promise<unknown>
}

let real: TestService
let resource: Identity

beforeAll(async () => {
  real = await startTestService({ POLL_INTERVAL: String(INTERVAL), DEVICE_CODE_LIFETIME: String(CODE_LIFETIME) })
  const { context, config, account } = real
  resource = await makeApplication(context.db, config, account.slug, { resourceServer: true, deviceFlow: false })
})
afterAll(() => real?.stop())

async function realSide(isPublic: boolean): Promise<Side> {
  const { context, config, account } = real
  const wish = { public: isPublic, allowedScopes: SCOPES, defaultScopes: SCOPES, redirectUris: [CALLBACK] }
  const application = await makeApplication(context.db, config, account.slug, wish)
  await context.applications.refresh()
  return {
    baseUrl: config.publicUrl,
    application,
    resource,
    fetch: (input, init) => fetch(String(input).replace(config.publicUrl, real.address), init),
    grant: (userCode) => real.grant(userCode),
    reject: (userCode) => real.reject(userCode),
    answerDialog: async (address, answer) => {
      const window = await new DialogWindow(real).signIn(real.user)
      await window.go(address)
      await window.submit(window.base, '/dialog', { typed: account.slug })
      const { left } = await window.submit(window.account, '/dialog/decision', { decision: answer })
      return left?.href ?? ''
    },
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  }
}

function fakeSide(isPublic: boolean): Side {
  const service = createFakeService({
    public: isPublic,
    scopes: SCOPES,
    redirectUris: [CALLBACK],
    interval: INTERVAL,
    codeLifetime: CODE_LIFETIME,
  })
  return { ...service, pass: (ms) => service.clock.advance(ms) }
}

/** Recorded answers, with necessary differences removed. */
type Heard = readonly [request: string, status: number, body: unknown, headers: Record<string, string>]

const COMPARED = [
  'content-type',
  'cache-control',
  'retry-after',
  'www-authenticate',
  'allow',
  'x-latchkey-variant',
  'x-latchkey-scope',
]

function record(side: Side): { heard: Heard[]; fetch: typeof globalThis.fetch } {
  const heard: Heard[] = []
  const recording: typeof globalThis.fetch = async (input, init) => {
    const response = await side.fetch(input, init)
    const text = await response.clone().text()
    const headers = Object.fromEntries([...response.headers].filter(([name]) => COMPARED.includes(name)))
    const path = String(input).replace(side.baseUrl, '')
    heard.push([
      `${init?.method ?? 'GET'} ${path}`,
      response.status,
      mask(text === '' ? null : JSON.parse(text)),
      headers,
    ])
    return response
  }
  return { heard, fetch: recording }
}

/** Some answers are repeated on purpose; equal values stay equal. */
function mask(value: unknown, name = ''): unknown {
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([one], [other]) => one.localeCompare(other))
    return Object.fromEntries(entries.map(([field, each]) => [field, mask(each, field)]))
  }
  if (name === 'message' || name === 'error_description') return 'a sentence'
  if (['account', 'iss', 'verification_uri', 'sub', 'user', 'application', 'client_id'].includes(name)) return 'a name'
  if (name === 'user_code') return String(value).replace(/\d/g, '9')
  if (['iat', 'exp'].includes(name)) return 'a moment'
  // A few seconds of an hour's lifetime may have passed.
  if (name === 'expires_in') return Math.ceil(Number(value) / 10) * 10
  if (name === 'state') return String(value).replace(/^[0-9a-f-]{36}$/, 'made up')
  if (typeof value !== 'string') return value
  return value.replace(/^(lk[a-z]_[0-9a-f]{4}|grt_)(.*)$/, (_, prefix, rest) => `${prefix}${rest.length}`)
}

type Script = (side: Side, client: Client, ask: Ask) => Promise<void>
/** A request that the client does not send itself. */
type Ask = (
  path: string,
  form?: Record<string, string>,
  headers?: Record<string, string>,
) => Promise<Record<string, string>>

async function run(side: Side, script: Script): Promise<readonly Heard[]> {
  const { heard, fetch } = record(side)
  const { baseUrl, application, clock } = side
  const client = createClient({
    baseUrl,
    appId: application.id,
    ...(application.secret === '' ? {} : { appSecret: application.secret }),
    fetch,
    clock,
    // The fake answers at once.
    holdPolls: false,
  })
  await script(side, client, async (path, form, headers = {}) => {
    const how = form ? { method: 'POST', body: new URLSearchParams(form), headers } : { headers }
    const text = await (await fetch(baseUrl + path, how)).text()
    return text === '' ? {} : JSON.parse(text)
  })
  return heard
}

async function compare(script: Script, isPublic = false): Promise<readonly Heard[]> {
  const fromReal = await run(await realSide(isPublic), script)
  expect(await run(fakeSide(isPublic), script)).toEqual(fromReal)
  return fromReal
}

// In parallel: most of it is waiting, and no two share an application.
const statuses = (heard: readonly Heard[]) => heard.map(([, status]) => status)
const outcome = (work: Promise<unknown>) => work.then(() => 'done').catch((error: { code?: string }) => error.code)

test.concurrent.each(['token_set', 'access_key'] as const)(
  'the device flow, variant %s: pending, granted, used; rejected; expired',
  async (variant) => {
    const heard = await compare(async (side, client) => {
      const saved = await client.device.start({ variant, scope: 'orders:read', state: 'kiosk <7>' })
      const session = client.device.resume(JSON.parse(JSON.stringify(saved)))
      const events = session.events()
      const first = events.next()
      await side.pass(1_600)
      expect((await first).value?.type).toBe('pending')
      await side.grant(session.userCode)
      expect((await events.next()).value?.type).toBe('accepted')
      // Another key is another poll, and the outcome was delivered.
      const again = client.device.resume({ ...session.toJSON(), idempotencyKey: 'another' })
      const repeated = outcome(again.wait())
      await side.pass(1_600)
      expect(await repeated).toBe('code_used')
      // The same key: the same answer.
      const lost = client.device.resume(session.toJSON()).wait()
      await side.pass(1_600)
      await lost

      const refused = await client.device.start({ variant })
      await side.reject(refused.userCode)
      expect(await outcome(refused.wait())).toBe('auth_rejected')
      const late = await client.device.start({ variant })
      await side.pass(CODE_LIFETIME * 1000)
      const waiting = outcome(late.wait())
      await side.pass(1_600)
      expect(await waiting).toBe('code_expired')
    })
    expect(statuses(heard)).toEqual([200, 400, 200, 400, 200, 200, 400, 200, 400])
  },
)

test.concurrent('requests that are wrong, and polls that are early', async () => {
  const heard = await compare(async ({ application, pass }, _, ask) => {
    const by = { SVCappid: application.id, SVCsecret: application.secret }
    await ask('/auth/oauth/device/code', {})
    await ask('/auth/oauth/device/code', { ...by, SVCsecret: 'wrong' })
    await ask('/auth/oauth/device/code', { SVCappid: application.id })
    await ask('/auth/oauth/device/code', { ...by, scope: 'orders:delete' })
    await ask('/auth/oauth/device/code', { ...by, state: 'x'.repeat(1025) })
    await ask('/auth/oauth/device/code?state=a', { ...by, state: 'b' })
    await ask('/auth/oauth/device/code')
    await ask('/auth/nowhere', by)
    const { device_code = '' } = await ask('/1/auth/oauth/device/code', { ...by, scope: 'orders:write, orders:read' })
    await ask('/auth/oauth/device/polling', { ...by })
    await ask('/auth/oauth/device/polling', { ...by, device_code, SVCsecret: 'wrong' })
    await ask('/auth/key/device/polling', { ...by, device_code })
    await ask('/auth/oauth/device/polling?SVCappid=twice', { ...by, device_code })
    await ask('/auth/oauth/device/polling', { client_id: by.SVCappid, client_secret: by.SVCsecret, device_code })
    await ask('/auth/oauth/device/code?state=a&state=a&x=1&x=2&grant_type=a&grant_type=b', { ...by, state: 'a' })
    await ask('/auth/oauth/device/polling', { ...by, device_code })
    await ask('/auth/oauth/device/polling', { ...by, device_code })
    await pass(1_000)
    await ask('/auth/oauth/device/polling', { ...by, device_code })
  })
  expect(heard.slice(-3).map(([, , body]) => (body as { error: string }).error)).toEqual([
    'auth_pending',
    'slow_down',
    'auth_pending',
  ])
})

test.concurrent('a token set is refreshed, repeated, checked and revoked; an older refresh token revokes the grant', async () => {
  await compare(async (side, client, ask) => {
    const { baseUrl, application } = side
    const session = await client.device.start({ variant: 'token_set' })
    await side.grant(session.userCode)
    const first = await session.wait()
    const by = { SVCappid: application.id, SVCsecret: application.secret }
    const saved = session.toJSON()
    const poll = () =>
      ask(
        '/auth/oauth/device/polling',
        { ...by, device_code: saved.deviceCode },
        { 'idempotency-key': saved.idempotencyKey },
      )
    expect((await poll()).access_token).toBe(first.accessToken)
    const bearer = { authorization: `Bearer ${first.accessToken}` }
    await ask('/me', undefined, bearer)
    await ask('/auth/verify?scope=orders:read,orders:write', undefined, bearer)
    await ask('/1/auth/verify?scope=orders:delete', undefined, bearer)
    await ask('/1/auth/verify?scope=orders:read&scope=orders:read', undefined, bearer)
    await ask('/auth/verify', undefined, { authorization: `Bearer ${first.refreshToken}` })
    await ask('/auth/verify?scope=orders:read', { scope: 'orders:delete' }, bearer)
    const requiring = (scope: string) => ({ ...bearer, 'x-latchkey-require-scope': scope })
    await ask('/auth/verify?scope=orders:read', undefined, requiring('orders:delete'))
    await ask('/auth/verify/orders/7?scope=orders:delete', undefined, requiring('orders:read'))
    await ask('/1/auth/verify/orders/7', { scope: 'orders:read' }, requiring('orders:read,orders:delete'))
    await ask('/auth/verify/orders/7', undefined, bearer)
    await ask('/me')
    const second = await ask('/auth/oauth/refresh', { ...by, refresh_token: first.refreshToken })
    const again = await ask('/auth/oauth/refresh', { ...by, refresh_token: first.refreshToken })
    expect([again.access_token, again.refresh_token]).toEqual([second.access_token, second.refresh_token])
    expect((await poll()).error).toBe('invalid')
    await ask('/auth/oauth/refresh', { ...by, refresh_token: second.refresh_token ?? '', scope: 'orders:delete' })
    await ask('/auth/oauth/refresh', { ...by, refresh_token: first.accessToken })
    await ask('/me', undefined, bearer)
    await ask('/auth/oauth/refresh', { ...by, refresh_token: second.refresh_token ?? '' })
    await ask('/auth/oauth/refresh', { ...by, refresh_token: first.refreshToken })
    await side.pass(2_100)
    expect(await fetchStatus(client, `${baseUrl}/me`)).toBe(401)
    await client.revoke()
  })
})

/** The client would refresh, which is not tested here. */
async function fetchStatus(client: Client, address: string): Promise<number> {
  return (await client.fetch(address, { method: 'GET' }).catch(() => ({ status: 401 }))).status
}

test.concurrent('an access key is rotated and revoked', async () => {
  await compare(async (side, client, ask) => {
    const session = await client.device.start({ variant: 'access_key' })
    await side.grant(session.userCode)
    const { accessKey } = await session.wait()
    const by = { SVCappid: side.application.id, SVCsecret: side.application.secret }
    const named = { client_id: by.SVCappid, client_secret: by.SVCsecret }
    const replaced = await ask('/auth/key/rotate', { ...named, access_key: accessKey })
    await ask('/auth/key/rotate', { ...by, ...named, client_secret: 'other', access_key: accessKey })
    await ask('/auth/key/rotate', { ...by, ...named, access_key: 'lkk_unknown' })
    const again = await ask('/auth/key/rotate', { ...by, access_key: accessKey })
    expect(again.access_key).toBe(replaced.access_key)
    await ask('/me', undefined, { authorization: `Bearer ${accessKey}` })
    await ask('/me', undefined, { authorization: `Bearer ${replaced.access_key}` })
    await ask('/auth/key/rotate', { ...by, access_key: 'lkk_unknown' })
    await ask('/auth/oauth/revoke', { ...by, token: accessKey })
    await ask('/me', undefined, { authorization: `Bearer ${accessKey}` })
    await client.revoke()
    await side.pass(2_100)
    await ask('/me', undefined, { authorization: `Bearer ${replaced.access_key}` })
  })
})

test.concurrent('a public application: the device flow and introspection in the standard dialect', async () => {
  const heard = await compare(async (side, client, ask) => {
    const { baseUrl, resource, fetch, clock } = side
    await ask('/oauth/device_authorization', { client_id: 'app_unknown' })
    await ask('/oauth/device_authorization', { client_id: side.application.id, scope: 'orders:delete' })
    await ask('/oauth/token', { client_id: side.application.id, grant_type: 'password' })
    const session = await client.device.start({ variant: 'token_set' })
    await side.grant(session.userCode)
    const { accessToken, refreshToken } = await session.wait()
    const options = { baseUrl, resourceId: resource.id, resourceSecret: resource.secret, fetch, clock }
    expect(await createVerifier(options).verify(accessToken)).toMatchObject({ variant: 'token_set', scope: SCOPES })
    const asks = { client_id: resource.id, client_secret: resource.secret }
    await ask('/oauth/introspect', { ...asks, token: accessToken })
    await ask('/oauth/introspect', { ...asks, token: refreshToken })
    await ask('/oauth/introspect', { ...asks })
    await ask('/oauth/introspect', { ...asks, client_secret: 'wrong', token: accessToken })
    const refused = await client.device.start({ variant: 'token_set' })
    await side.reject(refused.userCode)
    expect(await outcome(refused.wait())).toBe('auth_rejected')
    await client.revoke()
  }, true)
  expect(statuses(heard)).toContain(401)
})

test.concurrent('the dialog: granted and exchanged once, rejected, and with wrong parameters', async () => {
  await compare(async (side, client, ask) => {
    const verifier = 'v'.repeat(43)
    const address = `${side.baseUrl}/1/auth/oauth/authorize?${new URLSearchParams({
      client_id: side.application.id,
      response_type: 'code',
      redirect_uri: CALLBACK,
      state: 'basket-7',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })}`
    const answer = async (decision: 'allow' | 'cancel') =>
      new URL(await side.answerDialog(address, decision)).searchParams
    const cancelled = await answer('cancel')
    expect([...cancelled.keys()].sort()).toEqual(['error', 'iss', 'state'])
    expect([cancelled.get('error'), cancelled.get('state'), cancelled.get('iss')]).toEqual([
      'access_denied',
      'basket-7',
      side.baseUrl,
    ])
    const code = (await answer('allow')).get('code') ?? ''
    expect(code).toMatch(/^lkc_0000[\w-]{44}$/)
    await client.dialog.exchange({ code, verifier, redirectUri: CALLBACK })
    await side.pass(300)
    expect(await outcome(client.dialog.exchange({ code, verifier, redirectUri: CALLBACK }))).toBe('code_used')
    const burned = (await answer('allow')).get('code') ?? ''
    const named = { client_id: side.application.id, client_secret: side.application.secret }
    await ask('/auth/oauth/token', { ...named, code: burned, redirect_uri: CALLBACK })
    expect(
      await outcome(client.dialog.exchange({ code: burned, verifier: 'w'.repeat(43), redirectUri: CALLBACK })),
    ).toBe('code_used')
    expect(await outcome(client.dialog.exchange({ code: burned, verifier, redirectUri: CALLBACK }))).toBe('code_used')
    const by = { SVCappid: side.application.id, SVCsecret: side.application.secret }
    // Without a challenge, as for an application with a secret: exchanged without a verifier, and not with one.
    const plain = address.replace(/&code_challenge=.*$/, '')
    const answerPlain = async () => new URL(await side.answerDialog(plain, 'allow')).searchParams.get('code') ?? ''
    const exchanged = await ask('/auth/oauth/token', { ...by, code: await answerPlain(), redirect_uri: CALLBACK })
    expect(exchanged.state).toBe('basket-7')
    const verified = { ...by, code: await answerPlain(), redirect_uri: CALLBACK, code_verifier: verifier }
    expect((await ask('/auth/oauth/token', verified)).error).toBe('invalid_grant')
    await ask('/auth/oauth/token', { ...by, code: 'lkc_unknown', redirect_uri: CALLBACK })
    await ask('/auth/oauth/token', { ...by, code })
  })
})
