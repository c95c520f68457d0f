/** AP-01, AP-03: secrets appear in no log and no row. Sends canaries to every endpoint and page, then reads every log and table, and all that Redis was asked. */
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { groupDigits } from '../../../src/core/device/user-code.ts'
import { routes } from '../../../src/http/routes.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { createApplicationSecret } from '../../../src/secrets/application-secret.ts'
import { Device, post } from '../../rig/device.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'
import { type PrivateRedis, startPrivateRedis } from '../../scale/private-redis.ts'

const CANARIES = sized(10_000, 1_000)

let service: TestService
let server: ServerProcess
let engine: PrivateRedis
let redis: Redis
let monitor: Redis
/** All that Redis was asked to do. */
const commands: string[] = []
beforeAll(async () => {
  engine = await startPrivateRedis()
  redis = new Redis(engine.url)
  await redis.config('SET', 'slowlog-log-slower-than', '0')
  await redis.config('SET', 'slowlog-max-len', '100000')
  monitor = await redis.monitor()
  monitor.on('monitor', (_time: string, command: string[]) => commands.push(command.join(' ')))
  service = await startTestService({ REDIS_URL: engine.url }, { listen: false })
  // PostgreSQL's own log at its most verbose: every statement and every error, with all parameters.
  await service.database.query(`do $$ declare setting text; begin
    foreach setting in array array['log_min_error_statement = error', 'log_min_duration_statement = 0',
      'log_parameter_max_length = -1', 'log_parameter_max_length_on_error = -1'] loop
      execute format('alter database %I set ', current_database()) || setting;
    end loop; end $$`)
  server = await startServerProcess({
    DATABASE_URL: service.database.url,
    REDIS_URL: engine.url,
    PUBLIC_URL: service.config.publicUrl,
    LOG_LEVEL: 'debug',
  })
})
afterAll(async () => {
  await server?.kill('SIGTERM')
  await service?.stop()
  monitor?.disconnect()
  redis?.disconnect()
  engine?.stop()
})

it(
  `AP-01, AP-03: ${figure(CANARIES)} canary secrets in query strings of every route, through good and bad requests, are in no log, of ours or of an engine, and in no row`,
  async () => {
    const { id, secret } = service.application
    const account = `${service.account.slug}.${new URL(service.config.publicUrl).host}`
    const places = [
      ...routes.map(({ path }) => ({ path, host: {} })),
      ...pageRoutes.map(({ path }) => ({ path, host: { host: account } })),
    ]
    const canaries = Array.from({ length: CANARIES }, () => createApplicationSecret())
    const statuses = new Set<number>()
    for (const [index, canary] of canaries.entries()) {
      const { path, host } = places[index % places.length] ?? { path: '/', host: {} }
      const query = [
        { SVCappid: id, SVCsecret: canary },
        { SVCappid: id, SVCsecret: canary, device_code: canary },
        { SVCappid: canary, SVCsecret: canary, state: canary.repeat(30) },
        { SVCsecret: canary },
      ][index % 4]
      const method = ['POST', 'POST', 'GET', 'POST', 'DELETE'][index % 5] ?? 'POST'
      const headers = { ...host, authorization: `Bearer ${canary}`, cookie: `__Host-session=${canary}` }
      const where = index % 7 === 0 ? `/nowhere/${canary}` : index % 11 === 0 ? `${path}%2e` : path
      const answer = await post(server.address, where, { method, headers, query: query as Record<string, string> })
      statuses.add(answer.status)
      // A page knows its own address: the form that changes the language leads back to it.
      if (!answer.text.startsWith('<!doctype html>')) expect(answer.text).not.toContain(canary)
    }
    expect([...statuses]).toEqual(expect.arrayContaining([200, 303, 400, 401, 404, 405]))
    expect([...statuses].filter((status) => status >= 500)).toEqual([])

    // Successful requests, too: the real secret in the query, for a whole flow.
    const device = new Device(server.address, service.application)
    const requested = await post(server.address, '/auth/oauth/device/code', { query: { ...device.credentials } })
    const { device_code, user_code } = requested.body
    expect(await service.grant(user_code)).toBe('granted')
    const issued = await post(server.address, '/auth/oauth/device/polling', {
      query: { ...device.credentials, device_code },
    })
    expect(issued.status).toBe(200)

    const hidden = [
      ...canaries,
      secret,
      device_code,
      groupDigits(user_code),
      issued.body.access_token,
      issued.body.refresh_token,
    ]
    const evidence = {
      'the server log': server.log(),
      'the database': await everyRow(),
      'the PostgreSQL log': await engineLog(),
      Redis: await everyKey(device_code),
      'what Redis was asked': commands.join('\n'),
      'the slow log of Redis': JSON.stringify(await redis.slowlog('GET', '100000')),
    }
    expect(evidence['the PostgreSQL log']).toContain('insert into device_codes')
    expect(server.log()).not.toMatch(new RegExp(`\\b${user_code}\\b`))
    for (const [place, text] of Object.entries(evidence)) {
      if (place !== 'Redis') expect([place, text.length > 100]).toEqual([place, true])
      const seen = hidden.filter((value) => text.includes(value))
      expect([place, seen]).toEqual([place, []])
    }
  },
  sized(600_000, 120_000),
)

async function everyRow(): Promise<string> {
  const tables = await service.database.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const dumps = await Promise.all(
    tables.map(({ name }) => service.database.query(`select (t.*)::text as row from public.${name} t`)),
  )
  expect(dumps.flat().length).toBeGreaterThan(10)
  return JSON.stringify(dumps)
}

/** Log of a PostgreSQL on this machine. Fails if it cannot be read. */
async function engineLog(): Promise<string> {
  const [row] = await service.database.query<{ folder: string }>("select current_setting('data_directory') as folder")
  const log = readFileSync(`${row?.folder}/server.log`, 'utf8')
  expect(log).toContain('database system is ready')
  return log
}

async function everyKey(deviceCode: string): Promise<string> {
  const keys = await redis.keys('*')
  expect(keys.join(' ')).not.toContain(deviceCode)
  return keys.join('\n')
}
