/**
 * Copies rows of a bucket from the database of one cell to that of another. A row travels as PostgreSQL's text of it,
 * which every type reads back as it was written.
 */
import type { Queryable } from '../postgres/postgres.ts'
import { LEFT_DIALOGS, MOVING, type MovingTable, ofBucket } from './moving-tables.ts'

/** Rows per statement. */
const BATCH = 2_000

type Columns = { readonly key: readonly string[]; readonly copied: readonly string[] }

/** `copied`: all but numbers that each database counts for itself. */
async function readColumns(db: Queryable, table: string): Promise<Columns> {
  const { rows } = await db.query<{ name: string; counted: boolean; keyed: boolean }>(
    `select a.attname as name, a.attidentity <> '' as counted, coalesce(a.attnum = any(i.indkey), false) as keyed
     from pg_attribute a left join pg_index i on i.indrelid = a.attrelid and i.indisprimary
     where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [table],
  )
  return {
    key: rows.filter(({ keyed }) => keyed).map(({ name }) => name),
    copied: rows.filter(({ counted }) => !counted).map(({ name }) => name),
  }
}

/** Oldest transaction that may still be running: what is changed later has its number or a higher one. */
export async function readHorizon(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ xid: string }>('select pg_snapshot_xmin(pg_current_snapshot())::xid::text as xid')
  return rows[0]?.xid ?? '3'
}

const changedSince = (horizon: string) => `age(t.xmin) <= age('${horizon}'::xid)`

/** `from` clause of the rows that move. */
const rowsOf = (table: MovingTable, bucket: number) =>
  `from ${table.name} t where ${ofBucket(table).replaceAll('$1', String(bucket))} and ${table.only ?? 'true'}`

/**
 * Inserts or replaces rows of a table. Returns how many it inserted. Afterwards, a user may have been deleted in the
 * target.
 */
async function receiveRows(target: Queryable, table: MovingTable, rows: readonly string[]): Promise<number> {
  const { name } = table
  const { key, copied } = await readColumns(target, name)
  const values = copied.map((column) => `(r.row).${column}`)
  const replaced = copied.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`)
  const conflict = replaced.length === 0 ? 'nothing' : `update set ${replaced.join(', ')}`
  const insert = `insert into ${name} (${copied.join(', ')}) select ${values.join(', ')}
    from (select given::${name} as row from unnest($1::text[]) given offset 0) r
    ${table.copied === 'afterwards' && table.owner === 'user' ? `where (r.row).${table.column} in (select id from users)` : ''}
    ${table.copied ? '' : `on conflict (${key.join(', ')}) do ${conflict}`}
    returning xmax = 0 as inserted`
  let inserted = 0
  for (let from = 0; from < rows.length; from += BATCH) {
    // Only a row that was replaced has an xmax: the transaction that locked it.
    const { rows: received } = await target.query<{ inserted: boolean }>(insert, [rows.slice(from, from + BATCH)])
    inserted += received.filter((row) => row.inserted).length
  }
  return inserted
}

/** Copies all rows of a table, a batch at a time. `source`: in a transaction. Returns how many. */
export async function copyRows(
  source: Queryable,
  target: Queryable,
  table: MovingTable,
  bucket: number,
): Promise<number> {
  await source.query(`declare moving no scroll cursor for select t::text as row ${rowsOf(table, bucket)}`)
  let count = 0
  for (;;) {
    const { rows } = await source.query<{ row: string }>(`fetch ${BATCH} from moving`)
    await receiveRows(
      target,
      table,
      rows.map(({ row }) => row),
    )
    count += rows.length
    if (rows.length < BATCH) break
  }
  await source.query('close moving')
  return count
}

/** Rows that changed, and the number of all rows, by table. */
export type Changes = ReadonlyMap<string, { readonly count: number; readonly rows: readonly string[] }>

/** What changed since `horizon`, and all rows of tables that are copied `last`. One statement, which reads every row once. */
export async function readChanges(
  source: Queryable,
  tables: readonly MovingTable[],
  bucket: number,
  horizon: string,
): Promise<Changes> {
  const selects = tables.map((table) => {
    const changed = table.copied ? 'true' : changedSince(horizon)
    return `select '${table.name}' as name, count(*) as count,
      coalesce(array_agg(t::text) filter (where ${changed}), '{}') as rows ${rowsOf(table, bucket)}`
  })
  const { rows } = await source.query<{ name: string; count: number; rows: string[] }>(selects.join(' union all '))
  return new Map(rows.map(({ name, ...changes }) => [name, changes]))
}

/** Returns how many rows of each table were inserted, and how many rows were written in all. */
export async function receiveChanges(target: Queryable, changes: Changes) {
  const inserted = new Map<string, number>()
  let written = 0
  for (const table of MOVING) {
    const { rows = [] } = changes.get(table.name) ?? {}
    if (rows.length > 0) inserted.set(table.name, await receiveRows(target, table, rows))
    written += rows.length
  }
  return { inserted, written }
}

/** Number of rows by table. */
export async function countRows(
  db: Queryable,
  tables: readonly MovingTable[],
  bucket: number,
): Promise<ReadonlyMap<string, number>> {
  const counts = tables.map((table) => `select '${table.name}' as name, count(*) as count ${rowsOf(table, bucket)}`)
  const { rows } = await db.query<{ name: string; count: number }>(counts.join(' union all '))
  return new Map(rows.map(({ name, count }) => [name, count]))
}

/** Deletes rows in the target that are no longer in the source. */
export async function deleteMissing(
  source: Queryable,
  target: Queryable,
  table: MovingTable,
  bucket: number,
): Promise<void> {
  const key = (await readColumns(target, table.name)).key.join(', ')
  const { rows } = await source.query<{ key: string }>(
    `select row(${key})::text as key from ${table.name} where ${ofBucket(table)}`,
    [bucket],
  )
  await target.query(
    `delete from ${table.name} where ${ofBucket(table)} and row(${key})::text not in (select unnest($2::text[]))`,
    [bucket, rows.map((each) => each.key)],
  )
}

/** Deletes all rows of the bucket, those that refer to others first. In batches, each its own transaction. */
export async function deleteRows(db: Queryable, bucket: number): Promise<void> {
  for (const table of [LEFT_DIALOGS, ...MOVING.toReversed()]) {
    for (;;) {
      const { rowCount } = await db.query(
        `delete from ${table.name} where ctid = any(array(
           select ctid from ${table.name} where ${ofBucket(table)} limit ${BATCH}))`,
        [bucket],
      )
      if ((rowCount ?? 0) < BATCH) break
    }
  }
}
