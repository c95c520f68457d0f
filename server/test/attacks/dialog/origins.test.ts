/** DG-28: which origins may read the answers of the token endpoints (CORS): those of the application's redirect URIs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post, type WireAnswer } from '../../rig/device.ts'
import { allow, makeDialogApplication } from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const LOOPBACK = 'http://127.0.0.1:4000/back'

let service: TestService
let application: MadeApplication
let other: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service, { public: true, redirectUris: [CALLBACK, LOOPBACK] })
  other = await makeDialogApplication(service, { redirectUris: ['https://other.example/callback'] })
})
afterAll(() => service.stop())

type Ask = (origin: string) => Promise<WireAnswer>

const send = (path: string, origin: string, form: Record<string, string>, method = 'POST') =>
  post(service.address, path, { method, form, headers: { origin } })

/** The token set of a granted dialog, in the dialect of the exchange. */
async function byCode(): Promise<Record<string, string>> {
  const { code, pkce } = await allow(service, { application })
  return { code, redirect_uri: CALLBACK, code_verifier: pkce.verifier }
}

async function someSet(): Promise<{ access_token: string; refresh_token: string }> {
  const form = { SVCappid: application.id, ...(await byCode()) }
  return (await post(service.address, '/auth/oauth/token', { form })).body
}

const native = () => ({ SVCappid: application.id })
const standard = () => ({ client_id: application.id })
const nothing = { code: 'x', redirect_uri: CALLBACK, refresh_token: 'x', token: 'x' }

/** Every endpoint that a page may read, once with success and once with a refusal. */
const readable: [string, number, Ask][] = [
  ['exchange', 200, async (from) => send('/auth/oauth/token', from, { ...native(), ...(await byCode()) })],
  ['exchange, /1', 200, async (from) => send('/1/auth/oauth/token', from, { ...native(), ...(await byCode()) })],
  ['exchange, XML', 200, async (from) => send('/auth/oauth/token.xml', from, { ...native(), ...(await byCode()) })],
  ['exchange refused', 400, (from) => send('/auth/oauth/token', from, { ...native(), ...nothing })],
  ['refresh', 200, async (from) => send('/auth/oauth/refresh', from, { ...native(), ...(await someSet()) })],
  ['refresh refused', 400, (from) => send('/auth/oauth/refresh', from, { ...native(), ...nothing })],
  [
    'revoke',
    200,
    async (from) => send('/auth/oauth/revoke', from, { ...native(), token: (await someSet()).access_token }),
  ],
  ['revoke nothing', 200, (from) => send('/auth/oauth/revoke', from, { ...native(), ...nothing })],
  [
    'standard exchange',
    200,
    async (from) =>
      send('/oauth/token', from, { ...standard(), grant_type: 'authorization_code', ...(await byCode()) }),
  ],
  [
    'standard refresh',
    200,
    async (from) => send('/oauth/token', from, { ...standard(), grant_type: 'refresh_token', ...(await someSet()) }),
  ],
  [
    'standard refusal',
    400,
    (from) => send('/oauth/token', from, { ...standard(), grant_type: 'authorization_code', ...nothing }),
  ],
  ['pushed request refused', 400, (from) => send('/oauth/par', from, { ...standard(), ...nothing })],
  ['standard revoke', 200, (from) => send('/oauth/revoke', from, { ...standard(), ...nothing })],
  [
    'not who it says',
    401,
    (from) => send('/oauth/token', from, { ...standard(), client_secret: 'x', grant_type: 'refresh_token' }),
  ],
]

/** Origins that differ by as little as one letter. The first few are tried with real tokens as well. */
const HOSTILE = [
  'null',
  'https://evil.example',
  'https://sibling.app.example',
  'https://other.example',
  'https://example',
  'https://app.example.evil.example',
  'https://evil-app.example',
  'http://app.example',
  'https://app.example:8443',
  'https://app.example:443',
  'https://APP.example',
  'https://app.example.',
  'https://app.example/',
  CALLBACK,
  'https://app.example, https://evil.example',
  'https://app.example https://evil.example',
  'http://127.0.0.1',
  'http://127.0.0.1:4001',
  'http://localhost:4000',
  'file://',
  '*',
]

const corsOf = ({ headers }: WireAnswer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))

/** Readable headers besides the body: Retry-After and the request id. */
const EXPOSED = { 'access-control-expose-headers': 'retry-after, x-request-id' }

