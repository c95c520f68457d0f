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

const rowsOf = (table: MovingTable, bucket: number, changed: string) =>
  `select '${table.name}' as name, t::text as row from ${table.name} t
   where ${ofBucket(table).replaceAll('$1', String(bucket))} and ${table.only ?? 'true'} and ${changed}`

/** Inserts or replaces rows of a table. */
async function receiveRows(target: Queryable, table: MovingTable, rows: readonly string[]): Promise<void> {
  const { name } = table
  const { key, copied } = await readColumns(target, name)
  const values = copied.map((column) => `(r.row).${column}`)
  const replaced = copied.filter((column) => !key.includes(column)).map((column) => `${column} = excluded.${column}`)
  const conflict = replaced.length === 0 ? 'nothing' : `update set ${replaced.join(', ')}`
  const insert = `insert into ${name} (${copied.join(', ')}) select ${values.join(', ')}
    from (select given::${name} as row from unnest($1::text[]) given offset 0) r
    ${table.late ? '' : `on conflict (${key.join(', ')}) do ${conflict}`}`
  for (let from = 0; from < rows.length; from += BATCH) await target.query(insert, [rows.slice(from, from + BATCH)])
}

/** Copies all rows of a table, a batch at a time. `source`: in a transaction. Returns how many. */
export async function copyRows(
  source: Queryable,
  target: Queryable,
  table: MovingTable,
  bucket: number,
): Promise<number> {
  await source.query(`declare moving no scroll cursor for ${rowsOf(table, bucket, 'true')}`)
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

/** Copies what changed since `horizon`, and all rows of `late` tables: one statement in the source. Returns how many. */
export async function copyChanges(
  source: Queryable,
  target: Queryable,
  tables: readonly MovingTable[],
  bucket: number,
  horizon: string,
): Promise<number> {
  const selects = tables.map((table) => rowsOf(table, bucket, table.late ? 'true' : changedSince(horizon)))
  const { rows } = await source.query<{ name: string; row: string }>(selects.join(' union all '))
  for (const table of tables) {
    const changed = rows.filter(({ name }) => name === table.name).map(({ row }) => row)
    if (changed.length > 0) await receiveRows(target, table, changed)
  }
  return rows.length
}

/** Number of rows of each table, as one text that can be compared. */
export async function countRows(db: Queryable, bucket: number): Promise<string> {
  const counts = MOVING.map(
    (table) => `(select count(*) from ${table.name} where ${ofBucket(table)} and ${table.only ?? 'true'})`,
  )
  const { rows } = await db.query<{ counts: string }>(`select concat_ws(' ', ${counts.join(', ')}) as counts`, [bucket])
  return rows[0]?.counts ?? ''
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
