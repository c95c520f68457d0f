/**
 * Real gateways ask /auth/verify before they forward a request.
 * docs/interface/credentials.md, "Check a credential".
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../tools/free-port.ts'
import { connect } from '../rig/connect.ts'
import { post } from '../rig/device.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { GATEWAYS, type GatewayProcess, startGateway } from './gateway-process.ts'

let service: TestService
let api: Server
/** Requests that the API behind the gateway received. */
let reached: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = []

beforeAll(async () => {
  service = await startTestService()
  api = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers } = request
    reached.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
    const status = Number(/\/status\/(\d+)/.exec(url)?.[1] ?? 200)
    response.writeHead(status).end('from the API')
  }).listen(0, '127.0.0.1')
  await once(api, 'listening')
})
afterAll(async () => {
  api?.close()
  await service?.stop()
})
beforeEach(() => {
  reached = []
})

const apiHost = () => `127.0.0.1:${(api.address() as AddressInfo).port}`

it('nginx has no path on which a client reaches its location for Latchkey', async () => {
  const nginx = await startGateway('nginx', { latchkey: new URL(service.address).host, api: apiHost() })
  const { credential } = await connect(service)
  const headers = { authorization: `Bearer ${credential}` }
  const paths = ['/_latchkey/', '/_latchkey/orders:write']
  const statuses = await Promise.all(
    paths.map(async (path) => (await post(nginx.address, path, { method: 'GET', headers })).status),
  )
  await nginx.stop()
  expect(statuses).toEqual([404, 404])
})

