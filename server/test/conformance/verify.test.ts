/**
 * /auth/verify for gateways: those that send a request of their own, and those that keep method and path of the request
 * that they ask about. docs/interface/credentials.md, "Check a credential".
 */
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../rig/connect.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let narrow: string
let wide: string
beforeAll(async () => {
  service = await startTestService()
  narrow = (await connect(service, { scope: 'orders:read' })).credential
  wide = (await connect(service, { scope: 'orders:read,orders:write' })).credential
})
afterAll(() => service.stop())

type Asked = {
  readonly method?: string
  readonly credential?: string | null
  /** One header for each. */
  readonly require?: readonly string[]
  readonly body?: { readonly type: string; readonly text: string }
}

/** Sent as it is: `fetch` and `URL` would normalize the path. */
function ask(path: string, { method = 'GET', credential = narrow, require = [], body }: Asked = {}) {
  const { hostname: host, port } = new URL(service.address)
  const headers = {
    ...(credential === null ? {} : { authorization: `Bearer ${credential}` }),
    ...(require.length === 0 ? {} : { 'x-latchkey-require-scope': [...require] }),
    ...(body === undefined ? {} : { 'content-type': body.type, 'content-length': Buffer.byteLength(body.text) }),
  }
  return new Promise<{ status: number | undefined; text: string; headers: NodeJS.Dict<string | string[]> }>(
    (resolve, reject) => {
      const outgoing = request({ host, port, path, method, headers, agent: false }, async (response) => {
        let text = ''
        for await (const chunk of response) text += chunk
        resolve({ status: response.statusCode, text, headers: response.headers })
      })
      outgoing.on('error', reject).end(body?.text)
    },
  )
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY']
const BODIES = [
  { type: 'application/json', text: '{"scope":""}' },
  { type: 'application/x-www-form-urlencoded', text: 'scope=&scope=orders%3Aread&%ff=%ff' },
  { type: 'application/octet-stream', text: 'x'.repeat(100_000) },
]

describe.each(['', '/1'])('%s/auth/verify', (version) => {
  it.each(METHODS)('answers a %s as a GET, whatever its body is', async (method) => {
    for (const body of [undefined, ...BODIES]) {
      const asked = { method, ...(body && { body }) }
      const verified = await ask(`${version}/auth/verify?scope=orders:read`, asked)
      expect([verified.status, verified.text, verified.headers['x-latchkey-scope']]).toEqual([200, '', 'orders:read'])
      expect((await ask(`${version}/auth/verify?scope=orders:write`, asked)).status).toBe(403)
      expect((await ask(`${version}/auth/verify`, { ...asked, credential: null })).status).toBe(401)
    }
  })

  it('requires the scopes of the query and those of the header', async () => {
    const path = `${version}/auth/verify?scope=orders:read`
    expect((await ask(path, { require: [''] })).status).toBe(200)
    expect((await ask(path, { require: ['orders:write'] })).status).toBe(403)
    expect((await ask(path, { require: ['orders:write'], credential: wide })).status).toBe(200)
    expect((await ask(`${version}/auth/verify?scope=orders:write`, { require: ['orders:read'] })).status).toBe(403)
  })
})

describe.each(['', '/1'])('below %s/auth/verify/', (version) => {
  const below = (path: string, asked?: Asked) => ask(`${version}/auth/verify/${path}`, asked)

  it.each(METHODS)('a %s is verified by the header alone, whatever query and body say', async (method) => {
    const queries = ['', '?scope=orders:write', '?scope=&scope=a&%ff', `?access_token=${wide}`]
    for (const query of queries) {
      expect((await below(`orders/7${query}`, { method, require: ['orders:read'] })).status).toBe(200)
      expect((await below(`orders/7${query}`, { method, require: ['orders:write'] })).status).toBe(403)
    }
    for (const body of BODIES) {
      expect((await below('orders', { method, body, require: ['orders:read'] })).status).toBe(200)
      expect((await below('orders', { method, body, require: ['orders:write'] })).status).toBe(403)
    }
  })

  it('every path is answered, however it is written', async () => {
    const paths = [
      '',
      '/',
      'a',
      'a/',
      'a//b',
      '../x',
      '..;/x',
      '%2e%2e/x',
      '%00',
      '{path}',
      'me',
      'orders.xml',
      'a'.repeat(4000),
    ]
    for (const path of paths) {
      expect((await below(path, { require: [''] })).status, path).toBe(200)
      expect((await below(path, { require: [''], credential: null })).status, path).toBe(401)
      expect((await below(path)).status, path).toBe(400)
    }
  })

  it('everything is refused without the header, and any valid credential suffices if it is empty', async () => {
    for (const credential of [wide, narrow, 'lka_x', null]) {
      expect((await below('orders?scope=', { credential })).status).toBe(400)
    }
    expect(JSON.parse((await below('orders')).text)).toEqual({
      error: 'invalid_request',
      message: 'The header X-Latchkey-Require-Scope is missing.',
    })
    expect((await below('orders', { require: [''] })).status).toBe(200)
    expect((await below('orders', { require: [' , '] })).status).toBe(200)
    expect((await below('orders', { require: [''], credential: 'lka_x' })).status).toBe(401)
  })

  it('several values and several headers are all required, in any order', async () => {
    const both = [['orders:read,orders:write'], ['orders:read orders:write'], ['orders:read', 'orders:write']]
    for (const require of [...both, ['orders:write', ''], ['', 'orders:write'], ['orders:write', 'orders:read']]) {
      expect((await below('orders', { require })).status, require.join(';')).toBe(403)
      expect((await below('orders', { require, credential: wide })).status, require.join(';')).toBe(200)
    }
  })
})

it('only what is below the path is verified by its path', async () => {
  for (const path of [
    '/auth/verifyx',
    '/auth/verify.json/x',
    '/2/auth/verify/x',
    '/auth/Verify/x',
    '/x/auth/verify/x',
  ]) {
    expect((await ask(path, { require: [''] })).status, path).toBe(404)
  }
})

it('every header is sent with each success, so that none of a client’s stays in place, and with no refusal', async () => {
  const names = ['account', 'user', 'account-external-id', 'user-external-id', 'application', 'scope', 'variant']
  const sent = async (path: string, require: readonly string[]) =>
    Object.keys((await ask(path, { require })).headers).filter((name) => name.startsWith('x-latchkey-'))
  const expected = names.map((name) => `x-latchkey-${name}`)
  for (const path of ['/auth/verify', '/auth/verify/orders']) {
    expect(await sent(path, [''])).toEqual(expected)
    expect(await sent(path, ['orders:write'])).toEqual([])
  }
})
