/**
 * A request that arrives in the wrong cell is forwarded once. Two cells on copies of one database, and a third that only says what
 * it was sent. docs/scale.md, "Cells".
 */
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../../tools/free-port.ts'
import { closeContext, createContext, type RunningService, startService } from '../../../src/app.ts'
import { bucketOfCell } from '../../../src/core/cells/map.ts'
import { grantDeviceCode } from '../../../src/flows/device/decide.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { bucketDigits, bucketOfSlug } from '../../../src/secrets/bucket.ts'
import { signForwarded } from '../../../src/secrets/cells/forwarded.ts'
import { assignBuckets, insertCell, insertFirstMap, setThisCell } from '../../../src/store/cells/map.ts'
import { Device, post } from '../../rig/device.ts'
import { createEmptyDatabase, createTestDatabase } from '../../rig/engines/database.ts'
import { runStatements } from '../../rig/engines/postgres-programs.ts'
import {
  type MadeApplication,
  type MadeUser,
  makeAccount,
  makeApplication,
  makeConfig,
  makeUser,
} from '../../rig/make.ts'

const POLLING = '/auth/oauth/device/polling'
const ELSEWHERE = 'elsewhere'
const CLIENT = '203.0.113.7'
const BOUNDARY = 'a-boundary-that-occurs-nowhere-else'

let application: MadeApplication
let user: MadeUser
let one: RunningService
let two: RunningService
let echo: Server
let closing: Server
/** Requests that `closing` received, on a connection of their own or on one that was kept. */
const arrived: ('new' | 'kept')[] = []
let databaseOfTwo: string
const drops: (() => Promise<void>)[] = []

/** Requests that `echo` received. */
const echoed: Echoed[] = []

type Echoed = { readonly headers: IncomingHttpHeaders; readonly url: string; readonly body: string }

beforeAll(async () => {
  echo = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const said: Echoed = { headers: request.headers, url: request.url ?? '', body: Buffer.concat(chunks).toString() }
    echoed.push(said)
    response.writeHead(418, { 'content-type': 'application/json', 'x-said': 'three' })
    response.end(JSON.stringify(said))
  }).listen(0, '127.0.0.1')
  await once(echo, 'listening')
  // Closes a connection that was idle, just when the next request arrives on it.
  const used = new WeakSet<Socket>()
  closing = createServer((request, response) => {
    arrived.push(used.has(request.socket) ? 'kept' : 'new')
    if (used.has(request.socket)) return void request.socket.destroy()
    used.add(request.socket)
    request.resume()
    response.writeHead(418, { 'content-length': 0 }).end()
  }).listen(0, '127.0.0.1')
  await once(closing, 'listening')
  const ports = [await freePort(), await freePort()]
  const database = await createTestDatabase()
  const context = await createContext(makeConfig({ DATABASE_URL: database.url, ...SETTINGS }))
  const account = await makeAccount(context.db)
  user = await makeUser(context.db, account.slug)
  application = await makeApplication(context.db, context.config, account.slug)
  await context.db.transaction(async (tx) => {
    const at = (port: number | undefined) => `http://127.0.0.1:${port}`
    await insertFirstMap(tx, { id: 1, name: 'one', address: at(ports[0]) })
    await insertCell(tx, { id: 2, name: 'two', address: at(ports[1]), home: false })
    await insertCell(tx, { id: 3, name: 'three', address: at((echo.address() as AddressInfo).port), home: false })
    await insertCell(tx, { id: 4, name: 'four', address: 'http://127.0.0.1:1', home: false })
    await insertCell(tx, { id: 5, name: 'five', address: at((closing.address() as AddressInfo).port), home: false })
    await assignBuckets(tx, [bucketOfSlug(ELSEWHERE), 0x123], 3, 1)
    // As if long ago: a prefix that was just given to another cell is not used for a while.
    await tx.query("update code_prefixes set cell = 2 where prefix >= '50'")
    await setThisCell(tx, 1)
  })
  await closeContext(context)
  const copy = await copyOf(database.url)
  drops.push(database.drop, copy.drop)
  const second = await createContext(makeConfig({ DATABASE_URL: copy.url }))
  await setThisCell(second.db, 2)
  await closeContext(second)
  one = await start(database.url, 1, { PORT: String(ports[0]), TRUST_PROXY: '127.0.0.1' })
  // Trusts no proxy: what it believes of a request, it believes because of the mark.
  two = await start(copy.url, 2, { PORT: String(ports[1]) })
  databaseOfTwo = copy.url
})

