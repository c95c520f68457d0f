/**
 * The end of a month: users remove what is left, every webhook arrives, old months of the audit log are archived, and the clock
 * of the database goes on by 31 days, so that the retention of each table applies. What remains is measured.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { detachMonth } from '../../../src/flows/audit/detach.ts'
import { sweep } from '../../../src/flows/sweep.ts'
import { listAuditPartitions } from '../../../src/store/audit/partitions.ts'
import { openSession } from '../../../src/store/postgres/postgres.ts'
import type { TestService } from '../../rig/service.ts'
import { judgeRows } from '../judge-rows.ts'
import { type Figures, measureSizes } from './figures.ts'
import type { Person } from './person.ts'

const HOUR = 60 * 60 * 1000
const MONTH = 31 * 24 * HOUR

/** Longer than all pauses between attempts at a webhook but the last one. */
const MAX_CHECKS = 40

/** Processes notice within two seconds that the clock has moved. */
const NOTICED_MS = 3_000

export type MonthEnd = { readonly figures: Figures; readonly problems: readonly string[] }

export async function endMonth(service: TestService, people: readonly Person[]): Promise<MonthEnd> {
  const { database, context } = service
  for (const person of people) await person.removeAll()
  const waiting = await deliverAll(service)
  const found = await judgeRows(service)
  const problems = found.map(({ kind, text }) => `${kind}: ${text}`)
  if (waiting > 0) problems.push(`${waiting} webhooks were not delivered`)
  problems.push(...(await archiveMonths(service)))
  await database.advance(MONTH)
  await sweep(context.db, service.config)
  // What autovacuum does in a month.
  await database.query('vacuum')
  const figures = await measureSizes(database)
  await sleep(NOTICED_MS)
  for (const person of people) await person.signIn()
  return { figures, problems }
}

/** Webhooks that are left. Attempts that were put off are due when the clock moves. */
async function deliverAll({ database }: TestService): Promise<number> {
  for (let look = 0; ; look += 1) {
    const [row] = await database.query<{ waiting: number }>(
      'select count(*)::int as waiting from webhook_deliveries where delivered_at is null',
    )
    if (row?.waiting === 0 || look === MAX_CHECKS) return row?.waiting ?? 0
    await sleep(1_500)
    if (look % 3 === 2) await database.advance(HOUR)
  }
}

/** All but the current one: detached and dropped, as docs/operations/audit-log.md, "Archiving" says. */
async function archiveMonths({ database, context, config }: TestService): Promise<readonly string[]> {
  const [row] = await database.query<{ month: string }>("select to_char(now(), 'YYYY-MM') as month")
  const session = await openSession(database.url)
  try {
    const months = (await listAuditPartitions(session)).map(({ month }) => month)
    for (const month of new Set(months.filter((each) => each < (row?.month ?? '')))) {
      const detached = await detachMonth({ session, db: context.db, keys: config.keys }, month)
      if (detached.outcome === 'tampered') return [`detaching ${month}: ${JSON.stringify(detached.problem)}`]
      // Refused while the newest seal is in that month: detached with the next one.
      if (detached.outcome === 'detached') await session.query(`drop table ${detached.tables.join(', ')}`)
    }
    return []
  } finally {
    await session.close()
  }
}
