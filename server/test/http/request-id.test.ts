/** Every answer has an id, and so has every log line written for it. docs/interface.md, "The request's id". */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byService } from '../../src/core/audit/actor.ts'
import { createEvents } from '../../src/events.ts'
import { readAudit } from '../../src/flows/audit/read.ts'
import { stylesheet } from '../../src/pages/ui/assets.ts'
import { recordEvent } from '../../src/store/audit/events.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { CALLBACK, makeApplication } from '../rig/make.ts'
import { sendRaw } from '../rig/network/raw-request.ts'
import { type ServerProcess, startServerProcess } from '../rig/process/server-process.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { makeSignedInUser, signedFor } from '../rig/signed-in.ts'
import { textOf } from '../rig/web.ts'

const OURS = /^[0-9a-f]{16}$/

const idOf = ({ headers }: Pick<WireAnswer, 'headers'>) => String(headers['x-request-id'])

describe('every answer', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startTestService()
  })
  afterAll(() => service.stop())

  it('has an id of its own: successes and errors, of the API and of pages, with and without a body', async () => {
    const { address, account, config } = service
    const device = service.device()
    const code = await device.request()
    const { web } = await makeSignedInUser(service)
    const host = `${account.slug}.${new URL(config.publicUrl).host}`
    const at = (path: string, method = 'GET', headers = {}) => post(address, path, { method, headers })
    const answers: readonly (readonly [number, WireAnswer | Promise<WireAnswer>])[] = [
      [200, code],
      [400, device.poll(code.body.device_code)],
      [400, device.poll('nonsense')],
      [401, post(address, '/auth/oauth/device/code.xml', { form: { SVCappid: 'app_x', SVCsecret: 'y' } })],
      [405, at('/auth/oauth/device/code')],
      [415, post(address, '/auth/oauth/device/code', { raw: '{}', headers: { 'content-type': 'application/json' } })],
      [413, post(address, '/auth/oauth/device/code', { form: { state: 'x'.repeat(100_000) } })],
      [401, post(address, '/oauth/token', { form: {} })],
      [401, at('/auth/verify')],
      [200, at('/.well-known/oauth-authorization-server')],
      [200, at('/openapi.json')],
      [200, at('/health/live')],
      [200, at('/health/ready', 'HEAD')],
      [404, at('/nowhere')],
      [200, at('/activate')],
      [200, at(stylesheet.path)],
      [405, at(stylesheet.path, 'POST')],
      [200, at('/sign-in', 'GET', { host })],
      [404, at('/nowhere', 'GET', { host })],
      [404, at('/sign-in', 'GET', { host: `nobody.${new URL(config.publicUrl).host}` })],
      [303, at('/connect/code', 'GET', { host })],
      [200, web.send('GET', '/connect/code')],
      [403, web.send('POST', '/connect/code', { code: '1', token: 'none' })],
    ]
    const seen = await Promise.all(answers.map(async ([, answer]) => answer))
    expect(seen.map(({ status }) => status)).toEqual(answers.map(([status]) => status))
    const ids = seen.map(idOf)
    expect(ids.filter((id) => !OURS.test(id))).toEqual([])
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('has the id that the audit events of the request carry; those of a job carry none', async () => {
    const { web, user } = await makeSignedInUser(service)
    await web.get('/')
    const left = await web.send('POST', '/sign-out', await signedFor(service, user, '/sign-out', {}))
    await service.context.db.transaction((tx) => recordEvent(tx, { kind: 'session.ended', actor: byService('expiry') }))
    const events = await service.database.query<{ request_id: string | null }>(
      "select request_id from audit_events where kind = 'session.ended' order by id",
    )
    expect(events.map((event) => event.request_id)).toEqual([idOf(left), null])
    const wish = { accountId: service.account.id, account: null, kinds: null, person: null, application: null }
    const found = (request: string) =>
      readAudit(service.context, { ...wish, request, from: null, until: null }, null).then(({ lines }) => lines)
    expect((await found(idOf(left))).map(({ kind }) => kind)).toEqual(['session.ended'])
    expect(await found(idOf(left).slice(0, 8))).toEqual([])
  })

  it('has one for malformed requests, too', async () => {
    const { address } = service
    const close = 'Connection: close'
    const requests: Record<string, readonly string[]> = {
      '400 nonsense': ['NONSENSE'],
      '431 too much': ['GET / HTTP/1.1', 'Host: localhost', `X-Long: ${'x'.repeat(20_000)}`],
      '400 no host': ['GET /health/live HTTP/1.1', close],
      '200 an expectation that nobody knows': [
        'GET /health/live HTTP/1.1',
        'Host: localhost',
        'Expect: miracles',
        close,
      ],
    }
    for (const [name, lines] of Object.entries(requests)) {
      const answer = await sendRaw(address, lines)
      expect([name.slice(0, 3), answer]).toEqual([
        answer.slice(9, 12),
        expect.stringMatching(/\r\nx-request-id: [0-9a-f]{16}\r\n/),
      ])
    }
  })

  it('exposes it and Retry-After to pages of other origins that may read the answer', async () => {
    const { context, config, account, address } = service
    const given = { deviceFlow: false, redirectUris: [CALLBACK], public: true }
    const { id } = await makeApplication(context.db, config, account.slug, given)
    await context.applications.refresh()
    const form = { client_id: id, grant_type: 'refresh_token', refresh_token: 'none' }
    const from = (origin: string) => post(address, '/oauth/token', { form, headers: { origin } })
    const own = await from(new URL(CALLBACK).origin)
    expect(own.headers['access-control-expose-headers']).toBe('retry-after, x-request-id')
    expect((await from('https://elsewhere.example')).headers).not.toHaveProperty('access-control-expose-headers')
  })
})