afterAll(async () => {
  await one?.stop()
  await two?.stop()
  echo?.close()
  closing?.close()
  for (const drop of drops) await drop()
})

/** PostgreSQL copies a database only when nobody is connected to it; connections that were closed end a little later. */
async function copyOf(url: string): ReturnType<typeof createEmptyDatabase> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await createEmptyDatabase(new URL(url).pathname.slice(1))
    } catch (error) {
      if (attempt === 50 || !String(error).includes('being accessed by other users')) throw error
      await sleep(100)
    }
  }
}

const SETTINGS = { PUBLIC_URL: 'https://service.example', METRICS_PORT: '0' }

const start = (url: string, cell: number, more: Record<string, string>) =>
  startService(makeConfig({ ...SETTINGS, ...more, DATABASE_URL: url, CELL: String(cell) }))

const readSample = async (service: RunningService, name: string) => {
  const text = await (await fetch(`${service.metricsAddress}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1))
}

const forwarded = (service: RunningService, outcome: 'answered' | 'failed' | 'abandoned') =>
  readSample(service, `latchkey_forwarded_requests_total{outcome="${outcome}"}`)

const secondsOfPolls = (service: RunningService) =>
  readSample(service, `latchkey_http_request_duration_seconds_sum{route="${POLLING}"}`)

const codeOf = (cell: number) => `lkd_${bucketDigits(bucketOfCell(cell))}${'A'.repeat(55)}`

const viaProxy = { host: 'service.example', 'x-forwarded-for': CLIENT, 'x-request-id': 'id-of-the-proxy' }

test.each([
  { how: 'in a form', sent: (form: Record<string, string>) => ({ form }) },
  { how: 'in the query', sent: (query: Record<string, string>) => ({ query }) },
  {
    how: 'in a multipart form, which the proxy cannot read',
    sent: (form: Record<string, string>) => {
      const part = ([name, value]: [string, string]) =>
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
      const raw = `${Object.entries(form).map(part).join('')}--${BOUNDARY}--\r\n`
      return { raw, headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` } }
    },
  },
])('a poll with a code of another cell $how is forwarded, answered there, and counted', async ({ sent }) => {
  const device = new Device(one.address, application)
  const { device_code } = await device.code()
  expect(device_code.slice(4, 8)).toBe('f001')
  const before = await forwarded(two, 'answered')
  const answer = await post(two.address, POLLING, sent({ ...device.credentials, device_code }))
  expect(answer).toMatchObject({ status: 400, body: { error: 'auth_pending' } })
  expect(await forwarded(two, 'answered')).toBe(before + 1)
  expect(await forwarded(one, 'answered')).toBe(0)
})

test('a new cell, whose prefixes still belong to live codes of the home cell, has codes issued there', async () => {
  const { db, cells } = two.context
  const give = async (previous: number | null) => {
    await db.query('update code_prefixes set previous_cell = $1, changed_at = now() where cell = 2', [previous])
    await db.query('update cell_map set version = version + 1')
    await cells?.refresh()
  }
  await give(1)
  const before = await forwarded(two, 'answered')
  expect((await new Device(two.address, application).code()).device_code.slice(4, 8)).toBe('f001')
  expect(await forwarded(two, 'answered')).toBe(before + 1)
  await give(null)
  expect((await new Device(two.address, application).code()).device_code.slice(4, 8)).toBe('f002')
  expect(await forwarded(two, 'answered')).toBe(before + 1)
})

test('a held poll passes through: the decision in the other cell reaches the device at once, and the wait is no duration', async () => {
  const device = new Device(one.address, application)
  const { device_code, user_code } = await device.code()
  const form = { ...device.credentials, device_code }
  const before = await secondsOfPolls(two)
  const begun = performance.now()
  const held = post(two.address, POLLING, { form, headers: { prefer: 'wait=20' } })
  await sleep(1_000)
  const entered = await enterUserCode(one.context, user.id, user_code)
  if (entered.outcome !== 'claimed') throw new Error(entered.outcome)
  await grantDeviceCode(one.context, user.id, entered.code)
  const answer = await held
  expect(answer.status).toBe(200)
  expect(answer.body.access_token).toMatch(/^lka_/)
  expect(answer.headers['preference-applied']).toBe('wait=20')
  expect(performance.now() - begun).toBeGreaterThan(900)
  expect(performance.now() - begun).toBeLessThan(10_000)
  expect((await secondsOfPolls(two)) - before).toBeLessThan(0.5)
  // Delivered: nothing is left for another poll.
  expect((await device.poll(device_code)).body.error).toBe('invalid')
})

