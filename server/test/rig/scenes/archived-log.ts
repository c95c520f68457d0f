/** An audit log of three months for tests of archiving, new for each test, and the archive of its oldest month. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ArchiveOutcome, archiveAudit } from '../../../src/flows/audit/archive.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { listAuditPartitions } from '../../../src/store/audit/partitions.ts'
import { openSession, type Queryable, type Session } from '../../../src/store/postgres/postgres.ts'
import { type Log, monthAgo, openLog, recordAt } from '../audit.ts'
import { createTestDatabase, type TestDatabase } from '../engines/database.ts'

export const [OLDEST, OLDER, THIS] = [monthAgo(2), monthAgo(1), monthAgo(0)]

export function makeKeys(): Keyset {
  const keyset = parseKeyset(createKey(1))
  if ('problem' in keyset) throw new Error(keyset.problem)
  return keyset
}

export type ArchivedLog = {
  readonly database: TestDatabase
  readonly log: Log
  readonly session: Session
  readonly folder: string
  newFile(): string
  archive(file: string, before?: string, by?: Queryable): Promise<ArchiveOutcome>
  monthsThere(): Promise<ReadonlySet<string>>
  remove(): Promise<void>
}

/** Transactions overlap where months meet: positions 1 to 4 and 6 are in the oldest month, 5, 7 and 8 in the next, 9 and 10 in this. */
export async function openThreeMonths(keys: Keyset): Promise<ArchivedLog> {
  const folder = mkdtempSync(join(tmpdir(), 'archive-'))
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
    folder,
    newFile: () => join(folder, `${randomUUID()}.ndjson`),
    archive: (file, before = THIS, by = session) => archiveAudit({ session: by, db: log.db, keys }, { before, file }),
    monthsThere: async () => new Set((await listAuditPartitions(session)).map(({ month }) => month)),
    remove: async () => {
      await session.close()
      await log.close()
      await database.drop()
      rmSync(folder, { recursive: true })
    },
  }
}
