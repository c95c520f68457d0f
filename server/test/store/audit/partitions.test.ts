/** Monthly partitions of the audit log: created ahead, each with its triggers, and pruned in queries. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { byService } from '../../../src/core/audit/actor.ts'
import { makePartitionsAhead } from '../../../src/flows/sweep.ts'
import { recordEvent } from '../../../src/store/audit/events.ts'
import { listEvents } from '../../../src/store/audit/listed.ts'
import { countMissingMonths, ensureAuditPartitions, listAuditPartitions } from '../../../src/store/audit/partitions.ts'
import { readSealable } from '../../../src/store/audit/seals.ts'
import { readAnnouncedDecisions } from '../../../src/store/device/decision-feed.ts'
import { openPostgres, type Postgres, type Queryable } from '../../../src/store/postgres/postgres.ts'
import { monthAgo, openLog } from '../../rig/audit.ts'
import { createTestDatabase, type TestDatabase } from '../../rig/engines/database.ts'
import { makeConfig } from '../../rig/make.ts'

const HOUR = 60 * 60 * 1000

let database: TestDatabase
let db: Postgres
beforeAll(async () => {
  database = await createTestDatabase({ clock: true })
  db = openPostgres(database.url, 2)
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

/** Keeps others from creating partitions meanwhile. */
const sleepUntil = (moment: string) => database.query(`update test_clock.ahead set by = '${moment}' - pg_catalog.now()`)

const placed = async () => {
  const rows = await database.query<{ partition: string }>(
    'select tableoid::regclass::text as partition from audit_events order by id',
  )
  return rows.map(({ partition }) => partition)
}

describe('at the end of a month', () => {
  it('an event is in the partition of the moment at which its transaction began', async () => {
    const log = openLog(database, makeConfig({ DATABASE_URL: database.url }).keys)
    const [month, next] = [monthAgo(0), monthAgo(-1)].map((each) => `audit_events_${each.replace('-', '')}`)
    await sleepUntil(new Date(Date.parse(`${monthAgo(-1)}-01T00:00:00Z`) - 2_000).toISOString())
    await db.transaction(async (tx) => {
      await tx.query('select now()')
      await log.record({})
      await sleep(2_500)
      await log.record({})
      await recordEvent(tx, { kind: 'session.started', actor: byService('test') })
    })
    expect(await placed()).toEqual([month, next, month])
    await log.seal()
    expect(await log.verify()).toMatchObject({ problem: null, verified: 3 })
    await log.close()
  })

  it('an event two months later has a partition, created ahead', async () => {
    await sleepUntil(`${monthAgo(-2)}-28T23:59:59Z`)
    const log = openLog(database, makeConfig({ DATABASE_URL: database.url }).keys)
    await log.record({})
    expect((await placed()).at(-1)).toBe(`audit_events_${monthAgo(-2).replace('-', '')}`)
    await log.close()
  })
})

describe('when no partitions were created for months', () => {
  it('no event can be recorded until the service starts or sweeps', async () => {
    await sleepUntil(`${monthAgo(-5)}-10T00:00:00Z`)
    expect(await countMissingMonths(db)).toEqual({ now: true, count: 2 })
    const log = openLog(database, makeConfig({ DATABASE_URL: database.url }).keys)
    await expect(log.record({})).rejects.toThrow('no partition of relation "audit_events" found for row')
    await makePartitionsAhead(db, HOUR)
    await log.record({})
    expect(await countMissingMonths(db)).toEqual({ now: false, count: 0 })
    await log.close()
  })

  it('it is detected before', async () => {
    await sleepUntil(`${monthAgo(-7)}-10T00:00:00Z`)
    expect(await countMissingMonths(db)).toEqual({ now: false, count: 1 })
  })

  it('ten processes at the same moment create each once', async () => {
    await sleepUntil(`${monthAgo(-12)}-10T00:00:00Z`)
    const each = Array.from({ length: 10 }, () => openPostgres(database.url, 1))
    await Promise.all(each.map((one) => ensureAuditPartitions(one)))
    await Promise.all(each.map((one) => one.close()))
    expect(await countMissingMonths(db)).toEqual({ now: false, count: 0 })
    const names = (await listAuditPartitions(db)).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('with three years of months', () => {
  const planOf = async (work: (explained: Queryable) => Promise<unknown>): Promise<readonly string[]> => {
    const plan: string[] = []
    await many.transaction(async (tx) => {
      await tx.query('set local enable_seqscan = off')
      await work({
        query: async (statement, values) => {
          const { text, values: given } = typeof statement === 'string' ? { text: statement, values } : statement
          const { rows } = await tx.query<{ 'QUERY PLAN': string }>(
            `explain (analyze, costs off) ${text}`,
            given as unknown[],
          )
          plan.push(...rows.map((row) => row['QUERY PLAN']))
          return tx.query(text, given as unknown[])
        },
      })
    })
    return plan
  }
  const scanned = (plan: readonly string[]) =>
    plan.filter((line) => /Scan .*on audit_events_\d/.test(line) && !/never executed/.test(line))

  let old: TestDatabase
  let many: Postgres
  beforeAll(async () => {
    old = await createTestDatabase()
    many = openPostgres(old.url, 2)
    await old.query(
      `select make_audit_partitions(date_trunc('month', now(), 'UTC') - ago * interval '1 month') from generate_series(3, 36) ago`,
    )
  })

  afterAll(async () => {
    await many.close()
    await old.drop()
  })

  it('the decision feed, which every process reads four times a second, scans only the last two and future ones', async () => {
    const months = (await listAuditPartitions(many)).filter(({ parent }) => parent === 'audit_events')
    expect(months.length).toBeGreaterThan(36)
    const plan = await planOf((explained) => readAnnouncedDecisions(explained, '1:100:7'))
    const old = scanned(plan).filter(
      (line) => (/audit_events_(\d{6})/.exec(line)?.[1] ?? '') < monthAgo(1).replace('-', ''),
    )
    expect(old).toEqual([])
    expect(plan.filter((line) => /Seq Scan/.test(line))).toEqual([])
  })

  it.each([
    ['sealing', (tx: Queryable) => readSealable(tx as never, null, 10)],
    [
      'a page of an account’s log',
      (tx: Queryable) =>
        listEvents(
          tx,
          {
            accountId: 'acc_000000000000',
            kinds: null,
            userIds: null,
            applicationIds: null,
            requestId: null,
            from: null,
            until: null,
          },
          { after: 3, max: 50, order: 'newest_first' },
        ),
    ],
  ])('%s finds its rows by an index in each', async (_, work) => {
    const plan = await planOf(work)
    expect(plan.filter((line) => /Seq Scan on audit/.test(line))).toEqual([])
    expect(plan.filter((line) => /Index .*Scan .*audit_events_/.test(line)).length).toBeGreaterThan(0)
  })
})