describe.each(readable)('%s', (_name, status, ask) => {
  it.each(['https://app.example', 'http://127.0.0.1:4000'])(
    'DG-28: may be read from %s, which is registered',
    async (origin) => {
      const answer = await ask(origin)
      expect([answer.status, corsOf(answer), answer.headers.vary]).toEqual([
        status,
        { 'access-control-allow-origin': origin, ...EXPOSED },
        'origin',
      ])
    },
  )

  it('DG-28: cannot be read from any other origin, however similar', async () => {
    const { publicUrl } = service.config
    const own = [publicUrl, publicUrl.replace('://', `://${service.account.slug}.`)]
    for (const origin of [...own, ...(status === 200 ? HOSTILE.slice(0, 4) : HOSTILE)]) {
      const answer = await ask(origin)
      expect([origin, answer.status, corsOf(answer)]).toEqual([origin, status, {}])
    }
  })
})

it('DG-28: the origins of one application cannot read answers to another', async () => {
  const { code, pkce } = await allow(service, { application })
  const form = { code, redirect_uri: CALLBACK, code_verifier: pkce.verifier }
  const answer = await send('/auth/oauth/token', 'https://other.example', { SVCappid: application.id, ...form })
  expect([answer.status, corsOf(answer)]).toEqual([200, {}])
  const by = { SVCappid: other.id, SVCsecret: other.secret, refresh_token: answer.body.refresh_token }
  const theirs = await send('/auth/oauth/refresh', 'https://app.example', by)
  expect([theirs.status, corsOf(theirs)]).toEqual([400, {}])
})

it('DG-28: endpoints for servers cannot be read from any page, registered or not', async () => {
  const origin = 'https://other.example'
  const [houseForm, standardForm] = [
    { SVCappid: other.id, SVCsecret: other.secret, ...nothing, access_key: 'x', device_code: 'x', credential: 'x' },
    { client_id: other.id, client_secret: other.secret, ...nothing },
  ]
  for (const answer of [
    await send('/auth/oauth/device/code', origin, houseForm),
    await send('/auth/key/device/polling', origin, houseForm),
    await send('/auth/key/rotate', origin, houseForm),
    await send('/auth/report', origin, houseForm),
    await send('/oauth/introspect', origin, standardForm),
    await send('/oauth/device_authorization', origin, standardForm),
    await post(service.address, '/1/me', { method: 'GET', headers: { origin, authorization: 'Bearer x' } }),
    await post(service.address, '/auth/verify', { method: 'GET', headers: { origin, authorization: 'Bearer x' } }),
    await post(service.address, '/oauth/authorize', { method: 'GET', headers: { origin } }),
    await send('/auth/oauth/token', origin, {}),
    await send('/auth/oauth/token', origin, houseForm, 'OPTIONS'),
  ]) {
    expect(corsOf(answer)).toEqual({})
  }
})

it('DG-28: the name of another dialect opens nothing', async () => {
  const theirs = { client_id: other.id, client_secret: other.secret, SVCappid: application.id, token: 'x' }
  const answer = await send('/oauth/revoke', 'https://app.example', theirs)
  expect([answer.status, corsOf(answer)]).toEqual([200, {}])
})

const PREFLIGHT = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
const preflight = (path: string, more: Record<string, string> = PREFLIGHT) =>
  post(service.address, path, { method: 'OPTIONS', headers: { origin: 'https://evil.example', ...more } })

it.each(['token', 'revoke', 'par', 'introspect', 'device_authorization'])(
  'DG-28: a preflight of /oauth/%s is allowed to every page, without credentials',
  async (name) => {
    const answer = await preflight(`/oauth/${name}`)
    expect([answer.status, answer.text, corsOf(answer)]).toEqual([
      200,
      '',
      {
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'authorization, content-type, idempotency-key, prefer, mcp-protocol-version',
        'access-control-max-age': '86400',
      },
    ])
    expect((await preflight(`/oauth/${name}`, {})).status, 'not a preflight').toBe(405)
  },
)

it('DG-28: a preflight of the metadata is allowed, and one of a page or of the native dialect is not', async () => {
  const answer = await preflight('/.well-known/oauth-authorization-server')
  expect([answer.status, answer.headers['access-control-allow-methods']]).toEqual([200, 'GET, HEAD'])
  for (const path of [
    '/oauth/authorize',
    '/auth/oauth/authorize',
    '/auth/oauth/token',
    '/1/me',
    '/activate',
    '/health/live',
  ]) {
    const refused = await preflight(path)
    expect([path, refused.status, corsOf(refused)]).toEqual([path, 405, {}])
  }
})

it('DG-28: the metadata can be read from every origin, without cookies', async () => {
  for (const origin of ['null', 'https://evil.example']) {
    const answer = await send('/.well-known/oauth-authorization-server', origin, {}, 'GET')
    expect([answer.status, corsOf(answer)]).toEqual([200, { 'access-control-allow-origin': '*', ...EXPOSED }])
  }
})
