/** SC-02: PostgreSQL, Redis and their logs contain no user code in any spelling, nor a hash from which it can be guessed. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { groupDigits } from '../../../src/core/device/user-code.ts'
import { showDeviceCode } from '../../../src/flows/device/decide.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { makeSignedInUser } from '../../rig/signed-in.ts'
import { textOf } from '../../rig/web.ts'
import { digestOf } from '../../rig/witness.ts'
import { type PrivateRedis, startPrivateRedis } from '../../scale/private-redis.ts'

let service: TestService
let engine: PrivateRedis
let redis: Redis
let monitor: Redis
const commands: string[] = []
beforeAll(async () => {
  engine = await startPrivateRedis()
  redis = new Redis(engine.url)
  monitor = await redis.monitor()
  monitor.on('monitor', (_time: string, command: string[]) => commands.push(command.join(' ')))
  service = await startTestService({ REDIS_URL: engine.url, TRUST_PROXY: '127.0.0.1' })
  // PostgreSQL logs every statement with its parameters.
  await service.database.query(`do $$ begin
    execute format('alter database %I set log_min_duration_statement = 0', current_database()); end $$`)
  // The setting applies to new sessions only, so the open ones are ended.
  await service.database.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  )
  await vi.waitFor(() => service.context.db.query('select 1'), 10_000)
})
afterAll(async () => {
  await service?.stop()
  monitor?.disconnect()
  redis?.disconnect()
  engine?.stop()
})

const HASHES = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'sha3-256'] as const

/** The digits as text, as a number, encoded, and hashed without a key. */
function spellings(userCode: string): readonly RegExp[] {
  const bytes = Buffer.from(userCode)
  const number = Buffer.alloc(8)
  number.writeBigUInt64BE(BigInt(userCode))
  const separated = [' ', '-', '.', '\u00a0', '_'].map((mark) => groupDigits(userCode).replaceAll(' ', mark))
  const arabic = Array.from(userCode, (digit) => String.fromCodePoint(0x660 + Number(digit))).join('')
  const hashed = HASHES.map((name) => createHash(name).update(userCode).digest().subarray(0, 16))
  const encoded = [bytes, ...hashed].flatMap((each) => [
    each.toString('hex'),
    each.toString('base64').replaceAll('=', '').slice(0, -1),
    each.toString('base64url').slice(0, -1),
  ])
  const [digits, others] = [
    [userCode, ...separated, arabic],
    [...encoded, number.toString('hex')],
  ]
  const escaped = (text: string) => text.replace(/[.+/\\]/g, '\\$&')
  return [
    // Not inside a longer number: nine digits of a hash may be equal by chance.
    ...digits.map((text) => new RegExp(`(?<![0-9a-f])${escaped(text)}(?![0-9a-f])`)),
    ...others.map((text) => new RegExp(escaped(text))),
  ]
}

async function everyRow(): Promise<string> {
  const tables = await service.database.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  )
  const dumps = await Promise.all(
    tables.map(({ name }) => service.database.query(`select (t.*)::text as row from public.${name} t`)),
  )
  return JSON.stringify(dumps)
}

/** Contents, too: `DUMP` returns the bytes of a value of any type. */
async function everyKey(): Promise<string> {
  const keys = await redis.keys('*')
  const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)))
  return [...keys, ...values.map((value) => value?.toString('latin1') ?? '')].join('\n')
}

async function statements(): Promise<string> {
  const [row] = await service.database.query<{ folder: string }>("select current_setting('data_directory') as folder")
  return readFileSync(`${row?.folder}/server.log`, 'utf8').slice(-5_000_000)
}

it('SC-02: no code, whether requested, entered, granted, rejected or collected, can be read or guessed offline', async () => {
  const device = service.device()
  const [waiting, entered, granted, rejected, collected, shown] = [
    await device.code(),
    await device.code(),
    await device.code(),
    await device.code(),
    await device.code(),
    await device.code(),
  ]
  const codes = [waiting, entered, granted, rejected, collected, shown].map(({ user_code }) => user_code)
  for (const { device_code } of [waiting, entered]) await device.poll(device_code)
  // From another network, so that the last group has to be typed again.
  const { web } = await makeSignedInUser(service, { headers: { 'x-forwarded-for': '198.51.100.7' } })
  const decide = async (userCode: string, decision: string) => {
    await web.enterCode(groupDigits(userCode))
    return web.submit('/connect/decision', { decision, last_group: groupDigits(userCode).split(' ').at(-1) ?? '' })
  }
  const question = await web.enterCode(entered.user_code)
  expect(textOf(question.text), 'the user sees the digits that were typed').toContain(
    groupDigits(entered.user_code).slice(0, -4),
  )
  await web.enterCode(entered.user_code.replace(/^\d/, (digit) => String((Number(digit) + 1) % 10)))
  expect((await decide(granted.user_code, 'allow')).status).toBe(200)
  expect((await decide(rejected.user_code, 'cancel')).status).toBe(200)
  expect((await decide(collected.user_code, 'allow')).status).toBe(200)
  expect((await device.poll(collected.device_code)).status).toBe(200)
  expect(await showDeviceCode(service.context.db, service.config.keys, shown.user_code)).not.toBeNull()

  const evidence = {
    PostgreSQL: await everyRow(),
    'the log of PostgreSQL': await statements(),
    Redis: await everyKey(),
    'what Redis was asked': commands.join('\n'),
  }
  expect(evidence.PostgreSQL, 'the rows are there').toContain(digestOf(service, waiting.user_code)?.toString('hex'))
  expect(evidence['the log of PostgreSQL']).toContain('insert into device_codes')
  for (const [place, text] of Object.entries(evidence)) {
    expect([place, text.length > 100]).toEqual([place, true])
    const seen = codes.flatMap((code) => spellings(code).filter((spelling) => spelling.test(text)))
    expect([place, seen]).toEqual([place, []])
  }
  const rows = await service.database.query<{ status: string }>('select status from device_codes order by status')
  expect(rows.map(({ status }) => status)).toEqual(['accepted', 'pending', 'pending', 'pending', 'rejected', 'used'])
})
