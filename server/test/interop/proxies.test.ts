/** Real proxies in front of the service with their reference configurations. docs/install.md, "Behind a proxy". */
import { Agent } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort, onFreePort } from '../../../tools/free-port.ts'
import { connect } from '../rig/connect.ts'
import { sendRaw } from '../rig/network/raw-request.ts'
import { type Certificate, makeCertificate } from '../rig/network/receiver.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { countRows, digestOf } from '../rig/witness.ts'
import { ask, CLIENT, negotiate, type Sent } from './proxy-client.ts'
import { PROXIES, type ProxyProcess, startProxy } from './proxy-process.ts'
import { hiddenRequest, madeUp, SMUGGLED, sendBytes } from './smuggled-requests.ts'

/** Expected warnings of Caddy: redirects are disabled in our file, and the certificate is a test's. */
const ASKED_FOR = /automatic HTTP->HTTPS redirects are disabled|no OCSP server specified in certificate/

let certificate: Certificate
beforeAll(() => {
  certificate = makeCertificate('service.example', '*.service.example')
})

describe.each(PROXIES)('%s with the reference configuration', (kind) => {
  let port: number
  let service: TestService
  let proxy: ProxyProcess

  beforeAll(async () => {
    await onFreePort(async (free) => {
      port = free
      await service?.stop()
      service = await startTestService({ PUBLIC_URL: `https://service.example:${port}`, TRUST_PROXY: '127.0.0.1' })
      const upstreams = [new URL(service.address).host]
      proxy = await startProxy(kind, { listen: `127.0.0.1:${port}`, upstreams, certificate })
    })
  })
  afterAll(async () => {
    await proxy?.stop()
    await service?.stop()
  })

  const at = () => ({ port, certificate })
  /** Another proxy of this kind, before an upstream that does this with every connection. */
  const startBehind = async (serve: (socket: Socket) => void) => {
    const upstream = createServer(serve)
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
    const upstreams = [`127.0.0.1:${(upstream.address() as AddressInfo).port}`]
    const [free, started] = await onFreePort(
      async (free) => [free, await startProxy(kind, { listen: `127.0.0.1:${free}`, upstreams, certificate })] as const,
    )
    return [upstream, free, started] as const
  }
  const credentials = () => service.device().credentials
  const form = (fields: Record<string, string>) => new URLSearchParams({ ...credentials(), ...fields }).toString()
  const atService = (path: string, sent: Omit<Sent, 'host'> = {}) =>
    ask(at(), path, { host: 'service.example', ...sent })
  const atAccount = (path: string, sent: Omit<Sent, 'host'> = {}) =>
    ask(at(), path, { host: `${service.account.slug}.service.example`, ...sent })

  /** The ways in which a request reached the service with the address that it claimed. */
  const hiddenOnes = async () => {
    const rows = await service.database.query<{ address: string }>(
      'select host(requested_from) as address from device_codes',
    )
    const addresses = rows.map(({ address }) => address)
    return SMUGGLED.filter((_way, index) => addresses.includes(madeUp(index))).map(([name]) => name)
  }

  it('passes the proxy’s own check', () => {
    expect(proxy.checked).toMatch(/successful|[Vv]alid/)
    const lines = proxy.checked.split('\n').filter((line) => !ASKED_FOR.test(line))
    expect(
      lines.filter((line) => /\[(warn|warning|error|crit|alert|emerg)\]|"level":"(warn|error)/i.test(line)),
    ).toEqual([])
  })

  it('forwards a device flow at the service’s host', async () => {
    const code = await atService('/auth/oauth/device/code', { body: form({ state: 'kitchen' }) })
    expect([code.status, code.body.state]).toEqual([200, 'kitchen'])
    expect(await service.grant(code.body.user_code)).toBe('granted')
    const poll = await atService('/auth/oauth/device/polling', { body: form({ device_code: code.body.device_code }) })
    expect([poll.status, Object.keys(poll.body)]).toEqual([
      200,
      ['access_token', 'refresh_token', 'expires_in', 'scope', 'state'],
    ])
  })

  it('lets a poll wait for the decision as long as it may', async () => {
    const polls = await Promise.all(
      ['granted', 'nothing'].map(async (decision) => {
        const code = await atService('/auth/oauth/device/code', { body: form({ state: decision }) })
        const sent = { body: form({ device_code: code.body.device_code }), headers: { prefer: 'wait=25' } }
        const answer = atService('/auth/oauth/device/polling', sent)
        await sleep(1_000)
        if (decision === 'granted') expect(await service.grant(code.body.user_code)).toBe('granted')
        return answer
      }),
    )
    expect(polls.map(({ status }) => status)).toEqual([200, 400])
    expect(polls[1]?.body.error).toBe('auth_pending')
    expect(polls.map(({ headers }) => headers['preference-applied'])).toEqual(['wait=25', 'wait=25'])
  })

  it('forwards pages at the account’s host, with its Host header', async () => {
    const page = await atAccount('/sign-in', { method: 'GET' })
    expect(page.status).toBe(200)
    expect(page.text).toContain(`Account ${service.account.slug}`)
    expect(page.headers['strict-transport-security']).toBeDefined()
    const elsewhere = await atService('/sign-in', { method: 'GET' })
    expect(elsewhere.status).toBe(421)
  })

  it('gives each request its own id, which the answer carries, whatever the client sends', async () => {
    const sent = { body: form({}), headers: { 'x-request-id': 'mine' } }
    const ids = [await atService('/auth/oauth/device/code', sent), await atService('/auth/oauth/device/code', sent)]
    const [first, second] = ids.map(({ headers }) => String(headers['x-request-id']))
    expect(first).toMatch(/^[\da-f-]{32,36}$/)
    expect(second).not.toBe(first)
    // Caddy's log has no headers.
    if (kind !== 'caddy') await expect.poll(() => proxy.written()).toContain(first)
  })

  it('sends the client’s address, not what the client claims', async () => {
    const sent = { body: form({}), headers: { 'x-forwarded-for': '203.0.113.9' } }
    const { body } = await atService('/auth/oauth/device/code', sent)
    const rows = await service.database.query<{ place: string }>(
      'select host(requested_from) as place from device_codes where user_code_digest = $1',
      [digestOf(service, body.user_code)],
    )
    expect(rows).toEqual([{ place: CLIENT }])
  })

  it('refuses a body larger than the service’s limit, before the service receives it', async () => {
    const answer = await atService('/auth/oauth/device/code', { body: Buffer.alloc(700 * 1024, 'a') }).catch(
      (error: NodeJS.ErrnoException) => error,
    )
    // A client that keeps sending may find the connection closed before it has read the answer.
    if (answer instanceof Error) expect(['EPIPE', 'ECONNRESET']).toContain(answer.code)
    // The service's own error would be JSON.
    else expect([answer.status, typeof answer.body]).toEqual([413, 'string'])
    await eventually(() => expect(proxy.written()).toMatch(/\b413\b/))
  })

  // Caddy has no limit of its own.
  if (kind !== 'caddy') {
    it('RL-16: limits the forms of one client, and no request of a program', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 8 })
      const flood = async (path: string, body: string, host: string) => {
        const send = () => ask({ ...at(), agent }, path, { host, body })
        const answers = await Promise.all(Array.from({ length: 600 }, send))
        return Object.groupBy(answers, ({ status }) => status)
      }
      // Without an Origin header: refused by the service. Measured again if the machine took longer than the limit allows for.
      const floodForms = () => flood('/recover', 'email=ann', `${service.account.slug}.service.example`)
      let begun = performance.now()
      let forms = await floodForms()
      for (let time = 1; time <= 3 && performance.now() - begun > 8_000; time += 1) {
        begun = performance.now()
        forms = await floodForms()
      }
      expect(Object.keys(forms)).toEqual(['403', '429'])
      expect(forms[403]?.length).toBeGreaterThanOrEqual(200)
      const polls = await flood('/auth/oauth/device/polling', form({ device_code: 'lkd_nonsense' }), 'service.example')
      expect(Object.keys(polls)).toEqual(['400'])
      expect((await atAccount('/sign-in', { method: 'GET' })).status, 'a page').toBe(200)
      agent.destroy()
    })
  }

  it('speaks TLS 1.3, and TLS 1.2 only with forward secrecy and authenticated encryption, at full strength if offered', async () => {
    expect(await negotiate(at(), {})).toMatchObject({ protocol: 'TLSv1.3' })
    const weakest = ['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA', 'ECDHE-ECDSA-AES128-SHA256']
    for (const ciphers of weakest) {
      expect(await negotiate(at(), { maxVersion: 'TLSv1.2', ciphers }), ciphers).toBe('refused')
    }
    const offered = 'ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384'
    const chosen = await negotiate(at(), { maxVersion: 'TLSv1.2', ciphers: offered })
    // Go, and so Caddy, chooses among equally good suites by what its processor is fast at.
    const strongest = kind === 'caddy' ? /^ECDHE-ECDSA-AES\d+-GCM-/ : /^ECDHE-ECDSA-AES256-GCM-SHA384$/
    expect(chosen).toEqual({ protocol: 'TLSv1.2', cipher: expect.stringMatching(strongest) })
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const
    expect(await negotiate(at(), old)).toBe('refused')
  })

  it('AP-23: answers a secret that is sent in the open with no redirect, and hands it to nobody', async () => {
    const before = await countRows(service, 'device_codes')
    const answer = await sendRaw(`http://127.0.0.1:${port}`, [
      `POST /auth/oauth/device/code?${form({})} HTTP/1.1`,
      `Host: service.example:${port}`,
      'Content-Length: 0',
      'Connection: close',
    ]).catch(() => '')
    // HAProxy closes the connection; the others say what is wrong.
    expect(answer).toMatch(/^($|HTTP\/1\.[01] 400 )/)
    expect(answer).not.toMatch(/^location:/im)
    expect(answer).not.toContain(credentials().SVCsecret)
    expect(await countRows(service, 'device_codes')).toEqual(before)
  })

  it(`AP-17: no request is hidden from it, in ${SMUGGLED.length} ways to disagree about where a request ends`, async () => {
    const host = `service.example:${port}`
    await Promise.all(
      SMUGGLED.map(([, write], index) => sendBytes(at(), write(host, hiddenRequest(host, form({}), madeUp(index))))),
    )
    // The next request of somebody else gets its own answer.
    const honest = await atService('/auth/oauth/device/code', { body: form({ state: 'honest' }) })
    expect([honest.status, honest.body.state]).toEqual([200, 'honest'])
    expect(await hiddenOnes()).toEqual([])
    // Straight to the service, which trusts this address as it trusts the proxy's: it would have been noticed.
    await sendRaw(service.address, [hiddenRequest(host, form({}), madeUp(1))])
    expect(await hiddenOnes()).toEqual([SMUGGLED[1]?.[0]])
  })

  it('SC-10: compresses no page and no answer with a credential', async () => {
    const headers = { 'accept-encoding': 'gzip, br, zstd, deflate' }
    const page = await atAccount('/sign-in', { method: 'GET', headers })
    const code = await atService('/auth/oauth/device/code', { body: form({ state: 'a'.repeat(1_000) }), headers })
    expect([page.status, page.headers['content-encoding']]).toEqual([200, undefined])
    expect([code.status, code.headers['content-encoding']]).toEqual([200, undefined])
  })

  it('AP-02: logs paths without secrets, also when it refuses, and when an upstream is absent or breaks off', async () => {
    const { credential, refreshToken, deviceCode, userCode } = await connect(service)
    // Broken requests of other tests had the secret where a proxy logs what it cannot parse.
    const from = proxy.written().length
    const canaries = ['canary-in-query', 'canary-in-form', 'canary-in-cookie', 'canary-in-referer', 'canary-in-key']
    const { SVCsecret } = credentials()
    const basic = Buffer.from(`${credentials().SVCappid}:${SVCsecret}`).toString('base64')
    const secrets = [SVCsecret, basic, credential, refreshToken, deviceCode, userCode, ...canaries]
    const query = `?${form({ device_code: deviceCode, state: 'canary-in-query', code: userCode, token: refreshToken })}`
    const headers = {
      authorization: `Basic ${basic}`,
      cookie: 'session=canary-in-cookie',
      referer: `https://app.example/?code=canary-in-referer&token=${credential}`,
      'idempotency-key': 'canary-in-key',
    }
    const body = form({ state: 'canary-in-form', device_code: deviceCode })
    const nowhere = `127.0.0.1:${await freePort()}`
    const [away, alone] = await onFreePort(async (free) => {
      return [free, await startProxy(kind, { listen: `127.0.0.1:${free}`, upstreams: [nowhere], certificate })] as const
    })

    const [broken, before, breaking] = await startBehind((socket) =>
      socket.once('data', () => socket.resetAndDestroy()),
    )

    const statuses = []
    for (const path of ['/auth/oauth/device/polling', '/auth/oauth/device/code', '/nowhere', '/auth/verify']) {
      statuses.push((await atService(`${path}${query}`, { body, headers })).status)
      statuses.push((await atService(`${path}${query}`, { method: 'GET', headers })).status)
      statuses.push((await atAccount(`${path}${query}`, { method: 'GET', headers })).status)
    }
    statuses.push(
      (await atService(`/auth/verify${query}`, { method: 'GET', headers: { authorization: `Bearer ${credential}` } }))
        .status,
    )
    expect(statuses).toContain(200)
    await atService(`/auth/oauth/device/code${query}`, { headers, body: 'a'.repeat(700 * 1024) }).catch(() => null)
    const gone = await ask({ port: away, certificate }, `/auth/oauth/device/code${query}`, {
      host: 'service.example',
      body,
      headers,
    })
    expect([502, 503]).toContain(gone.status)
    const cut = await ask({ port: before, certificate }, `/auth/oauth/device/code${query}`, {
      host: 'service.example',
      body,
      headers,
    })
    expect([502, 503]).toContain(cut.status)
    await atService(`/auth/oauth/device/code${query}&state=${'a'.repeat(200_000)}`, { headers }).catch(() => null)
    await atService('/nowhere', { headers: { ...headers, 'x-long': `${SVCsecret}${'a'.repeat(200_000)}` } }).catch(
      () => null,
    )

    await eventually(() => expect(proxy.written().slice(from)).toContain('/nowhere'))
    await eventually(() => expect(alone.written()).toContain('/auth/oauth/device/code'))
    await eventually(() => expect(breaking.written()).toContain('/auth/oauth/device/code'))
    const written = proxy.written().slice(from) + alone.written() + breaking.written()
    await alone.stop()
    await breaking.stop()
    broken.close()
    expect(
      secrets.filter((secret) => written.includes(secret) || written.includes(encodeURIComponent(secret))),
    ).toEqual([])
  })
})

/** Logs are written a moment after the answer. */
async function eventually(check: () => void): Promise<void> {
  for (const from = performance.now(); ; ) {
    try {
      return check()
    } catch (error) {
      if (performance.now() - from > 5_000) throw error
      await sleep(50)
    }
  }
}
