/** PostgreSQL counts what model/evidence-windows.ts counts, for random histories. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { networkOf } from '../../../src/core/network.ts'
import { spanOf } from '../../../src/core/reviews/evidence.ts'
import type { Thresholds } from '../../../src/core/reviews/suspension.ts'
import { addEarlyPolls, forgetEarlyPolls } from '../../../src/store/reviews/early-polls.ts'
import { listSuspects, readFactor, readReports, readWindows } from '../../../src/store/reviews/evidence.ts'
import { readOverloads } from '../../../src/store/reviews/overloads.ts'
import { gatherWindows, type Observation } from '../../model/evidence-windows.ts'
import { makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { NOW } from '../../rig/records.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { defaultThresholds } from '../../rig/thresholds.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE

let service: TestService
/** Of these ages in days; the first is the application's own account. */
const AGES = [900, 900, 31, 30, 29, 1, 900, 400, 200, 60] as const
let accounts: { id: string; userId: string; createdAt: number; own: boolean }[]
let applicationId: string

beforeAll(async () => {
  service = await startTestService({}, { listen: false })
  const { db } = service.context
  applicationId = service.application.id
  accounts = []
  for (const [index, days] of AGES.entries()) {
    const account = index === 0 ? service.account : await makeAccount(db)
    const user = index === 0 ? service.user : await makeUser(db, account.slug)
    const createdAt = NOW - days * DAY
    await service.database.query('update accounts set created_at = $2 where id = $1', [account.id, new Date(createdAt)])
    accounts.push({ id: account.id, userId: user.id, createdAt, own: index === 0 })
  }
})
afterAll(() => service.stop())

type Happened = {
  readonly account: number
  readonly ageMs: number
  readonly address: string | null
  /** Null: it was never early. */
  readonly earlyPolls: number | null
  readonly dialog: boolean
}

/** Grants and early polls as rows: a thousand requests would take too long. */
async function writeDown(happened: readonly Happened[]): Promise<void> {
  await service.database.query('truncate early_polls')
  await service.database.query('delete from grants where application_id = $1', [applicationId])
  const codes = happened.map(() => randomUUID())
  await service.database.query(
    `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, device_code_id, dialog_id, key_id, created_at,
       requested_from)
     select 'grt_' || left(md5(gen_random_uuid()::text), 20), gen_random_uuid(), account_id, user_id, $1, 'token_set', '{}', case when not dialog then code end,
       case when dialog then code end, 1, at, address
     from unnest($2::text[], $3::text[], $4::uuid[], $5::boolean[], $6::timestamptz[], $7::inet[])
       as happened(account_id, user_id, code, dialog, at, address)`,
    [
      applicationId,
      happened.map(({ account }) => accounts[account]?.id),
      happened.map(({ account }) => accounts[account]?.userId),
      codes,
      happened.map(({ dialog }) => dialog),
      happened.map(({ ageMs }) => new Date(NOW - ageMs)),
      happened.map(({ address }) => address),
    ],
  )
  const early = happened.flatMap(({ earlyPolls: polls }, index) =>
    polls === null ? [] : [{ deviceCodeId: codes[index] ?? '', applicationId, polls }],
  )
  if (early.length > 0) await addEarlyPolls(service.context.db, early)
}

function observed(happened: readonly Happened[]): Observation[] {
  return happened
    .filter(({ dialog }) => !dialog)
    .map(({ account, ageMs, address, earlyPolls }) => {
      const { id, createdAt, own } = accounts[account] ?? { id: '', createdAt: 0, own: false }
      const about = { accountId: id, accountCreatedAt: createdAt, own, network: networkOf(address) }
      return { ...about, grantedAt: NOW - ageMs, earlyPolls: earlyPolls ?? 0 }
    })
}

const anyAddress = fc.oneof(
  fc.constant(null),
  fc.tuple(fc.nat(20), fc.nat(255)).map(([network, host]) => `203.0.${network}.${host}`),
  fc.tuple(fc.nat(6), fc.nat(9)).map(([network, host]) => `2001:db8:${network}::${host}`),
)
const anythingHappened: fc.Arbitrary<Happened[]> = fc.array(
  fc.record({
    account: fc.nat(AGES.length - 1),
    // Whole seconds around the edges of windows, and any time between.
    ageMs: fc.oneof(
      fc.nat(50).map((minutes) => minutes * MINUTE),
      fc.nat(50 * MINUTE),
    ),
    address: anyAddress,
    earlyPolls: fc.option(fc.integer({ min: 1, max: 12 })),
    dialog: fc.boolean(),
  }),
  { maxLength: 80 },
)
const anyThresholds: fc.Arbitrary<Thresholds> = fc
  .record({
    windowMinutes: fc.integer({ min: 5, max: 20 }),
    windows: fc.integer({ min: 2, max: 6 }),
    earlyPolls: fc.integer({ min: 1, max: 12 }),
    accountAgeDays: fc.constantFrom(1, 29, 30, 31, 60),
  })
  .map((some) => ({ ...defaultThresholds, ...some }))

async function readThrough(thresholds: Thresholds, now: number, codeLifetimeMs: number) {
  const { db } = service.context
  const span = spanOf(now, thresholds)
  const overloads = await readOverloads(db, span.from - codeLifetimeMs - MINUTE, span.to)
  const read = await readWindows(db, [applicationId], span, { overloads, codeLifetimeMs }, thresholds)
  return read.get(applicationId)
}

