/** Outbound requests, with real sockets and a real name server on this machine. AD-03. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createOutbound, isPublic, type OutboundSettings, UNCONNECTED } from '../src/outbound.ts'
import { type NameServer, startNameServer } from './rig/network/name-server.ts'
import { type Answer, type Certificate, makeCertificate, type Receiver, startReceiver } from './rig/network/receiver.ts'

const MESSAGE = {
  headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' },
  body: '{"type":"grant.created"}',
}
const NAME = 'hooks.receiver.example'

let certificate: Certificate
beforeAll(() => {
  certificate = makeCertificate(NAME, 'other.receiver.example')
})

const started: (Receiver | NameServer)[] = []
afterEach(async () => {
  for (const each of started.splice(0)) await each.stop()
})
const start = async <T extends Receiver | NameServer>(each: Promise<T>): Promise<T> => {
  const ready = await each
  started.push(ready)
  return ready
}
const receive = async (answer: Answer = 204, where: Parameters<typeof startReceiver>[0] = {}) => {
  const receiver = await start(startReceiver(where))
  receiver.answer(answer)
  return receiver
}

/** Long enough for an answer on a busy machine, and short enough to wait for. */
const PATIENCE_MS = 2_000
/** Upper bound for a request that fails by its timeout, several times PATIENCE_MS, because the machine may be busy. */
const BOUND_MS = 10_000

const outbound = (given: Partial<OutboundSettings> = {}) =>
  createOutbound({ allowPrivate: false, dnsServers: [], timeoutMs: PATIENCE_MS, ...given })
const open = (given: Partial<OutboundSettings> = {}) => outbound({ allowPrivate: true, ...given })

/** Each resolves to this machine or to another private address. */
const PRIVATE_HOSTS = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7F.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '127。0。0。1',
  '①②⑦.⓪.⓪.①',
  '127.0.0.%31',
  '0',
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '169.254.169.254',
  '168.63.129.16',
  '2852039166',
  '0xa9fea9fe',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.168.1.1',
  '198.18.0.1',
  '203.0.113.5',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::127.0.0.1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:a9fe:a9fe]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b:1::a00:1]',
  '[2001::7f00:1]',
  '[2001:db8::1]',
  '[2002:7f00:1::]',
  '[3fff::1]',
  '[5f00::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '[fec0::1]',
  '[ff02::1]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'localhost%2e',
  'ｌocalhost',
  'acme.localhost',
  'printer.local',
  'metadata.google.internal',
  'router.home.arpa',
  'intranet',
  'intranet.',
]

