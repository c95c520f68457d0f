/** What `latchkey migrate` would run: each pending statement with its table locks, and the size of the tables. Changes nothing. */
import { classifyMigrations } from './classified-migrations.ts'
import { connect, pendingMigrations } from './migrate.ts'
import { MIGRATIONS_FOLDER, type Migration, readMigrations } from './migration-files.ts'
import type { Queryable } from './postgres.ts'
import type { Statement } from './statement-kinds.ts'
import type { LockMode, TableLock, Work } from './table-locks.ts'

/** `rows` and `bytes` as PostgreSQL last estimated them; null: the table does not exist yet, or was never analysed. */
export type Size = { readonly rows: number | null; readonly bytes: number | null }

export type PlannedStatement = {
  readonly sql: string
  readonly locks: readonly (Size & { readonly table: string; readonly mode: LockMode })[]
  readonly work: Work
}

export type PlannedMigration = Pick<Migration, 'name' | 'runs'> & { readonly statements: readonly PlannedStatement[] }

/** Throws if a statement is of a kind whose locks are not known. */
export async function planMigrations(
  url: string,
  folder: URL = MIGRATIONS_FOLDER,
): Promise<readonly PlannedMigration[]> {
  const pending = await pendingMigrations(url, folder)
  const classified = classifyMigrations(await readMigrations(folder)).filter(({ name }) => pending.includes(name))
  const client = await connect(url)
  try {
    const planned: PlannedMigration[] = []
    for (const { name, runs, statements } of classified) {
      planned.push({ name, runs, statements: await planStatements(client, statements) })
    }
    return planned
  } finally {
    await client.end()
  }
}

async function planStatements(db: Queryable, statements: readonly Statement[]): Promise<PlannedStatement[]> {
  const planned: PlannedStatement[] = []
  for (const { sql, locks, work } of statements) planned.push({ sql, locks: await planLocks(db, locks), work })
  return planned
}

async function planLocks(db: Queryable, locks: readonly TableLock[]): Promise<PlannedStatement['locks']> {
  const planned = []
  for (const lock of locks) {
    for (const table of await tablesOf(db, lock)) planned.push({ table, mode: lock.mode, ...(await sizeOf(db, table)) })
  }
  return planned
}

/** None, if the index, the constraint or the column does not exist yet. */
async function tablesOf(db: Queryable, lock: TableLock): Promise<readonly string[]> {
  if ('table' in lock) return [lock.table]
  if ('ofIndex' in lock) {
    return names(db, 'select indrelid::regclass::text as name from pg_index where indexrelid = to_regclass($1)', [
      lock.ofIndex,
    ])
  }
  if ('foreignKeysOf' in lock) {
    return names(
      db,
      `select distinct (case conrelid when attrelid then confrelid else conrelid end)::regclass::text as name
       from pg_attribute join pg_constraint
         on (conrelid = attrelid and attnum = any(conkey)) or (confrelid = attrelid and attnum = any(confkey))
       where contype = 'f' and confrelid <> conrelid and attrelid = to_regclass($1) and attname = $2
       order by name`,
      [lock.foreignKeysOf, lock.column],
    )
  }
  return names(
    db,
    `select distinct confrelid::regclass::text as name from pg_constraint
     where contype = 'f' and conrelid = to_regclass($1) and confrelid <> conrelid and conname = coalesce($2, conname)`,
    [lock.referencedBy, lock.constraint],
  )
}

async function names(db: Queryable, sql: string, values: unknown[]): Promise<readonly string[]> {
  return (await db.query<{ name: string }>(sql, values)).rows.map(({ name }) => name)
}

/** With all partitions. */
async function sizeOf(db: Queryable, table: string): Promise<Size> {
  const { rows } = await db.query<Size>(
    `select sum(reltuples) filter (where reltuples >= 0)::float8 as rows, sum(pg_table_size(oid))::float8 as bytes
     from pg_class where oid = to_regclass($1) or oid in (select relid from pg_partition_tree(to_regclass($1)))`,
    [table],
  )
  return rows[0] ?? { rows: null, bytes: null }
}
