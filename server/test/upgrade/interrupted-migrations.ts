/** Migrations killed at each of their statements and run again: the schema and the rows have to be those of an undisturbed run. */
import pg from 'pg'
import { dumpSchema } from '../../../tools/schema.ts'
import { createEmptyDatabase, type EmptyDatabase } from '../rig/engines/database.ts'
import { type Kill, LATER_MIGRATIONS, runMigrations } from './migrator.ts'

export type Interrupted = { readonly kills: number; readonly converged: number; readonly problems: readonly string[] }

/**
 * `template`: the database before the migrations. `every`: kills at one statement in so many. Half of the kills also end the
 * session in PostgreSQL, which otherwise finishes its statement.
 */
export async function interruptMigrations(template: string, every: number): Promise<Interrupted> {
  const undisturbed = await createEmptyDatabase(template)
  const statements = (await runMigrations(undisturbed.url, LATER_MIGRATIONS)) ?? 0
  const expected = await stateOf(undisturbed)
  await undisturbed.drop()

  const problems: string[] = []
  let [kills, converged] = [0, 0]
  for (let at = 1; at <= statements; at += every) {
    const kill: Kill = { at, moment: at % 2 === 0 ? 'before' : 'during' }
    const database = await createEmptyDatabase(template)
    if ((await runMigrations(database.url, LATER_MIGRATIONS, kill)) !== null)
      problems.push(`statement ${at} was not reached`)
    kills += 1
    if (at % 4 === 1) await endSessions(database)
    await runMigrations(database.url, LATER_MIGRATIONS)
    if ((await stateOf(database)) === expected) converged += 1
    else problems.push(`killed ${kill.moment} statement ${at}, the next run led to another state`)
    await database.drop()
  }
  return { kills, converged, problems }
}

async function endSessions({ url, name }: EmptyDatabase): Promise<void> {
  await ask(
    url,
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
    [name],
  )
}

/** Schema, applied migrations, invalid indexes and every grant. */
async function stateOf({ url }: EmptyDatabase): Promise<string> {
  const rows = await ask(
    url,
    `select (select array_agg(name order by name) from migrations) as applied,
       (select count(*)::int from pg_index where not indisvalid) as invalid,
       (select md5(string_agg(g::text, ',' order by id)) from grants g) as grants`,
  )
  return JSON.stringify([dumpSchema(url), rows])
}

async function ask(url: string, sql: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql, values)).rows
  } finally {
    await client.end()
  }
}
