/** Backup of a test's database by pg_dump. */
import { chmodSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeFolder } from '../../../../tools/remove-folder.ts'
import { createEmptyDatabase, type EmptyDatabase } from './database.ts'
import { runProgram } from './postgres-programs.ts'

export type Dump = {
  /** Into a database of its own, each time. */
  restore(): Promise<EmptyDatabase>
  remove(): void
}

export async function dumpDatabase(url: string): Promise<Dump> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-dump-'))
  // PostgreSQL's programs run as a user of their own.
  chmodSync(folder, 0o777)
  const file = join(folder, 'dump')
  await runProgram('pg_dump', '-d', url, '-F', 'c', '-f', file)
  return {
    restore: async () => {
      const database = await createEmptyDatabase()
      await runProgram('pg_restore', '--no-owner', '-d', database.url, file)
      return database
    },
    remove: () => removeFolder(folder),
  }
}