describe('AD-03: an address that is not public', () => {
  test.each(PRIVATE_HOSTS)('%s is refused as a literal, without a connection', async (host) => {
    const receiver = await receive()
    const url = `https://${host}:${receiver.port}/`
    expect(outbound().problemWith(url)).toBe('private')
    expect(await outbound().post(url, MESSAGE)).toMatchObject({ error: 'private' })
    expect(receiver.connections.opened).toBe(0)
  })

  test.each([
    ['http://hooks.example.com/', 'scheme'],
    ['http://127.0.0.1/', 'scheme'],
    ['http://localhost/', 'scheme'],
    ['ftp://hooks.example.com/', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['gopher://127.0.0.1:6379/_FLUSHALL', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['https://user:password@hooks.example.com/', 'userinfo'],
    ['https://user@hooks.example.com/', 'userinfo'],
    ['https://hooks.example.com/#there', 'fragment'],
    ['https://hooks.example.com:22/', 'port'],
    ['https://hooks.example.com:25/', 'port'],
    ['https://hooks.example.com:80/', 'port'],
    ['https://hooks.example.com:1024/', 'port'],
    ['https://hooks.example.com:0/', 'port'],
    ['https://hooks.example.com./', 'host'],
    ['https://hooks..example.com/', 'host'],
    ['https://hooks_1.example.com/', 'host'],
    [`https://${'a'.repeat(64)}.example.com/`, 'host'],
    [`https://hooks.example.com/${'a'.repeat(2_000)}`, 'too_long'],
    ['https://', 'not_an_address'],
    ['https://256.256.256.256/', 'not_an_address'],
    ['hooks.example.com', 'not_an_address'],
    ['//hooks.example.com/', 'not_an_address'],
    ['', 'not_an_address'],
  ])('%s is refused: %s', (url, problem) => {
    expect(outbound().problemWith(url)).toBe(problem)
  })

  test.each([
    'https://hooks.example.com/',
    'https://hooks.example.com:8443/in?tenant=7',
    'https://xn--bcher-kva.example/',
    'https://1.1.1.1/',
    'https://[2606:4700::1111]/',
    'https://local.example/',
    'https://localhost.example/',
  ])('%s is accepted', (url) => {
    expect(outbound().problemWith(url)).toBeNull()
  })

  test.each(PRIVATE_HOSTS.filter((host) => /^[\d.]+$|^\[/.test(host) && URL.canParse(`https://${host}/`)))(
    'a name that leads to %s is refused, and no connection is made',
    async (host) => {
      const receiver = await receive(204, { certificate })
      const address = new URL(`https://${host}/`).hostname.replace(/^\[(.*)\]$/, '$1')
      const names = await start(startNameServer(() => [address]))
      const posted = await outbound({ dnsServers: [names.address] }).post(`https://${NAME}:${receiver.port}/`, MESSAGE)
      expect(posted).toMatchObject({ error: 'private_address' })
      expect(receiver.connections.opened).toBe(0)
    },
  )

  test('of a name’s addresses only public ones are connected to', async () => {
    const receiver = await receive(204, { certificate })
    // Never allocated, so nobody has it.
    const names = await start(startNameServer(() => ['127.0.0.1', '::1', '3000::1']))
    const posted = await outbound({ dnsServers: [names.address] }).post(`https://${NAME}:${receiver.port}/`, MESSAGE)
    expect(['unreachable', 'connect_timeout']).toContain('error' in posted && posted.error)
    expect(receiver.connections.opened).toBe(0)
  })

  test('a name whose addresses change between check and connection gains nothing', async () => {
    const first = await receive(204, { certificate, host: '127.0.0.2' })
    const second = await receive(204, { certificate, port: first.port })
    const asked: string[] = []
    const names = await start(
      startNameServer(({ type }) => {
        asked.push(type)
        return asked.filter((each) => each === type).length === 1 ? ['127.0.0.2'] : ['127.0.0.1']
      }),
    )
    const url = `https://${NAME}:${first.port}/hooks`
    const way = open({ dnsServers: [names.address], ca: certificate.cert })
    expect(await way.post(url, MESSAGE)).toMatchObject({ status: 204 })
    expect([first.received.length, second.connections.opened]).toEqual([1, 0])
    expect(asked.sort()).toEqual(['A', 'AAAA'])
    // The next attempt resolves again, and refuses a private address then.
    expect(await outbound({ dnsServers: [names.address] }).post(url, MESSAGE)).toMatchObject({
      error: 'private_address',
    })
    expect([first.connections.opened, second.connections.opened]).toEqual([1, 0])
  })

  test('a redirect is never followed', async () => {
    const inside = await receive()
    for (const to of [inside.url, `http://localhost:${inside.port}/`, '//169.254.169.254/latest/meta-data/']) {
      const receiver = await receive({ to })
      expect(await open().post(receiver.url, MESSAGE)).toMatchObject({ status: 302 })
    }
    expect(inside.connections.opened).toBe(0)
  })

  test('only the status of an answer is returned', async () => {
    const receiver = await receive('endless')
    const posted = await open().post(receiver.url, MESSAGE)
    expect(posted).toEqual({ status: 200, tookMs: expect.any(Number) })
    expect(receiver.written()).toBeLessThan(20_000_000)
  })
})

test.each([
  ['192.0.1.255', true],
  ['192.0.3.0', true],
  ['172.15.255.255', true],
  ['172.32.0.0', true],
  ['100.63.255.255', true],
  ['100.128.0.0', true],
  ['223.255.255.255', true],
  ['169.253.255.255', true],
  ['2001:200::', true],
  ['2001:1ff:ffff:ffff::', false],
  ['2003::', true],
  ['3ffe:ffff::', true],
  ['4000::', false],
  ['1fff::', false],
  ['::ffff:8.8.8.8', false],
  ['nonsense', false],
])('ranges end where IANA defines it: %s is public: %s', (address, everybody) => {
  expect(isPublic(address)).toBe(everybody)
})

describe('a message', () => {
  test('arrives unchanged, with the requested host name', async () => {
    const receiver = await receive(204, { certificate })
    const names = await start(startNameServer(() => ['127.0.0.1']))
    const way = open({ dnsServers: [names.address], ca: certificate.cert })
    expect(await way.post(`https://${NAME}:${receiver.port}/hooks?a=b`, MESSAGE)).toMatchObject({ status: 204 })
    const [received] = receiver.received
    expect(received?.body).toBe(MESSAGE.body)
    expect(received?.headers).toMatchObject({
      ...MESSAGE.headers,
      host: `${NAME}:${receiver.port}`,
      'content-length': String(MESSAGE.body.length),
      connection: 'close',
    })
  })

  test('is sent over one connection, which is closed afterwards', async () => {
    const receiver = await receive()
    for (const _ of [1, 2, 3]) await open().post(receiver.url, MESSAGE)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(receiver.connections).toEqual({ opened: 3, open: 0 })
  })

  test.each(['http://localhost', 'http://acme.localhost', 'http://127.0.0.1'])(
    'goes to %s where private addresses are allowed, without encryption',
    async (origin) => {
      const receiver = await receive()
      expect(await open().post(`${origin}:${receiver.port}/`, MESSAGE)).toMatchObject({ status: 204 })
      expect(['http://[::1]/', 'http://10.0.0.1/'].map(open().problemWith)).toEqual([null, 'scheme'])
    },
  )

  test.each([
    ['of a stranger', () => undefined, NAME],
    ['for another name', () => certificate.cert, 'hooks.elsewhere.example'],
  ])('is not sent to a host with a certificate %s', async (_, ca, name) => {
    const receiver = await receive(204, { certificate })
    const names = await start(startNameServer(() => ['127.0.0.1']))
    const trusted = ca()
    const way = open({ dnsServers: [names.address], ...(trusted ? { ca: trusted } : {}) })
    expect(await way.post(`https://${name}:${receiver.port}/`, MESSAGE)).toMatchObject({ error: 'tls' })
    expect(receiver.received).toEqual([])
  })
})

describe('a receiver that', () => {
  test.each([
    ['hang', { error: 'timeout' }],
    ['drip', { error: 'timeout' }],
    ['drip body', { status: 200 }],
    ['endless', { status: 200 }],
    ['cut short', { status: 200 }],
    ['garbage', { error: 'broken' }],
    ['close', { error: 'broken' }],
    ['upgrade', { error: 'broken' }],
    [500, { status: 500 }],
    [410, { status: 410 }],
    [200, { status: 200 }],
  ] as const)('does this: %s, is done with in bounded time: %j', async (answer, outcome) => {
    const receiver = await receive(answer)
    const began = Date.now()
    expect(await open().post(receiver.url, MESSAGE)).toMatchObject(outcome)
    expect(Date.now() - began).toBeLessThan(BOUND_MS)
    await expect.poll(() => receiver.connections.open, { timeout: BOUND_MS }).toBe(0)
  })

  test('is not listening is reported as unreachable', async () => {
    const receiver = await startReceiver()
    await receiver.stop()
    expect(await open().post(receiver.url, MESSAGE)).toMatchObject({ error: 'unreachable' })
  })

  test.each([
    ['does not speak TLS', (socket: Socket) => socket.end('220 mail.example ESMTP\r\n'), 'handshake'],
    ['closes', (socket: Socket) => socket.end(), 'handshake'],
    ['resets', (socket: Socket) => socket.resetAndDestroy(), 'handshake'],
    ['is silent', () => {}, 'connect_timeout'],
  ] as const)('%s has failed before TLS, as if nothing were there', async (_, behave, error) => {
    const server = createServer((socket) => behave(socket.on('error', () => {})))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    expect(await open().post(`https://127.0.0.1:${port}/`, MESSAGE)).toMatchObject({ error })
    expect(UNCONNECTED).toContain(error)
    server.close()
  })

  test('has an unknown name is reported as such', async () => {
    const names = await start(startNameServer(() => []))
    const posted = await outbound({ dnsServers: [names.address] }).post(`https://${NAME}/`, MESSAGE)
    expect(posted).toMatchObject({ error: 'unknown_name' })
  })

  test('has a name server that does not answer costs no more time than others, and none after an abort', async () => {
    const names = await start(startNameServer(() => null))
    const began = Date.now()
    const way = outbound({ dnsServers: [names.address] })
    expect(await way.post(`https://${NAME}/`, MESSAGE)).toMatchObject({ error: 'connect_timeout' })
    expect(Date.now() - began).toBeLessThan(BOUND_MS)
    const aborted = way.post(`https://${NAME}/`, MESSAGE, AbortSignal.abort())
    expect(await Promise.race([aborted, sleep(1_000)])).toMatchObject({ error: 'connect_timeout' })
  })

  test('hangs is aborted by the caller’s signal', async () => {
    const receiver = await receive('hang')
    const stopping = new AbortController()
    const posting = open({ timeoutMs: 10_000 }).post(receiver.url, MESSAGE, stopping.signal)
    await receiver.waitFor(1)
    stopping.abort()
    expect(await posting).toMatchObject({ error: 'timeout' })
    expect(await open({ timeoutMs: 10_000 }).post(receiver.url, MESSAGE, stopping.signal)).toMatchObject({
      error: 'connect_timeout',
    })
    expect(receiver.received).toHaveLength(1)
  })
})