describe('an id sent by the client', () => {
  const given = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'
  const ask = (service: TestService, id: string | string[]) =>
    post(service.address, '/health/live', { method: 'GET', headers: { 'x-request-id': id as string } })

  it('is not accepted from an untrusted peer', async () => {
    const service = await startTestService({ TRUST_PROXY: '192.0.2.0/24' })
    try {
      expect(idOf(await ask(service, given))).toMatch(OURS)
    } finally {
      await service.stop()
    }
  })

  it('is accepted from a trusted proxy, if it is short, valid and given once', async () => {
    const service = await startTestService({ TRUST_PROXY: '127.0.0.0/8' })
    try {
      for (const good of [given, '7F000001:8296_7F00001E:1F90_4F7B0A69_0003:790E', 'a', 'x'.repeat(128)]) {
        expect(idOf(await ask(service, good))).toBe(good)
      }
      for (const bad of [
        '',
        'two words',
        'x'.repeat(129),
        '<script>',
        '"',
        'a,b',
        'a/b',
        'ä',
        'a\tb',
        [given, given],
      ]) {
        expect([bad, idOf(await ask(service, bad))]).toEqual([bad, expect.stringMatching(OURS)])
      }
      const page = await service.web({ 'x-request-id': given }).send('GET', '/sign-in')
      expect(idOf(page)).toBe(given)
    } finally {
      await service.stop()
    }
  })
})

describe('overload', () => {
  it('a shed request has an id as well', async () => {
    const service = await startTestService({ OVERLOAD_DELAY: '1' })
    try {
      const device = service.device()
      // Blocks the event loop long enough to be detected.
      const until = Date.now() + 20_000
      let shed: WireAnswer | null = null
      while (!shed && Date.now() < until) {
        const asked = device.request()
        for (const end = performance.now() + 300; performance.now() < end; );
        const answer = await asked
        if (answer.status === 503) shed = answer
      }
      expect([shed?.status, shed?.body.error]).toEqual([503, 'unavailable'])
      expect(idOf(shed as WireAnswer)).toMatch(OURS)
    } finally {
      await service.stop()
    }
  })
})

describe('the log', () => {
  let service: TestService
  let server: ServerProcess
  beforeAll(async () => {
    service = await startTestService({}, { listen: false })
    server = await startServerProcess({
      DATABASE_URL: service.database.url,
      PUBLIC_URL: 'http://localhost:1',
      LOG_LEVEL: 'debug',
    })
  })
  afterAll(async () => {
    await server.kill('SIGTERM')
    await service.stop()
  })

  const linesOf = async (id: string) => {
    for (let tries = 0; tries < 100; tries += 1) {
      const lines = server
        .log()
        .split('\n')
        .filter((line) => line.includes(id))
      // The last line, written when the answer has been sent.
      if (lines.at(-1)?.includes('"event":"answered"')) return lines.map((line) => JSON.parse(line))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    throw new Error(`the log does not say that ${id} was answered`)
  }

  it('has a line per request with LOG_LEVEL=debug, with its route, never its URL', async () => {
    const { id: SVCappid } = service.application
    const answer = await post(server.address, '/1/auth/oauth/device/polling.xml', {
      query: { SVCappid, SVCsecret: 'canary-in-the-query' },
      form: { device_code: 'canary-in-the-form' },
    })
    expect(await linesOf(idOf(answer))).toEqual([
      {
        level: 'debug',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        pid: expect.any(Number),
        requestId: idOf(answer),
        route: '/auth/oauth/device/polling',
        event: 'answered',
        method: 'POST',
        status: 400,
        ms: expect.any(Number),
        msg: 'answered 400',
      },
    ])
    const elsewhere = await post(server.address, '/nowhere/canary-in-the-path', { method: 'GET' })
    expect(await linesOf(idOf(elsewhere))).toMatchObject([{ route: 'none', status: 404 }])
    expect(server.log()).not.toContain('canary')
  })

  it('has the id of an unexpected error, and so has its page', async () => {
    await service.database.query('alter table accounts rename to accounts_elsewhere')
    try {
      const page = await post(server.address, '/sign-in', {
        method: 'GET',
        headers: { host: `${service.account.slug}.localhost:1`, 'accept-language': 'en' },
      })
      expect(page.status).toBe(500)
      expect(textOf(page.text)).toContain(`Request ID for your report: ${idOf(page)}`)
      const [unexpected, answered] = await linesOf(idOf(page))
      expect(unexpected).toMatchObject({
        level: 'error',
        requestId: idOf(page),
        route: '/sign-in',
        event: 'unexpected',
        where: 'pages',
        msg: 'unexpected error in pages',
      })
      expect(answered).toMatchObject({ event: 'answered', status: 500 })
    } finally {
      await service.database.query('alter table accounts_elsewhere rename to accounts')
    }
  })

  it('has no line per request otherwise', () => {
    expect(createEvents('info').answered).toBeNull()
    const [first] = server.log().split('\n')
    expect(JSON.parse(first ?? '')).not.toHaveProperty('requestId')
  })
})
