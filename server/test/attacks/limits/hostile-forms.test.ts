/**
 * RL-16 and RL-17: forms that are made to be expensive to read. A built server in a process of its own measures its
 * processor time and the delay of its event loop.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_CHOICES } from '../../../src/flows/sign-in/chosen-password.ts'
import { mailLink } from '../../../src/flows/sign-in/links.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { signLink } from '../../../src/secrets/web-texts.ts'
import { makeUser } from '../../rig/make.ts'
import { openRawConnection } from '../../rig/network/raw-connection.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser, signedFor, signInAs } from '../../rig/signed-in.ts'

const MAX_CPU_MS = 2
const MAX_P99_MS = 50

/** Over each connection. */
const TIMES = 20
const MAX_ROUNDS = 8

let service: TestService
let server: ServerProcess
let host: string
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  const { DATABASE_URL, PUBLIC_URL } = { DATABASE_URL: service.database.url, PUBLIC_URL: service.config.publicUrl }
  const preload = new URL('../../rig/process/tell-load.ts', import.meta.url)
  server = await startServerProcess({ DATABASE_URL, PUBLIC_URL }, { preload })
  host = `${service.account.slug}.${new URL(PUBLIC_URL).host}`
})
afterAll(async () => {
  await server.kill('SIGTERM')
  await service.stop()
})

type Load = { readonly cpuMs: number; readonly p99Ms: number; readonly maxMs: number }

async function load(): Promise<Load> {
  const lines = () => server.log().match(/^load .*$/gm) ?? []
  const before = lines().length
  process.kill(server.pid, 'SIGUSR2')
  while (lines().length === before) await sleep(5)
  return JSON.parse(lines().at(-1)?.slice('load '.length) ?? '')
}

type Hostile = { readonly path: string; readonly type: string; readonly body: string; readonly cookie?: string }

function bytesOf({ path, type, body, cookie }: Hostile, at = host): Buffer {
  const lines = [`POST ${path} HTTP/1.1`, `host: ${at}`, `origin: http://${at}`, 'sec-fetch-site: same-origin']
  if (cookie !== undefined) lines.push(`cookie: ${cookie}`)
  lines.push(`content-type: ${type}`, `content-length: ${Buffer.byteLength(body)}`, '', '')
  return Buffer.concat([Buffer.from(lines.join('\r\n')), Buffer.from(body)])
}

/** Sends one request again and again over each connection; returns the statuses. */
async function attack(requests: readonly Buffer[], times: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  const repeat = async (request: Buffer) => {
    const raw = openRawConnection(server.address)
    for (let sent = 0; sent < times; sent += 1) {
      const { status } = await raw.send(request)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
    raw.close()
  }
  await Promise.all(requests.map(repeat))
  return statuses
}

type Requests = () => Promise<readonly Buffer[]>

/**
 * Compares with harmless requests that are refused alike: the pages that refuse them, and a busy machine, cost both. Of
 * several rounds the cheapest counts.
 */
async function expectCheap(hostile: Requests, harmless: Requests, status: number, times = TIMES): Promise<void> {
  const measure = async (make: Requests) => {
    const requests = await make()
    await load()
    const sent = requests.length * times
    expect(await attack(requests, times)).toEqual({ [status]: sent })
    const measured = await load()
    return { ...measured, cpuMs: measured.cpuMs / sent }
  }
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < MAX_ROUNDS && least > MAX_CPU_MS; round += 1) {
    const usual = await measure(harmless)
    const { cpuMs, p99Ms, maxMs } = await measure(hostile)
    least = Math.min(least, cpuMs - usual.cpuMs)
    console.log(
      `cpu_ms_per_request=${cpuMs.toFixed(2)} harmless=${usual.cpuMs.toFixed(2)} p99_ms=${p99Ms.toFixed(1)} max_ms=${maxMs.toFixed(1)}`,
    )
    expect(p99Ms, 'event-loop delay').toBeLessThanOrEqual(MAX_P99_MS)
  }
  expect(least, 'processor time').toBeLessThanOrEqual(MAX_CPU_MS)
}

const four = async (make: () => Buffer | Promise<Buffer>) => Promise.all([make(), make(), make(), make()])

const MULTIPART = 'multipart/form-data; boundary=x'
const URL_ENCODED = 'application/x-www-form-urlencoded'
const KB = 1024

const HEADER = '--x\r\ncontent-disposition: form-data; name="a"; filename="b"\r\n\r\n\r\n'
const END = '--x--\r\n'
/** So that a form is refused, also if everything before can be read. */
const BROKEN = `--x\r\n\r\n\r\n${END}`
const filled = (text: string, bytes: number) => text.repeat(Math.max(0, Math.floor((bytes - 200) / text.length)))

/** Enough for one of what a hostile body has very many of. */
const HARMLESS = 300

/** Bodies that are expensive for a parser that reads them to their end. */
const bodies: Record<string, (bytes: number) => Pick<Hostile, 'type' | 'body'>> = {
  'very many parts': (bytes) => ({ type: MULTIPART, body: filled(HEADER, bytes) + END }),
  'a part with very many headers': (bytes) => ({
    type: MULTIPART,
    body: `--x\r\n${filled('a: b\r\n', bytes)}\r\n\r\n${END}`,
  }),
  'a header with very many parameters': (bytes) => ({
    type: MULTIPART,
    body: `--x\r\ncontent-disposition: form-data${filled('; a=b', bytes)}\r\n\r\n\r\n${END}`,
  }),
  'a name of escapes': (bytes) => ({
    type: MULTIPART,
    body: `--x\r\ncontent-disposition: form-data; name="${filled('%22', bytes)}"\r\n\r\n\r\n${BROKEN}`,
  }),
  'a value of half delimiters': (bytes) => ({
    type: MULTIPART,
    body: `--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n${filled('\r\n--', bytes)}\r\n${BROKEN}`,
  }),
  'very many parameters': (bytes) => ({ type: URL_ENCODED, body: filled('a&', bytes) }),
  'a value of escapes': (bytes) => ({ type: URL_ENCODED, body: `a=${filled('%C3%A4', bytes)}%C3` }),
}

