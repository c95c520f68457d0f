/** DC-08, counted exactly: engines of this file's own, no background work, nothing but the attack. */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createRedis } from '../../../../tools/engine-processes.ts'
import { freePort } from '../../../../tools/free-port.ts'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { pollDeviceCode } from '../../../src/flows/device/poll.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { signDeviceCode } from '../../../src/secrets/device-code-text.ts'
import { createDeviceCodeId } from '../../../src/secrets/random.ts'
import { Device } from '../../rig/device.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-made-up-'))
chmodSync(folder, 0o755)
const redis = createRedis(folder, await freePort())

let service: TestService
let counter: Redis
let witness: pg.Client
beforeAll(async () => {
  redis.start()
  service = await startTestService({ REDIS_URL: redis.url }, { listen: false })
  counter = new Redis(redis.url)
  witness = new pg.Client({ connectionString: engineUrl('DATABASE_URL') })
  await witness.connect()
  await sleep(300)
})
afterAll(async () => {
  counter.disconnect()
  await witness.end()
  await service.stop()
  redis.stop('SIGTERM')
  removeFolder(folder)
})

/** What the engines were asked so far. PostgreSQL is asked from another database, so that asking does not count. */
async function questions(): Promise<{ postgresql: number; redis: number }> {
  // A backend reports its statistics at most once a second.
  await sleep(1_500)
  const { rows } = await witness.query<{ count: string }>(
    'select (xact_commit + xact_rollback)::text as count from pg_stat_database where datname = $1',
    [new URL(service.database.url).pathname.slice(1)],
  )
  const commands = Number(/total_commands_processed:(\d+)/.exec(await counter.info('stats'))?.[1])
  return { postgresql: Number(rows[0]?.count), redis: commands }
}

const BY_FLOW = sized(1_000_000, 20_000)
const BY_HTTP = sized(10_000, 1_000)
const LANES = 64

it(`DC-08: ${figure(BY_FLOW)} made-up codes, and ${figure(BY_HTTP)} more over HTTP, are refused without a question to either engine`, async () => {
  const { context, application, config } = service
  const { id: applicationId, secret } = application
  const poll = (deviceCode: string) =>
    pollDeviceCode(context, {
      applicationId,
      secret,
      deviceCode,
      variant: 'token_set',
      idempotencyKey: null,
      wait: null,
    })
  const expiresAt = Date.now() + 900_000
  const genuine = {
    id: createDeviceCodeId(Date.now()),
    applicationId,
    variant: 'token_set' as const,
    expiresAt,
  }
  const text = signDeviceCode(config.keys, { ...genuine, intervalSeconds: 5 })

  // Idle connections report what they did before, here the set-up, only when they close after ten seconds.
  await sleep(12_000)
  const bytes = Buffer.from(text.slice('lkd_0000'.length), 'base64url')
  const noise = randomBytes(1 << 20)
  let refused = 0
  const asked: { postgresql: number; redis: number }[] = []
  let after = await questions()
  // Key, variant and interval are right: the id, the end of the expiry and the MAC are guessed.
  const makeUp = (attempt: number) => {
    noise.copy(bytes, 1, (attempt * 37) % 1_000_000, ((attempt * 37) % 1_000_000) + 16)
    bytes.writeUInt32BE(attempt, 23)
    noise.copy(bytes, 27, (attempt * 101) % 1_000_000, ((attempt * 101) % 1_000_000) + 14)
    return `lkd_0000${bytes.toString('base64url')}`
  }
  for (let attempt = 0; attempt < BY_FLOW; attempt += 1) {
    if ((await poll(makeUp(attempt))).outcome === 'invalid') refused += 1
    if ((attempt + 1) % (BY_FLOW / 4) !== 0) continue
    const before = after
    after = await questions()
    asked.push({ postgresql: after.postgresql - before.postgresql, redis: after.redis - before.redis })
  }
  expect(refused).toBe(BY_FLOW)
  // The one command is the counting itself. PostgreSQL's own housekeeping may fall into one quarter or two, not into all.
  expect(asked.map(({ redis: commands }) => commands)).toEqual([1, 1, 1, 1])
  expect(asked).toContainEqual({ postgresql: 0, redis: 1 })
  for (const { postgresql } of asked) expect(postgresql).toBeLessThan(10)

  const http = createHttpServer(context, false)
  const device = new Device(await http.listen('127.0.0.1', 0), application)
  const answers: Record<string, number> = {}
  let attempt = BY_FLOW
  const lanes = Array.from({ length: LANES }, async () => {
    while (attempt < BY_FLOW + BY_HTTP) {
      const { status, text } = await device.poll(makeUp(attempt++))
      const answer = `${status} ${text}`
      answers[answer] = (answers[answer] ?? 0) + 1
    }
  })
  await Promise.all(lanes)
  await http.close()
  expect(Object.values(answers), 'one answer for all').toEqual([BY_HTTP])
  expect(Object.keys(answers)[0]).toMatch(/^400 \{"error":"invalid",/)
  const before = after
  after = await questions()
  expect(after.redis - before.redis).toBe(1)
  expect(after.postgresql - before.postgresql).toBeLessThan(10)

  // And the counters can count: the genuine one is asked about, in both.
  await poll(text)
  const once = await questions()
  expect(once.postgresql - after.postgresql).toBeGreaterThan(0)
  expect(once.redis - after.redis).toBeGreaterThan(1)
}, 180_000)