test('a client that leaves a held poll is no failure of the other cell, and the time until then is no duration', async () => {
  const device = new Device(one.address, application)
  const { device_code } = await device.code()
  const before = await forwarded(two, 'failed')
  const secondsBefore = await secondsOfPolls(two)
  const sent = httpRequest(`${two.address}${POLLING}`, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/x-www-form-urlencoded', prefer: 'wait=20' },
  })
  sent.on('error', () => {})
  sent.end(`${new URLSearchParams({ ...device.credentials, device_code })}`)
  await expect.poll(() => one.context.heldPolls.count).toBe(1)
  await sleep(1_000)
  sent.destroy()
  await expect.poll(() => one.context.heldPolls.count).toBe(0)
  await expect.poll(() => forwarded(two, 'abandoned')).toBe(1)
  expect(await forwarded(two, 'failed')).toBe(before)
  expect((await secondsOfPolls(two)) - secondsBefore).toBeLessThan(0.5)
})

test('a process that stops releases the polls that another cell holds for it, and they are pending', async () => {
  const stopping = await start(databaseOfTwo, 2, { PORT: String(await freePort()) })
  const device = new Device(one.address, application)
  const codes = await Promise.all([device.code(), device.code(), device.code()])
  const answers = codes.map(({ device_code }) =>
    post(stopping.address, POLLING, { form: { ...device.credentials, device_code }, headers: { prefer: 'wait=20' } }),
  )
  await expect.poll(() => one.context.heldPolls.count).toBe(3)
  const begun = performance.now()
  const stopped = stopping.stop()
  for (const answer of await Promise.all(answers))
    expect(answer).toMatchObject({ status: 400, body: { error: 'auth_pending' }, headers: { connection: 'close' } })
  expect(performance.now() - begun).toBeLessThan(1_000)
  await stopped
  expect(one.context.heldPolls.count).toBe(0)
})

test('the other cell gets the request as it was sent, with the client’s address and the id, and its answer is passed on', async () => {
  const form = { SVCappid: 'a', device_code: codeOf(3) }
  const sent = { form, query: { state: 'x y' }, headers: { ...viaProxy, 'idempotency-key': 'k' } }
  const answer = await post(one.address, POLLING, sent)
  expect(answer.status).toBe(418)
  expect(answer.headers['x-said']).toBe('three')
  const { headers, url, body } = answer.body as Echoed
  expect(url).toBe(`${POLLING}?state=x+y`)
  expect(body).toBe(`${new URLSearchParams(form)}`)
  expect(headers).toMatchObject({ ...viaProxy, 'idempotency-key': 'k' })
  expect(headers['latchkey-forwarded']).toMatch(/^[A-Za-z0-9_-]{23}$/)
})

test.each([
  {
    what: 'a bearer credential',
    path: '/auth/verify',
    method: 'GET',
    headers: { authorization: `Bearer lka_0123${'A'.repeat(56)}` },
  },
  {
    what: 'the host of an account',
    path: '/sign-in',
    method: 'POST',
    headers: { host: `${ELSEWHERE}.service.example` },
  },
  {
    what: 'a path like an address of another host',
    path: '//127.0.0.1:1/latest/meta-data',
    method: 'GET',
    headers: { host: `${ELSEWHERE}.service.example` },
  },
  { what: 'a dialog', path: `/dialog?request=lkq_f003${'A'.repeat(44)}`, method: 'GET', headers: {} },
])('$what of another cell leads there', async ({ path, method, headers }) => {
  const answer = await post(one.address, path, {
    method,
    headers: { ...viaProxy, ...headers },
    ...(method === 'POST' ? { form: { a: 'b' } } : {}),
  })
  expect(answer.status).toBe(418)
  expect((answer.body as Echoed).url).toBe(path)
  expect((answer.body as Echoed).body).toBe(method === 'POST' ? 'a=b' : '')
})

