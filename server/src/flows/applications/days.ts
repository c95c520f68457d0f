/**
 * Grants of applications per day, for charts. A day is counted when it is over, by one process; of busy applications,
 * today is counted again and again. Pages count what is left: today of the other applications
 * (docs/history.md#0048).
 */
import type { Series } from '../../core/reviews/review.ts'
import { listApplicationIds } from '../../store/applications/applications.ts'
import {
  type DayCounts,
  type DayFacts,
  findUncountedDay,
  insertCountedDay,
  listBusyIds,
  readDayFacts,
  saveDays,
} from '../../store/applications/days.ts'
import { type DayPoint, readDays } from '../../store/applications/series.ts'
import { readClock } from '../../store/device/partitions.ts'
import { tryLockByName } from '../../store/postgres/advisory-locks.ts'
import { allowLongQueries, type Queryable, type Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

/** Days that charts show, including today. */
const DAYS = 30

const DAY_MS = 24 * 60 * 60 * 1000

/** Applications per statement: bounds its duration and the addresses in memory. */
const BATCH = 200

/** From this many grants a day on, counting them takes a page too long. */
const BUSY = 500

type Counting = Pick<Context, 'db' | 'geoip'>

/** One transaction per day, so that a failure loses one day's work at most. */
export async function countDays(context: Counting): Promise<void> {
  while (await context.db.transaction((tx) => countNextDay(context, tx))) {}
  await context.db.transaction((tx) => countToday(context, tx))
}

async function countNextDay(context: Counting, tx: Transaction): Promise<boolean> {
  if (!(await tryLockByName(tx, 'counting_days'))) return false
  const day = await findUncountedDay(tx, DAYS - 1)
  if (day === null) return false
  await countBatches(context, tx, day, (after) => listApplicationIds(tx, after, BATCH))
  await insertCountedDay(tx, day)
  return true
}

/**
 * Takes another lock than `countNextDay`. With the same one, a process that counts today would stop the process that
 * counts past days, and days would be left until the next run.
 */
async function countToday(context: Counting, tx: Transaction): Promise<void> {
  if (!(await tryLockByName(tx, 'counting_today'))) return
  const today = startOfDay(await readClock(tx))
  await countBatches(context, tx, today, (after) => listBusyIds(tx, today, { after, grants: BUSY, limit: BATCH }))
}

async function countBatches(
  { geoip }: Counting,
  tx: Transaction,
  day: number,
  nextIds: (after: string) => Promise<readonly string[]>,
): Promise<void> {
  await allowLongQueries(tx)
  let ids = await nextIds('')
  while (ids.length > 0) {
    const facts = await readDayFacts(tx, ids, { from: day, days: 1 })
    await saveDays(
      tx,
      day,
      facts.map((each) => ({ applicationId: each.applicationId, ...countsOf(geoip, each) })),
    )
    ids = await nextIds(ids.at(-1) ?? '')
  }
}

function startOfDay(now: number): number {
  return now - (now % DAY_MS)
}

const NOTHING: DayCounts = { entered: 0, granted: 0, rejected: 0, newUsers: 0, networks: 0, countries: 0 }

/** The last thirty days of one application, including today. */
export async function readDaySeries(
  { geoip }: Pick<Context, 'geoip'>,
  db: Queryable,
  applicationId: string,
): Promise<Series['days']> {
  const points = await readDays(db, applicationId, DAYS)
  const uncounted = await readUncounted(db, applicationId, points)
  return points.map(({ counts, ...point }) => {
    const facts = uncounted.get(point.day)
    return { ...point, ...(counts ?? (facts ? countsOf(geoip, facts) : NOTHING)) }
  })
}

/** Usually today alone; all of them until the first days of a new installation were counted. */
async function readUncounted(
  db: Queryable,
  applicationId: string,
  points: readonly DayPoint[],
): Promise<ReadonlyMap<number, DayFacts>> {
  const first = points.findIndex(({ counts }) => counts === null)
  const from = points[first]?.day
  if (from === undefined) return new Map()
  const facts = await readDayFacts(db, [applicationId], { from, days: points.length - first })
  return new Map(facts.map((each) => [each.day, each]))
}

function countsOf(geoip: Context['geoip'], facts: DayFacts): DayCounts {
  const { entered, granted, rejected, newUsers, networks, addresses } = facts
  const countries = new Set(
    addresses.map((address) => geoip.find(address).country).filter((country) => country !== null),
  )
  return { entered, granted, rejected, newUsers, networks, countries: countries.size }
}
