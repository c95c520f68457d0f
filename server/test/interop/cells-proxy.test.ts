/**
 * HAProxy with the files of `latchkey cell proxy-config` in front of two cells: which cell gets a request, changes of the map while
 * it runs, and a reload under load. The servers behind it only say which of them was asked. docs/scale.md, "Cells".
 */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../tools/free-port.ts'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { bucketOfSlug } from '../../src/secrets/bucket.ts'
import { assignBuckets, insertCell, insertFirstMap, nextMapVersion } from '../../src/store/cells/map.ts'
import { openPostgres } from '../../src/store/postgres/postgres.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { createTestDatabase, type TestDatabase } from '../rig/engines/database.ts'
import { EXECUTABLE, startCommand } from '../rig/process/command.ts'
import { spawnTied } from '../rig/process/tied-process.ts'
import { accepting } from './accepting.ts'

const HAPROXY = '/usr/sbin/haproxy'

/** Of `acme`, and of another account that is in the other cell. */
const [ACME, OTHER] = ['acme', 'other'] as const
const BUCKET_OF_OTHER = bucketOfSlug(OTHER)

let folder: string
let database: TestDatabase
let servers: Server[]
let proxy: ReturnType<typeof spawnTied>
let address: string
let environment: Record<string, string>
let socket: string

/** Answers with its name, and with what it was sent. */
async function startEcho(name: string): Promise<Server> {
  const server = createServer(async (request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { host, 'x-forwarded-for': forwardedFor, 'x-request-id': requestId } = request.headers
    const body = Buffer.concat(chunks).toString()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ name, path: request.url, host, forwardedFor, requestId, body }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const hostOf = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`

const startHaproxy = () =>
  spawnTied('TERM', HAPROXY, ['-W', '-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'latchkey-cells-'))
  socket = join(folder, 'socket')
  database = await createTestDatabase()
  servers = await Promise.all(['one-a', 'one-b', 'two'].map(startEcho))
  const [oneA, oneB, two] = servers.map(hostOf)
  const db = openPostgres(database.url, 2, {})
  await db.transaction(async (tx) => {
    await insertFirstMap(tx, { id: 1, name: 'one', address: `http://${oneA}` })
    await insertCell(tx, { id: 2, name: 'two', address: `http://${two}`, home: false })
    await assignBuckets(tx, [BUCKET_OF_OTHER, 0x123], 2, 1)
    await tx.query("insert into account_buckets (slug, bucket) values ('large', $1)", [BUCKET_OF_OTHER])
  })
  await db.close()
  environment = { DATABASE_URL: database.url, PUBLIC_URL: 'https://service.example' }
  const listen = `127.0.0.1:${await freePort()}`
  address = `http://${listen}`
  const args = ['--out', folder, '--bind', listen, '--socket', socket, '--servers', `1=${oneA},${oneB}`]
  const written = await runLatchkey(['cell', 'proxy-config', ...args])
  expect(written).toContain('has version 1 of the map')
  proxy = startHaproxy()
  await accepting(listen)
})

afterAll(async () => {
  proxy?.kill('SIGTERM')
  for (const server of servers ?? []) server.close()
  await database?.drop()
  removeFolder(folder)
})

async function runLatchkey(args: readonly string[]): Promise<string> {
  const options = { env: { PATH: process.env.PATH, ...environment } }
  return (await promisify(execFile)(process.execPath, [EXECUTABLE, ...args], options)).stdout
}

const text = (prefix: string, bucket: number) => `${prefix}${bucket.toString(16).padStart(4, '0')}AAAAAAAAAAAAAAAA`

type Sent = Parameters<typeof post>[2]

const ask = (sent: Sent & { host?: string }, path = '/auth/oauth/device/polling'): Promise<WireAnswer> => {
  const { host = 'service.example', headers, ...others } = sent
  return post(address, path, { ...others, headers: { ...headers, host } })
}

const cellOf = (name: unknown) => String(name).split('-')[0]