test.each(['GET', 'HEAD', 'DELETE', 'POST'])(
  'the chunked body of a %s request is one to the other cell, and nothing else',
  async (method) => {
    const body = 'GET /within-the-body HTTP/1.1\r\nhost: x\r\n\r\n'
    const headers = { ...viaProxy, host: `${ELSEWHERE}.service.example`, 'transfer-encoding': 'chunked' }
    echoed.length = 0
    const sent = httpRequest(`${one.address}/sign-in`, { method, headers, agent: false })
    sent.end(body)
    const [answer] = await once(sent, 'response')
    answer.resume()
    expect(answer.statusCode).toBe(418)
    expect(echoed.map(({ url, body }) => ({ url, body }))).toEqual([{ url: '/sign-in', body }])
  },
)

const RIGHT = { to: 2, requestId: 'id-of-the-proxy', address: CLIENT }

const markedPoll = (mark: string) =>
  post(two.address, POLLING, {
    form: { SVCappid: 'a', device_code: codeOf(3) },
    headers: { ...viaProxy, 'latchkey-forwarded': mark },
  })

test('a forwarded request is answered where it arrives, with the id that it came with', async () => {
  const answer = await markedPoll(signForwarded(two.context.config.keys, RIGHT))
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid' } })
  expect(answer.headers['x-request-id']).toBe('id-of-the-proxy')
})

test('a forwarded request comes from the address of the client', async () => {
  const mark = signForwarded(two.context.config.keys, RIGHT)
  const { credentials } = new Device(two.address, application)
  const requestFrom = async (headers: Record<string, string>) => {
    const answer = await post(two.address, '/auth/oauth/device/code', { form: credentials, headers })
    expect(answer.status).toBe(200)
    const [row] = await runStatements(
      databaseOfTwo,
      'select host(requested_from) as address from device_codes order by created_at desc limit 1',
    )
    return row.address
  }
  expect(await requestFrom({ ...viaProxy, 'latchkey-forwarded': mark })).toBe(CLIENT)
  expect(await requestFrom(viaProxy)).toBe('127.0.0.1')
})

test.each([
  { what: 'for another cell', of: { ...RIGHT, to: 1 } },
  { what: 'of another request', of: { ...RIGHT, requestId: 'another' } },
  { what: 'with another address', of: { ...RIGHT, address: '203.0.113.8' } },
])('a mark $what counts as none', async ({ of }) => {
  expect((await markedPoll(signForwarded(two.context.config.keys, of))).status).toBe(418)
})

test('a cell that does not answer is unavailable, and nothing is repeated', async () => {
  const before = await forwarded(one, 'failed')
  const answer = await post(one.address, POLLING, { form: { SVCappid: 'a', device_code: codeOf(4) } })
  expect(answer).toMatchObject({ status: 503, body: { error: 'unavailable' } })
  expect(await forwarded(one, 'failed')).toBe(before + 1)
})

test.each([
  { what: 'a poll', path: POLLING, sent: { form: { SVCappid: 'a', device_code: codeOf(5) } } },
  {
    what: 'a GET request',
    path: `/dialog?request=lkq_f005${'A'.repeat(44)}`,
    sent: { method: 'GET', headers: viaProxy },
  },
])('$what whose connection the other cell has just closed is sent again, on a new one', async ({ path, sent }) => {
  arrived.length = 0
  const before = await forwarded(one, 'failed')
  for (let time = 1; time <= 3; time += 1) expect((await post(one.address, path, sent)).status).toBe(418)
  expect(arrived.filter((how) => how === 'new')).toHaveLength(3)
  expect(arrived.filter((how) => how === 'kept').length).toBeGreaterThan(0)
  expect(await forwarded(one, 'failed')).toBe(before)
})

test.each([
  {
    what: 'an authorization code',
    path: '/auth/oauth/token',
    form: { SVCappid: 'a', code: `lkc_f005${'A'.repeat(44)}` },
  },
  {
    what: 'a refresh token',
    path: '/auth/oauth/refresh',
    form: { SVCappid: 'a', refresh_token: `lkr_f005${'A'.repeat(55)}` },
  },
])('a request with $what arrives once, whatever becomes of the connections before it', async ({ path, form }) => {
  arrived.length = 0
  for (let time = 1; time <= 3; time += 1) expect((await post(one.address, path, { form })).status).toBe(418)
  expect(arrived).toEqual(['new', 'new', 'new'])
})

test('a bucket that is in no cell, and a request without one, are answered here', async () => {
  for (const device_code of [codeOf(9), 'nonsense']) {
    const answer = await post(one.address, POLLING, { form: { SVCappid: 'a', SVCsecret: 'b', device_code } })
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid' } })
  }
})