describe('RL-16: a form that is read before anybody is authenticated', () => {
  const polling = '/auth/oauth/device/polling'
  const base = () => new URL(service.config.publicUrl).host

  it.each(Object.entries(bodies))('RL-16: a poll, without and with credentials: %s', async (_, make) => {
    const query = new URLSearchParams(service.device().credentials)
    for (const path of [polling, `${polling}?${query}`]) {
      const sent = (bytes: number) => () => four(() => bytesOf({ path, ...make(bytes) }, base()))
      await expectCheap(sent(16 * KB), sent(HARMLESS), 400)
    }
  })

  it.each(Object.entries(bodies))('RL-16: a page: %s', async (_, make) => {
    const sent = (bytes: number) => () => four(() => bytesOf({ path: '/recover', ...make(bytes) }))
    await expectCheap(sent(64 * KB), sent(HARMLESS), 400)
  })

  it.each(Object.entries(bodies))('RL-16: an upload, without and with a session: %s', async (_, make) => {
    const upload = (bytes: number) => ({ path: '/account/branding', ...make(bytes) })
    const sent = (bytes: number) => () => four(() => bytesOf(upload(bytes)))
    const { type } = upload(0)
    await expectCheap(sent(512 * KB), sent(HARMLESS), 303)
    const { cookies } = await signInAs(service, service.user)
    const cookie = `${SESSION}=${cookies.get(SESSION)}`
    const signed = (bytes: number) => async () => [bytesOf({ ...upload(bytes), cookie })]
    await expectCheap(signed((type === MULTIPART ? 512 : 64) * KB), signed(HARMLESS), 400)
  })
})

const MARKS = '\u0301'.repeat(7_500) + '\u0316'.repeat(7_500)

const typedTwice = (password: string) => ({ password, again: password })

/** Passwords of 256 characters that are refused, so that the link and the session remain. */
const refused: Record<string, { readonly password: string; readonly again: string }> = {
  'one word many times': { password: `${'sun.'.repeat(63)}abcж`, again: 'no' },
  'listed passwords behind each other': { password: `${'dragonmonkey'.repeat(21)}fooж`, again: 'no' },
  'runs of keys between signs': typedTwice(`§${'qwertz123'.repeat(28)}ab§`),
  'one character between signs': typedTwice(`§${'a'.repeat(254)}§`),
  'the name of the account between signs': typedTwice(`§${'account'.repeat(36)}§`),
  'combining marks': typedTwice(MARKS),
}

describe('RL-17: a password that is expensive to judge', () => {
  /** Not escaped: every code unit of a text takes as few bytes as possible. */
  const form = (fields: Record<string, string>) => ({
    type: URL_ENCODED,
    body: Object.entries(fields)
      .map(([name, value]) => `${name}=${value.replace(/[+&%]/g, encodeURIComponent)}`)
      .join('&'),
  })
  const bySession = async (path: string, fields: Record<string, string>, bound = {}) => {
    const { user, web } = await makeSignedInUser(service)
    const cookie = `${SESSION}=${web.cookies.get(SESSION)}`
    return bytesOf({ path, ...form({ ...fields, ...(await signedFor(service, user, path, bound)) }), cookie })
  }
  const changePassword = (chosen: Record<string, string>) =>
    bySession('/security/password', { ...chosen, current: 'x' })
  const byLink = async (fields: Record<string, string>) =>
    bytesOf({ path: '/link', ...form({ ...fields, link: await makeLink() }) })

  it.each(Object.entries(refused))('RL-17: chosen by a mailed link, and in a session: %s', async (_, chosen) => {
    const short = typedTwice('short')
    for (const send of [byLink, changePassword]) {
      await expectCheap(
        () => four(() => send(chosen)),
        () => four(() => send(short)),
        400,
        MAX_CHOICES,
      )
    }
  })

  it('RL-17: a mailed link, and a session, choose ten passwords in a minute', async () => {
    const chosen = { password: 'sunshine2026', again: 'sunshine2026' }
    for (const request of [await byLink(chosen), await changePassword(chosen)]) {
      expect(await attack([request], MAX_CHOICES)).toEqual({ 400: MAX_CHOICES })
      expect(await attack([request], 5)).toEqual({ 429: 5 })
    }
  })

  it.each([
    ['a password', '/sign-in', { email: 'ann@acme.example', password: MARKS }],
    ['a password again', '/confirm', { password: MARKS }],
    ['a code of an authenticator', '/confirm', { code: MARKS }],
    ['a user code', '/connect/code', { code: MARKS }],
  ])('RL-17: %s of combining marks delays nobody', async (_, path, fields) => {
    const request = await bySession(path, fields)
    await attack([request], 1)
    await load()
    expect(await attack([request], 2)).toEqual({ 400: 2 })
    expect((await load()).maxMs).toBeLessThanOrEqual(MAX_P99_MS)
  })
})

/** To set a password, for a new user. */
async function makeLink(): Promise<string> {
  const { account, context, config } = service
  const { id: userId } = await makeUser(context.db, account.slug)
  await context.db.transaction((tx) =>
    mailLink(tx, { id: userId, accountId: account.id }, 'en', { kind: 'recovery', detail: {} }),
  )
  const [link] = await service.database.query<{ id: string }>('select id from links where user_id = $1', [userId])
  return signLink(config.keys, link?.id ?? '', account.slug)
}