describe.each(GATEWAYS)('%s', (kind) => {
  let gateway: GatewayProcess
  beforeAll(async () => {
    gateway = await startGateway(kind, { latchkey: new URL(service.address).host, api: apiHost() })
  })
  afterAll(() => gateway?.stop())

  type Asked = { method?: string; headers?: Record<string, string>; raw?: string; by?: GatewayProcess }

  /** As a client of the API does. */
  function ask(path: string, credential: string | null, { method = 'GET', headers, raw, by = gateway }: Asked = {}) {
    const bearer: Record<string, string> = credential === null ? {} : { authorization: `Bearer ${credential}` }
    return post(by.address, path, { method, headers: { ...bearer, ...headers }, ...(raw === undefined ? {} : { raw }) })
  }

  it('finds nothing wrong with the sample', () => {
    expect(gateway.checked).not.toMatch(/\[(warn|error|crit|alert|emerg)\]|"level":"(warn|error|fatal)"/)
  })

  describe.each(['oauth', 'key'] as const)('a credential of the %s variant', (variant) => {
    it('is forwarded, and the API gets its user and scopes but not the credential', async () => {
      const { credential } = await connect(service, { variant })
      const answer = await ask('/things?page=2', credential)
      expect([answer.status, answer.text]).toEqual([200, 'from the API'])
      expect(reached).toHaveLength(1)
      expect(reached[0]).toMatchObject({
        url: '/things?page=2',
        headers: {
          'x-latchkey-account': service.account.slug,
          'x-latchkey-user': service.user.id,
          'x-latchkey-application': service.application.id,
          'x-latchkey-scope': 'orders:read,orders:write',
          'x-latchkey-variant': variant === 'oauth' ? 'token_set' : 'access_key',
        },
      })
      expect(reached[0]?.headers).not.toHaveProperty('authorization')
    })

    it('is refused within two seconds after its application revoked it, although it was in use until then', async () => {
      const { credential } = await connect(service, { variant })
      expect((await ask('/', credential)).status).toBe(200)
      const form = { ...service.device().credentials, [variant === 'oauth' ? 'token' : 'access_key']: credential }
      expect((await post(service.address, `/auth/${variant}/revoke`, { form })).status).toBe(200)
      expect(await stopped(credential)).toBeLessThan(2_000)
    })

    it('is refused within two seconds after it was reported', async () => {
      const { credential } = await connect(service, { variant })
      expect((await ask('/', credential)).status).toBe(200)
      expect((await post(service.address, '/auth/report', { form: { credential } })).body).toEqual({ revoked: true })
      expect(await stopped(credential)).toBeLessThan(2_000)
    })

    it('needs the scope of the location', async () => {
      const narrow = await connect(service, { variant, scope: 'orders:read' })
      const refused = await ask('/orders/7', narrow.credential)
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([
        403,
        'Bearer error="insufficient_scope", scope="orders:write"',
      ])
      expect(reached).toEqual([])
      expect((await ask('/elsewhere', narrow.credential)).status).toBe(200)
      const wide = await connect(service, { variant, scope: 'orders:read,orders:write' })
      expect((await ask('/orders/7', wide.credential)).status).toBe(200)
    })
  })

  describe('a path of a location with a scope', () => {
    /** Sent as it is: `fetch` and `URL` would normalize it. */
    async function statusOf(path: string, credential: string): Promise<number | undefined> {
      const { hostname: host, port } = new URL(gateway.address)
      const headers = { authorization: `Bearer ${credential}` }
      const outgoing = request({ host, port, path, method: 'POST', headers, agent: false }).end()
      const [response]: IncomingMessage[] = await once(outgoing, 'response')
      return response?.resume().statusCode
    }

    it('needs the scope however it is written, if an API could take it for that path', async () => {
      const { credential } = await connect(service, { scope: 'orders:read' })
      for (const path of ['/orders', '/orders/', '/orders?x=1', '/Orders/7', '/ORDERS', '/%6Frders/7', '/%4fRDERS']) {
        expect(await statusOf(path, credential), path).toBe(403)
      }
      expect(reached).toEqual([])
    })

    it('is refused if the gateway and an API could read it differently, also with the scope', async () => {
      const { credential } = await connect(service, { scope: 'orders:read,orders:write' })
      const climbing = [
        '/x/../orders/7',
        '/orders/../x',
        '/x/..',
        '/./orders/7',
        '/orders/.',
        '/x/%2e%2E/orders/7',
        '/.%2e/x',
      ]
      const parameters = ['/x/..;/orders/7', '/;/orders/7', '/orders;a=b/7', '/x/..%3b/orders/7', '/orders;']
      const slashes = [
        '//orders/7',
        '/x//orders',
        '/x%2forders',
        '/x/..%2Forders/7',
        '/x\\..\\orders/7',
        '/x%5c..%5corders',
      ]
      for (const path of [...climbing, ...parameters, ...slashes, '/orders%00']) {
        expect(await statusOf(path, credential), path).toBe(400)
      }
      expect(reached).toEqual([])
    })

    it('is passed on unchanged if it is an ordinary one', async () => {
      const { credential } = await connect(service, { scope: 'orders:read' })
      const paths = [
        '/things/a.b..c',
        '/.well-known/x',
        '/ordersheet',
        '/100%25',
        '/a%20b',
        '/x?next=/../;//%2f',
        '/...',
      ]
      for (const path of paths) expect(await statusOf(path, credential), path).toBe(200)
      expect(reached.map(({ url }) => url)).toEqual(paths)
    })
  })

  /** Milliseconds until the gateway answers 401, with frequent requests. */
  async function stopped(credential: string): Promise<number> {
    const from = performance.now()
    while ((await ask('/', credential)).status !== 401) {
      if (performance.now() - from > 5_000) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    return performance.now() - from
  }

  describe('it refuses', () => {
    it('a request without a credential: 401 with a challenge', async () => {
      const answer = await ask('/things', null)
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer'])
      expect(reached).toEqual([])
    })

    it('everything that is not a valid credential', async () => {
      const { credential, refreshToken, deviceCode, userCode } = await connect(service)
      const bent = `${credential.slice(0, -2)}${credential.endsWith('AA') ? 'BB' : 'AA'}`
      for (const text of ['x', 'lka_', bent, refreshToken, deviceCode, userCode, service.application.secret]) {
        expect((await ask('/', text)).status, text).toBe(401)
      }
      const elsewhere = [
        ask(`/?access_token=${credential}`, null),
        ask('/', null, { headers: { cookie: `access_token=${credential}` } }),
        ask('/', null, { headers: { authorization: credential } }),
        ask('/', null, { headers: { authorization: `Basic ${Buffer.from(`x:${credential}`).toString('base64')}` } }),
      ]
      expect((await Promise.all(elsewhere)).map(({ status }) => status)).toEqual([401, 401, 401, 401])
      expect(reached).toEqual([])
    })

    it('headers that require less than it does', async () => {
      const { credential } = await connect(service, { scope: 'orders:read' })
      for (const scope of ['', 'orders:read', 'orders:write']) {
        const headers = { 'x-latchkey-require-scope': scope, 'x-latchkey-scope': 'orders:write' }
        expect((await ask('/orders', credential, { headers })).status).toBe(403)
      }
      expect(reached).toEqual([])
    })

    it('headers that imitate an answer of Latchkey, in every spelling that an API reads as one of them', async () => {
      const names = ['account', 'user', 'account-external-id', 'user-external-id', 'application', 'scope', 'variant']
      const spellings = (name: string) => [`x-latchkey-${name}`, `X_Latchkey_${name}`, `x-latchkey_${name}`]
      const imitated = names.flatMap((name) => spellings(name.replaceAll('-', '_')).concat(spellings(name)))
      const forged = Object.fromEntries(imitated.map((name) => [name, 'forged']))
      expect((await ask('/', null, { headers: forged })).status).toBe(401)
      const { credential } = await connect(service)
      expect((await ask('/', credential, { headers: forged })).status).toBe(200)
      expect(reached).toHaveLength(1)
      const received = Object.entries(reached[0]?.headers ?? {}).filter(([name]) => /^x[-_]latchkey/.test(name))
      // The user has no external id, and neither has the account.
      expect(Object.fromEntries(received.filter(([, value]) => value !== ''))).toEqual({
        'x-latchkey-account': service.account.slug,
        'x-latchkey-user': service.user.id,
        'x-latchkey-application': service.application.id,
        'x-latchkey-scope': 'orders:read,orders:write',
        'x-latchkey-variant': 'token_set',
      })
    })

    it('all requests with 503 while Latchkey is unreachable', async () => {
      const { credential } = await connect(service)
      // Port 9 is for discarding; nobody listens there.
      const alone = await startGateway(kind, { latchkey: `127.0.0.1:${await freePort()}`, api: apiHost() })
      const answer = await ask('/', credential, { by: alone })
      await alone.stop()
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1'])
      expect(reached).toEqual([])
    })
  })

  describe('the API and its client', () => {
    it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
      'a %s with a body that no form is arrives as it was sent',
      async (method) => {
        const { credential } = await connect(service)
        const raw = JSON.stringify({ order: 7, note: 'x'.repeat(100_000) })
        const answer = await ask('/things', credential, {
          method,
          raw,
          headers: { 'content-type': 'application/json' },
        })
        expect(answer.status).toBe(200)
        expect(reached).toHaveLength(1)
        expect(reached[0]).toMatchObject({ method, body: raw, headers: { 'content-type': 'application/json' } })
      },
    )

    it.each([403, 500, 502])('exchange an answer %i of the API itself unchanged', async (status) => {
      const { credential } = await connect(service)
      const answer = await ask(`/status/${status}`, credential)
      expect([answer.status, answer.text]).toEqual([status, 'from the API'])
      expect(answer.headers).not.toHaveProperty('www-authenticate')
    })
  })
})
