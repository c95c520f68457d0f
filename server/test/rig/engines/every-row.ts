/**
 * Every row of a database, by table. Tests compare them before and after what must change nothing, some of them hundreds of times: so
 * rows that were read before are not read again. A version of a row never changes, and is known by its place and by the
 * transaction that wrote it.
 */
import type { TestDatabase } from './database.ts'

type Table = {
  /** Of all versions together: equal as long as nothing is written. */
  readonly mark: string
  /** Texts of rows by version. */
  readonly texts: ReadonlyMap<string, string>
  readonly rows: readonly string[]
}

const VERSION = "tableoid || ' ' || ctid || ' ' || xmin"
const MARK = `count(*) || ' ' || coalesce(sum(hashtextextended(${VERSION}, 0)), 0)`

const known = new WeakMap<TestDatabase, Map<string, Table>>()

export type LeftOut = {
  readonly tables: readonly string[]
  /** By the name of their table. */
  readonly columns: Readonly<Record<string, readonly string[]>>
}

/** Each row begins with the name of its table. */
export async function readEveryRow(
  database: TestDatabase,
  leftOut: LeftOut,
): Promise<Record<string, readonly string[]>> {
  const tables = known.get(database) ?? new Map<string, Table>()
  known.set(database, tables)
  const names = await database.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition",
  )
  const marks = names
    .filter(({ name }) => !leftOut.tables.includes(name))
    .map(({ name }) => `select '${name}' as name, ${MARK} as mark from public.${name}`)
    .join(' union all ')
  const found = await database.queryPrepared<{ name: string; mark: string }>(marks)
  for (const { name, mark } of found) {
    const table = tables.get(name)
    if (table?.mark === mark) continue
    const texts = await readTexts(database, name, leftOut.columns[name] ?? [], table?.texts ?? new Map())
    tables.set(name, { mark, texts, rows: [...texts.values()].sort() })
  }
  return Object.fromEntries(found.map(({ name }) => [name, tables.get(name)?.rows ?? []]))
}

async function readTexts(
  database: TestDatabase,
  name: string,
  withoutColumns: readonly string[],
  texts: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const rows = await database.query<{ version: string; text: string | null }>(
    `select ${VERSION} as version,
       case when ${VERSION} <> all ($1) then '${name} ' || (to_jsonb(t) - '{${withoutColumns}}'::text[])::text end as text
     from public.${name} t`,
    [[...texts.keys()]],
  )
  return new Map(rows.map(({ version, text }) => [version, text ?? texts.get(version) ?? '']))
}