it('agrees with the model on random grants, early polls, overloads and decisions', async () => {
  const { database } = service
  const minutes = fc.uniqueArray(fc.nat(80), { maxLength: 2 })
  const property = fc.asyncProperty(
    anythingHappened,
    anyThresholds,
    minutes,
    fc.option(fc.nat(45 * MINUTE)),
    fc.nat(10 * MINUTE),
    async (happened, thresholds, overloadedMinutes, closedAgeMs, sinceNow) => {
      await writeDown(happened)
      const overloads = overloadedMinutes.map((minute) => NOW - minute * MINUTE)
      await database.query('truncate overloads')
      for (const minute of overloads) await database.query('insert into overloads values ($1, 7)', [new Date(minute)])
      await database.query('delete from reviews')
      const since = closedAgeMs === null ? 0 : NOW - closedAgeMs
      if (closedAgeMs !== null) await insertClosedReview(since)
      const now = NOW + sinceNow
      const options = { now, since, overloads, codeLifetimeMs: 900_000 }
      expect(await readThrough(thresholds, now, 900_000)).toEqual(
        gatherWindows(observed(happened), options, thresholds),
      )
    },
  )
  await fc.assert(property, { numRuns: 150 })
})

function insertClosedReview(closedAt: number) {
  return service.database.query(
    `insert into reviews (id, application_id, opened_at, reason, verdict, harm, evidence, thresholds, judged_at,
       last_escalated_at, closed_at)
     values ('rev_000000000000', $1, $2, 'polling', 'warn', 1, '{}', '{}', $2, $2, $2)`,
    [applicationId, new Date(closedAt)],
  )
}

it('keeps applications apart', async () => {
  await service.database.query('delete from reviews')
  await service.database.query('truncate overloads')
  const other = await makeApplication(service.context.db, service.config, service.account.slug)
  await writeDown([{ account: 1, ageMs: MINUTE, address: '192.0.2.1', earlyPolls: 30, dialog: false }])
  const span = spanOf(NOW, defaultThresholds)
  const read = await readWindows(
    service.context.db,
    [applicationId, other.id],
    span,
    { overloads: [], codeLifetimeMs: 0 },
    defaultThresholds,
  )
  expect([read.get(applicationId)?.touched, read.get(other.id)?.touched]).toEqual([1, 0])
})

describe('early polls', () => {
  it('are added up, and deleted after two days', async () => {
    const { database } = service
    await database.query('truncate early_polls')
    const [code, old] = [randomUUID(), randomUUID()]
    const of = (deviceCodeId: string, polls: number) => ({ deviceCodeId, applicationId, polls })
    await Promise.all([
      addEarlyPolls(service.context.db, [of(code, 3), of(old, 1)]),
      addEarlyPolls(service.context.db, [of(old, 1), of(code, 4)]),
    ])
    await database.query("update early_polls set last_at = now() - interval '49 hours' where device_code_id = $1", [
      old,
    ])
    await forgetEarlyPolls(service.context.db)
    expect(await database.query('select device_code_id as id, polls from early_polls')).toEqual([
      { id: code, polls: 7 },
    ])
  })

  it('make an application a suspect only if a code ignored slow_down recently', async () => {
    const { context, database } = service
    await database.query('truncate early_polls')
    const suspects = () => listSuspects(context.db, Date.now() - 30 * MINUTE, defaultThresholds)
    await addEarlyPolls(context.db, [{ deviceCodeId: randomUUID(), applicationId, polls: 19 }])
    expect(await suspects()).toEqual([])
    await addEarlyPolls(context.db, [{ deviceCodeId: randomUUID(), applicationId, polls: 20 }])
    expect(await suspects()).toEqual([applicationId])
    await database.query("update early_polls set last_at = now() - interval '31 minutes'")
    expect(await suspects()).toEqual([])
  })
})

describe('reports', () => {
  const report = (accountId: string, kind: string, ago = '1 hour') =>
    service.database.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, application_id) values (now() - $4::interval, $1, 'service', 'test', 'job', $2, $3)",
      [kind, accountId, applicationId, ago],
    )
  const count = async () => (await readReports(service.context.db, [applicationId], Date.now())).get(applicationId) ?? 0

  it('are counted per account, in the last day, since the last decision', async () => {
    expect(await count()).toBe(0)
    const [one = '', two = '', three = ''] = accounts.map(({ id }) => id)
    await report(one, 'code.reported')
    await report(one, 'application.reported')
    await report(two, 'credential.reported')
    await report(two, 'code.rejected')
    await report(three, 'code.crowd', '25 hours')
    expect(await count()).toBe(2)
    await report(three, 'code.crowd')
    expect(await count()).toBe(3)
    await insertClosedReview(Date.now() - 30 * MINUTE)
    expect(await count()).toBe(0)
  })
})

it('the factor is the number of polls divided by the allowed number', async () => {
  const factor = (from = Date.now() - 30 * MINUTE) => readFactor(service.context.db, applicationId, from)
  expect(await factor()).toBeNull()
  for (let poll = 0; poll < 10; poll += 1) {
    service.context.usage.count(applicationId, 'polls')
    if (poll < 5) service.context.usage.count(applicationId, 'earlyPolls')
  }
  await service.context.usage.save()
  expect(await factor()).toBe(2)
  expect(await factor(Date.now() + 10 * MINUTE)).toBeNull()
})
