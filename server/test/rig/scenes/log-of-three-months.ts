/** An audit log of three months for tests that detach a month, new for each test. */
import { type DetachOutcome, detachMonth } from '../../../src/flows/audit/detach.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { openSession, type Queryable, type Session } from '../../../src/store/postgres/postgres.ts'
import { type Log, monthAgo, openLog, recordAt } from '../audit.ts'
import { createTestDatabase, type TestDatabase } from '../engines/database.ts'

export const [OLDEST, OLDER, THIS] = [monthAgo(2), monthAgo(1), monthAgo(0)]

export function makeKeys(): Keyset {
  const keyset = parseKeyset(createKey(1))
  if ('problem' in keyset) throw new Error(keyset.problem)
  return keyset
}

export type LogOfThreeMonths = {
  readonly database: TestDatabase
  readonly log: Log
  readonly session: Session
  detach(month?: string, by?: Queryable): Promise<DetachOutcome>
  /** Tables of this month that are still part of the log. */
  attached(month: string): Promise<readonly string[]>
  remove(): Promise<void>
}

/** Transactions overlap where months meet: positions 1 to 4 and 6 are in the oldest month, 5, 7 and 8 in the next, 9 and 10 in this. */
export async function openThreeMonths(keys: Keyset): Promise<LogOfThreeMonths> {
  const database = await createTestDatabase()
  const log = openLog(database, keys)
  const session = await openSession(database.url)
  const months = [OLDEST, OLDEST, OLDEST, OLDEST, OLDER, OLDEST, OLDER, OLDER, THIS, THIS]
  for (const month of months) await recordAt(database, month === THIS ? null : `${month}-15T12:00:00.123456Z`)
  await log.seal()
  return {
    database,
    log,
    session,
    detach: (month = OLDEST, by = session) => detachMonth({ session: by, db: log.db, keys }, month),
    attached: async (month) => {
      const rows = await database.query<{ name: string }>(
        `select inhrelid::regclass::text as name from pg_inherits
         where inhrelid::regclass::text ~ $1 and not inhdetachpending order by 1`,
        [`^audit_(events|seals)_${month.replace('-', '')}$`],
      )
      return rows.map(({ name }) => name)
    },
    remove: async () => {
      await session.close()
      await log.close()
      await database.drop()
    },
  }
}
