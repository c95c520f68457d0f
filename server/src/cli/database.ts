/** `latchkey migrate|sweep`: schema and retention of the database. */
import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { SWEEP_SETTINGS, sweep } from '../flows/sweep.ts'
import { migrate } from '../store/postgres/migrate.ts'
import { type OutputOptions, print } from './client/output.ts'
import { withDatabase } from './wiring.ts'

/** In a container platform, PostgreSQL may still be starting. */
const DATABASE_WAIT_MS = 30_000

export function defineMigrate(command: Command): void {
  command.option('--json', 'print one JSON object').action(async (options: OutputOptions) => {
    const applied = await migrate(readConfig(['databaseUrl']).databaseUrl, undefined, DATABASE_WAIT_MS)
    const words = applied.length === 0 ? 'Nothing to do: the database is up to date.' : `Applied ${applied.join(', ')}.`
    print(options, { applied }, words)
  })
}

export function defineSweep(command: Command): void {
  command.option('--json', 'print one JSON object').action((options: OutputOptions) =>
    withDatabase(readConfig(['databaseUrl']).databaseUrl, async (db) => {
      const dropped = await sweep(db, readConfig(SWEEP_SETTINGS))
      const left = dropped.left.length > 0 ? `, skipped ${dropped.left.length} because the table was in use` : ''
      const words = `Dropped ${dropped.partitions.length} partitions${left}; revoked ${dropped.revokedGrants} grants whose credentials were never collected.`
      print(options, dropped, words)
    }),
  )
}
