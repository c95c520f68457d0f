/** Every row that a service keeps, as one text per table: two of them are the same as long as nothing has changed. */
import type { TestDatabase } from './database.ts'

export async function digestRows(database: TestDatabase): Promise<Record<string, string>> {
  const tables = await database.query<{ name: string }>(
    `select relname as name from pg_class
     where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace order by relname`,
  )
  const digests = tables.map(async ({ name }) => {
    const [row] = await database.query<{ digest: string }>(
      `select count(*) || ' rows, ' || md5(coalesce(string_agg(t::text, chr(10) order by t::text), '')) as digest
       from ${name} t`,
    )
    return [name, row?.digest ?? ''] as const
  })
  return Object.fromEntries(await Promise.all(digests))
}
