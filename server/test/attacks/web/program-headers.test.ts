/** WB-11: headers of every answer to a program, and of every answer that no route gives. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pathsOf } from '../../../src/http/route.ts'
import { endpoints, routes } from '../../../src/http/routes.ts'
import { script } from '../../../src/pages/ui/assets.ts'
import { post, type WireAnswer } from '../../rig/device.ts'
import { sendRaw } from '../../rig/network/raw-request.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let secure: TestService
beforeAll(async () => {
  service = await startTestService({ METRICS_PORT: '0' })
  secure = await startTestService({ PUBLIC_URL: 'https://service.example' })
})
afterAll(async () => {
  await service.stop()
  await secure.stop()
})

const HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}
const HTTPS = { ...HEADERS, 'strict-transport-security': 'max-age=63072000; includeSubDomains' }

function told({ headers }: Pick<WireAnswer, 'headers'>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(HTTPS).flatMap((name) => (headers[name] ? [[name, headers[name]]] : [])))
}

const PUBLISHED = ['access-control-allow-origin', 'access-control-expose-headers', 'vary']

type Named = readonly [name: string, answer: Pick<WireAnswer, 'status' | 'headers'>]

/** Every endpoint under each of its paths: with a secret, without one, and by a method that it does not have. */
async function everyAnswer(of: TestService): Promise<readonly Named[]> {
  const host = new URL(of.config.publicUrl).host
  const send = async (method: string, path: string, form: Record<string, string> | null = null): Promise<Named> => [
    `${method} ${path} ${form ? Object.keys(form).join() : ''}`,
    await post(of.address, path, { method, headers: { host }, ...(form ? { form } : {}) }),
  ]
  const { credentials } = of.device()
  const answers: Named[] = []
  for (const route of endpoints) {
    for (const path of pathsOf(route)) {
      answers.push(await send(route.method, path), await send('PUT', path))
      if (route.method === 'POST') answers.push(await send(route.method, path, credentials))
    }
  }
  for (const path of ['/nowhere', '/nowhere.xml', '/security']) answers.push(await send('GET', path))
  answers.push(await send('POST', '/auth/oauth/device/code', { state: 'x'.repeat(70_000) }))
  answers.push(await send('PUT', script.path))
  return answers
}

/** Requests that Node's parser rejects, so that they reach no route. */
async function everyBrokenRequest({ address }: TestService): Promise<readonly Named[]> {
  const asked = {
    'not HTTP': ['nonsense'],
    'no host': ['GET /health/live HTTP/1.1', 'connection: close'],
    'a large header': ['GET / HTTP/1.1', 'host: localhost', `x-large: ${'x'.repeat(20_000)}`],
  }
  return Promise.all(
    Object.entries(asked).map(async ([name, lines]): Promise<Named> => {
      const [status = '', ...headers] = (await sendRaw(address, lines)).split('\r\n\r\n', 1)[0]?.split('\r\n') ?? []
      const pairs = headers.map((line) => line.split(/: (.*)/s, 2) as [string, string])
      return [name, { status: Number(status.split(' ')[1]), headers: Object.fromEntries(pairs) }]
    }),
  )
}

describe('headers of answers to programs', () => {
  it.each([
    ['http', () => service, HEADERS],
    ['https', () => secure, HTTPS],
  ] as const)('WB-11: with %s, every endpoint has them, errors included', async (_, of, expected) => {
    const answers = [...(await everyAnswer(of())), ...(await everyBrokenRequest(of()))]
    for (const [name, answer] of answers) expect([name, told(answer)]).toEqual([name, expected])
    const statuses = new Set(answers.map(([, { status }]) => status))
    expect([...statuses].sort(), 'all kinds were there').toEqual([200, 400, 401, 404, 405, 413, 421, 431])
  })

  it('WB-11: an asset has them, and a page of the base host has those of pages', async () => {
    for (const [of, expected] of [
      [service, HEADERS],
      [secure, HTTPS],
    ] as const) {
      const headers = { host: new URL(of.config.publicUrl).host }
      const asset = await post(of.address, script.path, { method: 'GET', headers })
      expect([asset.status, told(asset)]).toEqual([200, expected])
      for (const { method, path } of routes.filter(({ dialect }) => dialect === 'page')) {
        const page = told(await post(of.address, path, { method, headers }))
        const policy = String(page['content-security-policy'])
        expect([path, policy.split('; ').includes("frame-ancestors 'none'")]).toEqual([path, true])
        const own = { ...page, 'content-security-policy': HEADERS['content-security-policy'] }
        expect([path, own]).toEqual([path, expected])
      }
    }
  })

  it('WB-11: the metrics port has them, errors included', async () => {
    for (const [method, path] of [
      ['GET', '/metrics'],
      ['POST', '/metrics'],
      ['GET', '/'],
    ] as const) {
      const answer = await post(service.metricsAddress ?? '', path, { method })
      expect([method, path, told(answer)]).toEqual([method, path, HEADERS])
    }
  })

  it('WB-11: pages of other origins still read by CORS what is published to them', async () => {
    const { headers } = await post(service.address, '/.well-known/oauth-authorization-server', {
      method: 'GET',
      headers: { origin: 'https://elsewhere.example' },
    })
    expect(PUBLISHED.map((name) => headers[name])).toEqual(['*', 'retry-after, x-request-id', 'origin'])
  })
})