describe('the cell of a request', () => {
  test('HAProxy accepts the configuration', async () => {
    const { stderr, stdout } = await promisify(execFile)(HAPROXY, ['-c', '-f', join(folder, 'haproxy.cfg')])
    expect(stdout + stderr).not.toMatch(/warning|alert/i)
  })

  test.each<{ what: string; sent: Sent & { host?: string }; path?: string; cell: string }>([
    {
      what: 'a device code in a form',
      sent: { form: { SVCappid: 'a', device_code: text('lkd_', 0xf002) } },
      cell: 'two',
    },
    {
      what: 'a device code of the other cell',
      sent: { form: { device_code: text('lkd_', 0xf001), SVCappid: 'a' } },
      cell: 'one',
    },
    { what: 'a device code in the query', sent: { query: { device_code: text('lkd_', 0xf002) } }, cell: 'two' },
    { what: 'a bearer credential', sent: { headers: { authorization: `Bearer ${text('lka_', 0x123)}` } }, cell: 'two' },
    {
      what: 'an access key as bearer',
      sent: { headers: { authorization: `bearer ${text('lkk_', 0x123)}` } },
      cell: 'two',
    },
    {
      what: 'an access key in a form',
      sent: { form: { SVCappid: 'a', access_key: text('lkk_', 0x123) } },
      cell: 'two',
    },
    { what: 'a refresh token', sent: { form: { refresh_token: text('lkr_', 0x123) } }, cell: 'two' },
    { what: 'a token to revoke', sent: { form: { token: text('lka_', 0x122) } }, cell: 'one' },
    { what: 'an authorization code', sent: { form: { code: text('lkc_', 0xf002) } }, cell: 'two' },
    { what: 'a reported credential', sent: { form: { credential: text('lkk_', 0x123) } }, cell: 'two' },
    {
      what: 'an account of the management API',
      path: '/manage/1/accounts/large/users',
      sent: { method: 'GET', headers: { authorization: 'Bearer lkm_AAAAAAAAAAAAAAAA' } },
      cell: 'two',
    },
    { what: 'a dialog', sent: { query: { request: text('lkq_', 0xf002) }, method: 'GET' }, cell: 'two' },
    {
      what: 'a pushed request',
      sent: {
        query: { request_uri: text('urn:ietf:params:oauth:request_uri:', 0xf002), client_id: 'a' },
        method: 'GET',
      },
      cell: 'two',
    },
    { what: 'the host of an account', sent: { host: `${ACME}.service.example` }, cell: 'one' },
    { what: 'the host of an account in the other cell', sent: { host: `${OTHER}.service.example` }, cell: 'two' },
    {
      what: 'a host in capitals, with a port',
      sent: { host: `${OTHER.toUpperCase()}.Service.Example:443` },
      cell: 'two',
    },
    { what: 'the host of an account with a bucket of its own', sent: { host: 'large.service.example' }, cell: 'two' },
    {
      what: 'the host of an account, whatever else is sent',
      sent: { host: `${ACME}.service.example`, form: { code: text('lkc_', 0xf002) } },
      cell: 'one',
    },
  ])('is found by $what', async ({ sent, path, cell }) => {
    // Twice: a request to any cell would reach another one.
    for (let round = 0; round < 4; round += 1) expect(cellOf((await ask(sent, path)).body.name)).toBe(cell)
  })

  test('is any cell for a code request, a secret, and a bucket that is in none', async () => {
    const sent: Sent[] = [
      { form: { SVCappid: 'a', SVCsecret: 'b' } },
      { headers: { authorization: 'Bearer lkm_AAAAAAAAAAAAAAAA' } },
      { form: { device_code: text('lkd_', 0xf009) } },
      { form: { device_code: 'nonsense' } },
    ]
    for (const each of sent) {
      const names = new Set<string>()
      for (let round = 0; round < 12; round += 1) names.add(cellOf((await ask(each)).body.name) ?? '')
      expect([...names].sort()).toEqual(['one', 'two'])
    }
  })

  test('is none for a question between cells', async () => {
    expect((await ask({ form: { device_code: text('lkd_', 0xf002) } }, '/cells/look')).status).toBe(404)
  })

  test('gets the request unchanged, with the client’s address and the id of the request', async () => {
    const form = { SVCappid: 'a', device_code: text('lkd_', 0xf002) }
    const sent = { form, headers: { 'x-forwarded-for': '203.0.113.9', 'x-request-id': 'mine' } }
    const { body } = await ask({ ...sent, query: { state: 'x y' } })
    expect(body).toMatchObject({ host: 'service.example', path: '/auth/oauth/device/polling?state=x+y' })
    expect(body.body).toBe(`${new URLSearchParams(form)}`)
    expect(body.forwardedFor).toBe('127.0.0.1')
    expect(body.requestId).toMatch(/^[0-9a-f-]{36}$/)
  })
})

/** Moves the bucket of an account; returns when the change was committed. */
async function moveOther(cell: number): Promise<void> {
  const db = openPostgres(database.url, 2, {})
  await db.transaction(async (tx) => {
    const version = await nextMapVersion(tx)
    await assignBuckets(tx, [BUCKET_OF_OTHER], cell, version ?? 0)
  })
  await db.close()
}

const cellOfOther = async () => cellOf((await ask({ host: `${OTHER}.service.example` })).body.name)

test('a change of the map reaches the running HAProxy within two seconds, and its files; no request fails', async () => {
  const sync = startCommand(['cell', 'proxy-sync', '--out', folder, '--socket', socket], { environment })
  try {
    await moveOther(1)
    await sync.until(/version 2 of the map/)
    const statuses = new Set<number>()
    let done = false
    const load = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!done) statuses.add((await ask({ host: `${OTHER}.service.example` })).status)
      }),
    )
    const tookMs: number[] = []
    for (const cell of [2, 1, 2]) {
      await moveOther(cell)
      const committedAt = performance.now()
      await expect.poll(cellOfOther, { interval: 20, timeout: 30_000 }).toBe(cell === 1 ? 'one' : 'two')
      tookMs.push(performance.now() - committedAt)
    }
    // One may meet a moment in which the machine does something else.
    expect(Math.min(...tookMs)).toBeLessThan(2_000)
    done = true
    await load
    expect([...statuses]).toEqual([200])
    expect(readFileSync(join(folder, 'buckets.map'), 'utf8')).toContain(`\n${BUCKET_OF_OTHER} cell2\n`)
  } finally {
    sync.kill('SIGTERM')
    expect((await sync.ended).status).toBe(0)
  }
})

test('HAProxy is reloaded under load: no request fails, and it has the newest map', async () => {
  const answers: Record<string, number> = {}
  let done = false
  const load = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (!done) {
        const word = await cellOfOther().catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
        answers[String(word)] = (answers[String(word)] ?? 0) + 1
      }
    }),
  )
  for (let reload = 0; reload < 3; reload += 1) {
    await sleep(700)
    // The master starts a new worker, which takes the listener over; the old one finishes its requests.
    proxy.kill('SIGUSR2')
  }
  await sleep(1_500)
  done = true
  await load
  expect(Object.keys(answers)).toEqual(['two'])
  expect(answers.two).toBeGreaterThan(50)
})
