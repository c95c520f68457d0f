/** TK-12: every kind of credential, code and link at every route that accepts one. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { signDialogReference, signPushedRequest } from '../../../src/secrets/dialog-texts.ts'
import { signBrowser, signLink, signSession } from '../../../src/secrets/web-texts.ts'
import { askMe, connect } from '../../rig/connect.ts'
import { postNative, postStandard, restingRows } from '../../rig/credentials.ts'
import { post, type WireAnswer } from '../../rig/device.ts'
import { allow, makeDialogApplication, type Pkce } from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let application: MadeApplication
let texts: Record<Kind, string>
let pkce: Pkce

const kinds = [
  'access token',
  'refresh token',
  'access key',
  'device code for a token set',
  'device code for a key',
  'authorization code',
  'application secret',
  'user code',
  'session',
  'link',
  'browser',
  'dialog request',
  'pushed request',
] as const
type Kind = (typeof kinds)[number]

beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service, { deviceFlow: true, resourceServer: true })
  await makeTexts()
})
afterAll(() => service.stop())

/** One valid text of each kind, all of one application. */
async function makeTexts(): Promise<void> {
  const [token, key] = [
    await connect(service, { application }),
    await connect(service, { application, variant: 'key' }),
  ]
  const [waiting, waitingKey] = [
    await service.device('oauth', application).code(),
    await service.device('key', application).code(),
  ]
  const allowed = await allow(service, { application })
  const { keys } = service.config
  const [id, { slug }] = [randomUUID(), service.account]
  pkce = allowed.pkce
  texts = {
    'access token': token.credential,
    'refresh token': token.refreshToken,
    'access key': key.credential,
    'device code for a token set': waiting.device_code,
    'device code for a key': waitingKey.device_code,
    'authorization code': allowed.code,
    'application secret': application.secret,
    'user code': waiting.user_code,
    session: signSession(keys, id, slug),
    link: signLink(keys, id, slug),
    browser: signBrowser(keys, id, slug),
    'dialog request': signDialogReference(keys, id, 'x'.repeat(22)),
    'pushed request': signPushedRequest(keys, id, Date.now() + 60_000, application.id),
  }
}

type Route = {
  readonly name: string
  readonly takes: readonly Kind[]
  readonly present: (text: string) => Promise<WireAnswer>
  /** Status and error, or what replaces them. */
  readonly refusal: readonly unknown[]
}

const bearer = (path: string) => (text: string) => askMe(service, text, path)
const ours = (path: string, name: string, given: Record<string, string> = {}) => {
  return (text: string) => postNative(service, application, path, { ...given, [name]: text })
}
const theirs = (path: string, name: string, given: Record<string, string> = {}) => {
  return (text: string) => postStandard(service, application, path, { ...given, [name]: text })
}
const verified = () => ({ redirect_uri: CALLBACK, code_verifier: pkce.verifier })
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
const INVALID_GRANT = [400, 'invalid_grant']
const NOTHING = [200, undefined]

