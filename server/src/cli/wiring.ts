/** What commands need beside their arguments. */
import type { Config } from '../config.ts'
import type { Context } from '../flows/context.ts'
import { openPostgres, type Postgres } from '../store/postgres/postgres.ts'

/** What only the assembled service can do. It is handed in, because the roof (app.ts) stands above this floor. */
export type Wiring = {
  serve(): Promise<void>
  createContext(config: Config): Promise<Context>
  closeContext(context: Context): Promise<void>
}

/** Two connections are plenty for a command. */
export async function withDatabase<T>(databaseUrl: string, work: (db: Postgres) => Promise<T>): Promise<T> {
  const db = openPostgres(databaseUrl, 2)
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}
