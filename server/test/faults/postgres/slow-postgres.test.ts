/** docs/operations.md, "When PostgreSQL or Redis is unavailable": PostgreSQL answers, but too late. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { closeContext, createContext } from '../../../src/app.ts'
import type { Context } from '../../../src/flows/context.ts'
import { connect } from '../../rig/connect.ts'
import { postNative } from '../../rig/credentials.ts'
import { Device } from '../../rig/device.ts'
import { useOwnTimeouts } from '../../rig/engines/long-timeouts.ts'
import { type OwnPostgres, startOwnPostgres } from '../../rig/engines/own-postgres.ts'
import { type MadeApplication, makeAccount, makeApplication, makeConfig, makeEnvironment } from '../../rig/make.ts'
import { startFaultProxy } from '../../rig/network/fault-proxy.ts'
import { type PostgresWire, startPostgresWire } from '../../rig/network/postgres-wire.ts'
import { runCommand } from '../../rig/process/command.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { spawnTied } from '../../rig/process/tied-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

useOwnTimeouts()

/** A statement has two seconds; a machine that does other work as well needs more. */
const DEADLINE_MS = 8_000

async function timed<T>(work: Promise<T>): Promise<{ result: T; ms: number }> {
  const begun = performance.now()
  return { result: await work, ms: performance.now() - begun }
}

describe('while another session locks a table', () => {
  let service: TestService
  let wire: PostgresWire
  let server: ServerProcess
  beforeAll(async () => {
    service = await startTestService()
    wire = await startPostgresWire(service.database.url)
    server = await startServerProcess({ DATABASE_URL: wire.url })
  })
  afterAll(async () => {
    await server.kill('SIGKILL')
    await wire.stop()
    await service.stop()
  })

  async function lockTable(name: string) {
    const client = new pg.Client({ connectionString: service.database.url })
    await client.connect()
    await client.query(`begin; lock table ${name} in access exclusive mode`)
    return { unlock: () => client.query('rollback').then(() => client.end()) }
  }
  const requested = (statement: RegExp) => wire.statements().filter((each) => statement.test(each)).length

  it('F10: code requests are answered 503 after the deadline, each is tried once, and polls say pending', async () => {
    const device = new Device(server.address, service.application)
    const codes = [await device.code(), await device.code()]
    expect((await device.poll(codes[0]?.device_code ?? '')).body.error).toBe('auth_pending')
    const before = requested(/insert into device_codes/)
    const { unlock } = await lockTable('device_codes')
    try {
      const asked = Array.from({ length: 5 }, () => timed(device.request()))
      for (const { result, ms } of await Promise.all(asked)) {
        expect([result.status, result.body.error]).toEqual([503, 'unavailable'])
        expect(Number(result.headers['retry-after'])).toBeGreaterThan(0)
        expect(ms).toBeLessThan(DEADLINE_MS)
      }
      expect(requested(/insert into device_codes/) - before).toBe(5)
      for (const { device_code } of codes) {
        const { result, ms } = await timed(device.poll(device_code))
        expect(result.body.error).toMatch(/^(auth_pending|slow_down)$/)
        expect(ms).toBeLessThan(DEADLINE_MS)
      }
    } finally {
      await unlock()
    }
    expect((await device.request()).status).toBe(200)
  })

  it('F10: refreshes that wait take every connection of theirs, and polls are read over others', async () => {
    const device = new Device(server.address, service.application)
    const codes = await Promise.all(Array.from({ length: 10 }, () => device.code()))
    const connected = await connect(service)
    const { unlock } = await lockTable('grants')
    try {
      const form = { refresh_token: connected.refreshToken }
      const refreshed = Array.from({ length: 40 }, () =>
        postNative(server, service.application, '/auth/oauth/refresh', form),
      )
      const first = Promise.race(refreshed).then(() => 'a refresh')
      const polls = codes.map(({ device_code }) => device.poll(device_code).then(({ body }) => body.error))
      expect(await Promise.race([Promise.all(polls), first])).toEqual(codes.map(() => 'auth_pending'))
      for (const { status, body } of await Promise.all(refreshed))
        expect([status, body.error]).toEqual([503, 'unavailable'])
    } finally {
      await unlock()
    }
    const again = { refresh_token: connected.refreshToken }
    expect((await postNative(server, service.application, '/auth/oauth/refresh', again)).status).toBe(200)
  })
})

it('a command waits longer for a connection than a request does', async () => {
  const service = await startTestService()
  const url = new URL(service.database.url)
  const delays = [1_500]
  const proxy = await startFaultProxy({ port: Number(url.port) }, { delayMs: () => delays.shift() ?? 0 })
  url.port = String(proxy.port)
  const environment = makeEnvironment({ DATABASE_URL: url.href })
  const { user_code } = await service.device().code()
  const args = ['code', 'grant', user_code, '--account', service.account.slug, '--user', service.user.email]
  const ended = await runCommand(args, { environment })
  expect([ended.status, ended.stderr]).toEqual([0, ''])
  await proxy.stop()
  await service.stop()
})

const STRACE = spawnSync('strace', ['-V'], { stdio: 'ignore' }).status === 0
if (!STRACE) console.log('slow-postgres.test.ts skips the slow disk: strace is missing')

describe.skipIf(!STRACE)('while every write to the disk takes long', () => {
  let postgres: OwnPostgres
  let context: Context
  let application: MadeApplication
  let server: ServerProcess
  beforeAll(async () => {
    postgres = await startOwnPostgres()
    context = await createContext(makeConfig({ DATABASE_URL: postgres.url }))
    const account = await makeAccount(context.db)
    application = await makeApplication(context.db, context.config, account.slug)
    server = await startServerProcess({ DATABASE_URL: postgres.url })
  })
  afterAll(async () => {
    await server.kill('SIGKILL')
    await closeContext(context)
    postgres.remove()
  })

  /** Delays the end of every fsync of PostgreSQL. */
  async function slowDown(ms: number) {
    const targets = postgres.pids().flatMap((pid) => ['-p', String(pid)])
    const inject = `inject=fsync,fdatasync:delay_exit=${ms * 1000}`
    const args = ['-f', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync', '-e', inject, ...targets]
    const strace = spawnTied('TERM', 'strace', args, { stdio: ['ignore', 'ignore', 'pipe'] })
    const exited = once(strace, 'exit')
    // It says which process it has attached to.
    await once(strace.stderr ?? strace, 'data')
    return {
      end: async () => {
        strace.kill('SIGTERM')
        await exited
      },
    }
  }

  it.each([
    { ms: 500, status: 200 },
    { ms: 4_000, status: 503 },
  ])('F10: by $ms ms: a code request is answered $status, pending polls as fast as ever', async ({ ms, status }) => {
    const device = new Device(server.address, application)
    const code = await device.code()
    expect((await device.poll(code.device_code)).body.error).toBe('auth_pending')
    const slow = await slowDown(ms)
    try {
      const asked = timed(device.request())
      const first = asked.then(() => 'the code request')
      const poll = device.poll(code.device_code).then(({ body }) => body.error)
      expect(await Promise.race([poll, first])).toBe('slow_down')
      const answered = await asked
      expect(answered.result.status).toBe(status)
      expect(answered.ms).toBeGreaterThan(400)
      expect(answered.ms).toBeLessThan(DEADLINE_MS)
    } finally {
      await slow.end()
    }
    await expect.poll(async () => (await device.request()).status, { timeout: 20_000 }).toBe(200)
  })
})
