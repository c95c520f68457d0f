/** Dependencies of commands beside their arguments. */
import { type Config, everyOption, readConfig } from '../config.ts'
import type { Context } from '../flows/context.ts'
import { COMMAND_CONNECT_MS, openPostgres, type Postgres, type PostgresOptions } from '../store/postgres/postgres.ts'
import { type Journal, openConfiguredJournal } from '../store/restore/journal.ts'
import type { Method, Resource } from './manage/management-client.ts'

/**
 * Functions of the assembled service. Passed in, because app.ts is the layer above `cli/` and must not be imported
 * here.
 */
export type Wiring = {
  /** Null: this process serves requests itself. */
  serve(processes: number | null): Promise<void>
  createContext(config: Config, options: Pick<PostgresOptions, 'connectMs'>): Promise<Context>
  closeContext(context: Context): Promise<void>
  /** The management API in this process, as the command line: without a key, and with the operators' account. */
  callManagement(context: Context, method: Method, target: string, body?: Resource): Promise<Resource>
}

/** Runs `work` with the whole context of a service, which logs nothing, and closes it. */
export async function withContext<T>(wiring: Wiring, work: (context: Context) => Promise<T>): Promise<T> {
  const config = { ...readConfig(everyOption), logLevel: 'silent' } as const
  const context = await wiring.createContext(config, { connectMs: COMMAND_CONNECT_MS })
  try {
    return await work(context)
  } finally {
    await wiring.closeContext(context)
  }
}

/** Runs `work` with a pool of two connections, enough for any command, and closes it. */
export async function withDatabase<T>(
  databaseUrl: string,
  work: (db: Postgres, journal: Journal | null) => Promise<T>,
): Promise<T> {
  const { revocationJournal } = readConfig(['revocationJournal'])
  // Its lines are signed.
  const journal =
    revocationJournal === null ? null : await openConfiguredJournal(revocationJournal, readConfig(['keys']).keys)
  const db = openPostgres(databaseUrl, 2, { connectMs: COMMAND_CONNECT_MS, journal })
  try {
    return await work(db, journal)
  } finally {
    await db.close()
  }
}
