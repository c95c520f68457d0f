/** Stored device codes: unique while live, found by index, dropped with their partition. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sweep } from '../../../src/flows/sweep.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { createDeviceCodeId } from '../../../src/secrets/random.ts'
import { digestUserCode } from '../../../src/secrets/user-code.ts'
import {
  findByUserCode,
  insertDeviceCode,
  lockDeviceCode,
  type NewDeviceCode,
  saveDeviceCode,
} from '../../../src/store/device/codes.ts'
import { ensurePartitions } from '../../../src/store/device/partitions.ts'
import type { Queryable } from '../../../src/store/postgres/postgres.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const HOUR = 3_600_000

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterAll(() => service.stop())

const digestsOf = (userCode: string) => digestUserCode(service.config.keys, userCode)

const makeCode = ({ userCode, ...given }: Partial<NewDeviceCode> & { readonly userCode: string }): NewDeviceCode => ({
  id: createDeviceCodeId(Date.now()),
  applicationId: service.application.id,
  variant: 'token_set',
  scopes: ['orders:read'],
  state: '',
  requestedFrom: null,
  requestedWith: null,
  keyId: service.config.keys.signing.id,
  userCodeDigits: userCode.length,
  userCodeDigests: digestsOf(userCode),
  lifetimeMs: 900_000,
  ...given,
})
const insert = (code: NewDeviceCode) => service.context.db.transaction((tx) => insertDeviceCode(tx, code))
const partitions = () =>
  service.database.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'device_codes'::regclass order by 1",
  )

it('a locked code is read by a second transaction only when the first has ended, in its new state', async () => {
  const { db } = service.context
  const id = createDeviceCodeId(Date.now())
  const expiresAt = await insert(makeCode({ id, userCode: '222222228' }))
  if (expiresAt === null) throw new Error('the user code is taken')
  const place = { id, expiresAt }
  const waiting = () =>
    service.database.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from device_codes where id = $1%'",
    )
  let second: ReturnType<typeof lockDeviceCode> | undefined
  await db.transaction(async (tx) => {
    const first = await lockDeviceCode(tx, place)
    if (!first) throw new Error('the code is not there')
    second = db.transaction((other) => lockDeviceCode(other, place))
    await expect.poll(waiting, { timeout: 30_000 }).toHaveLength(1)
    await saveDeviceCode(tx, { ...first.code, claimedBy: service.user.id })
  })
  expect((await second)?.code.claimedBy).toBe(service.user.id)
})

describe('a user code', () => {
  it('DC-24: is live once, also when fifty are inserted at the same instant', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, () => insert(makeCode({ userCode: '000000000' }))),
    )
    const placed = results.filter((result) => result.status === 'fulfilled' && result.value !== null)
    expect(placed).toHaveLength(1)
  })

  it('DC-24: is live once across two partitions', async () => {
    const lifetimes = Array.from({ length: 40 }, (_, index) => 900_000 + (index % 2) * HOUR)
    const results = await Promise.allSettled(
      lifetimes.map((lifetimeMs) => insert(makeCode({ userCode: '111111119', lifetimeMs }))),
    )
    const placed = results.filter((result) => result.status === 'fulfilled' && result.value !== null)
    expect(placed).toHaveLength(1)
  })

  it('DC-24: is live once, also if the process that placed it signs with another key', async () => {
    const userCode = '333333337'
    const rotation = [`${createKey(8)} ${createKey(9)}`].flatMap((keys) => [keys, keys.split(' ').reverse().join(' ')])
    const keysets = rotation.map((keys) => parseKeyset(keys) as Keyset)
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => {
        const keys = keysets[index % 2] ?? service.config.keys
        const lifetimeMs = 900_000 + (index % 4 > 1 ? HOUR : 0)
        const userCodeDigests = digestUserCode(keys, userCode)
        return insert(makeCode({ userCode, userCodeDigests, keyId: keys.signing.id, lifetimeMs }))
      }),
    )
    const placed = results.filter((result) => result.status === 'fulfilled' && result.value !== null)
    expect(placed).toHaveLength(1)
    for (const keys of keysets) {
      expect(await findByUserCode(service.context.db, digestUserCode(keys, userCode))).not.toBeNull()
    }
  })

  it('may be reused once its code was decided', async () => {
    const code = await service.device().code()
    await service.reject(code.user_code)
    expect(await insert(makeCode({ userCode: code.user_code }))).not.toBeNull()
  })

  it('is found by an index in any status, also in later partitions', async () => {
    const before = (await partitions()).length
    await ensurePartitions(service.context.db, Date.now() + 90 * HOUR, Date.now() + 91 * HOUR)
    const all = await partitions()
    expect(all.length).toBeGreaterThan(before)
    const watched: string[] = []
    await service.context.db.transaction(async (tx) => {
      await tx.query('set local enable_seqscan = off')
      const explained: Queryable = {
        query: async (statement) => {
          const { text, values = [] } = statement as { text: string; values?: unknown[] }
          const { rows } = await tx.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
          watched.push(...rows.map((row) => row['QUERY PLAN']))
          return tx.query(statement)
        },
      }
      await findByUserCode(explained, digestsOf('123456784'))
    })
    const scans = watched.filter((line) => /Scan /.test(line) && / on device_codes_/.test(line))
    const [onIndex, whole] = [/(Index Scan|Bitmap Index Scan)/, /Seq Scan/]
    expect(scans.filter((line) => whole.test(line))).toEqual([])
    expect(watched.filter((line) => onIndex.test(line)).length).toBe(all.length)
  })
})

describe('sweeping', () => {
  it('creates partitions ahead, and keeps those that may still be polled', async () => {
    await sweep(service.context.db, service.config)
    const before = await partitions()
    expect(before.length).toBeGreaterThanOrEqual(3)
    await service.database.advance(24 * HOUR)
    const { partitions: dropped } = await sweep(service.context.db, service.config)
    expect(dropped).toEqual([])
  })

  it('DC-21: a code is dropped a day after its expiry, and its uncollected grant is revoked', async () => {
    const device = service.device()
    const [uncollected, collected, lost] = [await device.code(), await device.code(), await device.code()]
    for (const code of [uncollected, collected, lost]) expect(await service.grant(code.user_code)).toBe('granted')
    expect((await device.poll(collected.device_code)).status).toBe(200)
    // As left by a process that died right after answering: leased, never confirmed. The client may hold the tokens.
    await service.database.query(
      `update device_codes set lease_id = gen_random_uuid(), leased_until = test_clock.now(), outcome = 'accepted'
       where user_code_digest = $1`,
      [...digestsOf(lost.user_code)],
    )
    await service.database.advance(26 * HOUR)
    await service.context.applications.refresh()
    expect((await device.poll(uncollected.device_code)).body.error).toBe('invalid')
    const result = await sweep(service.context.db, service.config)
    expect(result.partitions.length).toBeGreaterThan(0)
    expect(result.revokedGrants).toBe(1)
    const rows = await service.database.query('select revocation_reason from grants order by created_at')
    expect(rows.slice(-3)).toEqual([
      { revocation_reason: 'never_collected' },
      { revocation_reason: null },
      { revocation_reason: null },
    ])
    const events = await service.database.query("select detail from audit_events where kind = 'grant.revoked'")
    expect(events).toEqual([{ detail: { reason: 'never_collected' } }])
  })

  it('may run in many processes at once', async () => {
    await service.database.advance(48 * HOUR)
    await Promise.all([1, 2, 3, 4].map(() => sweep(service.context.db, service.config)))
    expect((await service.device().request()).status).toBe(200)
  })

  it('a code request finds its partition even without a sweep for a month', async () => {
    await service.database.advance(30 * 24 * HOUR)
    const requests = await Promise.all(Array.from({ length: 8 }, () => service.device().request()))
    expect(requests.map((answer) => answer.status)).toEqual(requests.map(() => 200))
  })
})