const routes: readonly Route[] = [
  {
    name: 'GET /me',
    takes: ['access token', 'access key'],
    present: bearer('/me'),
    refusal: [401, 'invalid_credential'],
  },
  {
    name: 'GET /auth/verify',
    takes: ['access token', 'access key'],
    present: bearer('/auth/verify'),
    refusal: [401, 'invalid_credential'],
  },
  {
    name: '/oauth/introspect',
    takes: ['access token', 'access key'],
    present: theirs('/oauth/introspect', 'token'),
    refusal: NOTHING,
  },
  {
    name: '/auth/oauth/refresh',
    takes: ['refresh token'],
    present: ours('/auth/oauth/refresh', 'refresh_token'),
    refusal: INVALID_GRANT,
  },
  {
    name: '/oauth/token, refresh_token',
    takes: ['refresh token'],
    present: theirs('/oauth/token', 'refresh_token', { grant_type: 'refresh_token' }),
    refusal: INVALID_GRANT,
  },
  {
    name: '/auth/oauth/token',
    takes: ['authorization code'],
    present: (text) => ours('/auth/oauth/token', 'code', verified())(text),
    refusal: INVALID_GRANT,
  },
  {
    name: '/oauth/token, authorization_code',
    takes: ['authorization code'],
    present: (text) => theirs('/oauth/token', 'code', { ...verified(), grant_type: 'authorization_code' })(text),
    refusal: INVALID_GRANT,
  },
  {
    name: '/auth/oauth/device/polling',
    takes: ['device code for a token set'],
    present: ours('/auth/oauth/device/polling', 'device_code'),
    refusal: [400, 'invalid'],
  },
  {
    name: '/auth/key/device/polling',
    takes: ['device code for a key'],
    present: ours('/auth/key/device/polling', 'device_code'),
    refusal: [400, 'invalid'],
  },
  {
    name: '/oauth/token, device_code',
    takes: ['device code for a token set'],
    present: theirs('/oauth/token', 'device_code', { grant_type: DEVICE_CODE }),
    refusal: INVALID_GRANT,
  },
  {
    name: '/auth/key/rotate',
    takes: ['access key'],
    present: ours('/auth/key/rotate', 'access_key'),
    refusal: INVALID_GRANT,
  },
  {
    name: '/auth/oauth/revoke',
    takes: ['access token', 'refresh token'],
    present: ours('/auth/oauth/revoke', 'token'),
    refusal: NOTHING,
  },
  {
    name: '/auth/key/revoke',
    takes: ['access key'],
    present: ours('/auth/key/revoke', 'access_key'),
    refusal: NOTHING,
  },
  {
    name: '/oauth/revoke',
    takes: ['access token', 'refresh token', 'access key'],
    present: theirs('/oauth/revoke', 'token'),
    refusal: NOTHING,
  },
  {
    name: '/auth/report',
    takes: ['access token', 'refresh token', 'access key'],
    present: (credential) => post(service.address, '/auth/report', { form: { credential } }),
    refusal: NOTHING,
  },
  {
    name: 'SVCsecret',
    takes: ['application secret'],
    present: (text) =>
      post(service.address, '/auth/oauth/refresh', {
        form: { SVCappid: application.id, SVCsecret: text, refresh_token: 'x' },
      }),
    refusal: [401, 'invalid_application'],
  },
  {
    name: 'client_secret_basic',
    takes: ['application secret'],
    present: (text) =>
      post(service.address, '/oauth/token', {
        form: { grant_type: 'refresh_token', refresh_token: 'x' },
        headers: { authorization: `Basic ${Buffer.from(`${application.id}:${text}`).toString('base64')}` },
      }),
    refusal: [401, 'invalid_client'],
  },
]

function expectRefused({ refusal }: Route, what: string, { status, body }: WireAnswer): void {
  expect([what, status, body.error]).toEqual([what, ...refusal])
  expect([what, body.active ?? false, body.revoked ?? false]).toEqual([what, false, false])
}

describe.each(routes)('$name', (route) => {
  it('TK-12: accepts no text of another kind, and nothing changes', async () => {
    const before = await restingRows(service)
    for (const kind of kinds.filter((each) => !route.takes.includes(each))) {
      expectRefused(route, kind, await route.present(texts[kind]))
    }
    expect(await restingRows(service)).toEqual(before)
  })

  it('TK-12: accepts no text of another kind with its own prefix', async () => {
    const before = await restingRows(service)
    const bare = (text: string) => text.replace(/^lk._|^urn:.*:/, '')
    for (const own of route.takes) {
      const prefix = texts[own].slice(0, texts[own].length - bare(texts[own]).length)
      for (const kind of kinds.filter((each) => each !== own && each !== 'user code')) {
        const disguised = prefix + bare(texts[kind])
        if (disguised !== texts[kind]) expectRefused(route, `${kind} as ${own}`, await route.present(disguised))
      }
    }
    expect(await restingRows(service)).toEqual(before)
  })
})

describe('a text of its own kind', () => {
  // Some can be used only once.
  beforeEach(makeTexts)

  const taken: [string, Kind, (answer: WireAnswer) => unknown, unknown][] = [
    ['GET /me', 'access token', ({ status }) => status, 200],
    ['GET /auth/verify', 'access key', ({ status }) => status, 200],
    ['/oauth/introspect', 'access key', ({ body }) => body.active, true],
    ['/auth/oauth/refresh', 'refresh token', ({ status }) => status, 200],
    ['/auth/key/rotate', 'access key', ({ status }) => status, 200],
    ['/auth/oauth/token', 'authorization code', ({ status }) => status, 200],
    ['/auth/oauth/device/polling', 'device code for a token set', ({ body }) => body.error, 'auth_pending'],
    ['/auth/key/device/polling', 'device code for a key', ({ body }) => body.error, 'auth_pending'],
    ['SVCsecret', 'application secret', ({ body }) => body.error, 'invalid_grant'],
    ['client_secret_basic', 'application secret', ({ body }) => body.error, 'invalid_grant'],
    ['/auth/report', 'refresh token', ({ body }) => body.revoked, true],
    ['/auth/report', 'access key', ({ body }) => body.revoked, true],
  ]

  it.each(taken)('TK-12: %s accepts the %s', async (name, kind, read, expected) => {
    const route = routes.find((each) => each.name === name)
    expect(read(await (route as Route).present(texts[kind]))).toBe(expected)
  })
})
