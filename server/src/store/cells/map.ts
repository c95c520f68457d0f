/** The tables cells, bucket_map, code_prefixes and account_buckets: the map of an installation that is divided. */
import type { CodePrefix } from '../../core/cells/code-prefix.ts'
import type { Cell, CellMap } from '../../core/cells/map.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

/** Null: there is no map. */
export async function readMapVersion(db: Queryable): Promise<number | null> {
  const { rows } = await db.query<{ version: number }>({
    name: 'read-cell-map-version',
    text: 'select version from cell_map',
  })
  return rows[0]?.version ?? null
}

/** One statement, and therefore one version of all tables. */
export async function readCellMap(db: Queryable): Promise<CellMap> {
  const { rows } = await db.query<{
    version: number | null
    cells: Cell[] | null
    buckets: [number, number][] | null
    prefixes: CodePrefix[] | null
    account_buckets: [string, number][] | null
  }>(`select (select version from cell_map) as version,
      (select jsonb_agg(jsonb_build_object('id', id, 'name', name, 'address', address, 'home', home) order by id)
       from cells) as cells,
      (select jsonb_agg(jsonb_build_array(bucket, cell)) from bucket_map) as buckets,
      (select jsonb_agg(jsonb_build_object('prefix', prefix, 'cell', cell, 'previousCell', previous_cell,
         'changedAt', extract(epoch from changed_at) * 1000) order by prefix) from code_prefixes) as prefixes,
      (select jsonb_agg(jsonb_build_array(slug, bucket)) from account_buckets) as account_buckets`)
  const row = rows[0]
  return {
    version: row?.version ?? 0,
    cells: new Map((row?.cells ?? []).map((cell) => [cell.id, cell])),
    buckets: new Map(row?.buckets ?? []),
    prefixes: row?.prefixes ?? [],
    accountBuckets: new Map(row?.account_buckets ?? []),
  }
}

/** Which cell this database is. Null: the installation is not divided. */
export async function readThisCell(db: Queryable): Promise<number | null> {
  const { rows } = await db.query<{ cell: number }>('select cell from this_cell')
  return rows[0]?.cell ?? null
}

export async function setThisCell(db: Queryable, cell: number): Promise<void> {
  await db.query('insert into this_cell (cell) values ($1) on conflict (only_row) do update set cell = excluded.cell', [
    cell,
  ])
}

/** The home cell, if this database is another one. Null: this is the home cell, or the installation is not divided. */
export async function readOtherHome(db: Queryable): Promise<Pick<Cell, 'id' | 'name'> | null> {
  const { rows } = await db.query<{ id: number; name: string }>(
    'select h.id, h.name from this_cell t join cells h on h.home and h.id <> t.cell',
  )
  return rows[0] ?? null
}

/** Locks the map for a change and returns its new version. Null: there is no map. */
export async function nextMapVersion(tx: Transaction): Promise<number | null> {
  const { rows } = await tx.query<{ version: number }>('update cell_map set version = version + 1 returning version')
  return rows[0]?.version ?? null
}

/** The first cell, with all buckets and prefixes. False: there is a map already. */
export async function insertFirstMap(tx: Transaction, cell: Pick<Cell, 'id' | 'name' | 'address'>): Promise<boolean> {
  const { rowCount } = await tx.query('insert into cell_map (version) values (1) on conflict do nothing')
  if (rowCount !== 1) return false
  await insertCell(tx, { ...cell, home: true })
  await tx.query(
    'insert into bucket_map (bucket, cell, version) select bucket, $1, 1 from generate_series(0, 4095) bucket',
    [cell.id],
  )
  await tx.query(
    `insert into code_prefixes (prefix, cell, changed_at)
     select to_char(prefix, 'FM00'), $1, now() from generate_series(0, 99) prefix`,
    [cell.id],
  )
  // Credentials of accounts older than the map carry bucket 0.
  await tx.query('insert into account_buckets (slug, bucket) select slug, 0 from accounts')
  return true
}

/** False: a cell has the number or the name already. */
export async function insertCell(tx: Transaction, { id, name, address, home }: Cell): Promise<boolean> {
  const { rowCount } = await tx.query(
    'insert into cells (id, name, address, home, created_at) values ($1, $2, $3, $4, now()) on conflict do nothing',
    [id, name, address, home],
  )
  return rowCount === 1
}

/** Buckets of a cell without accounts in this database, in order. Accounts that are being created are waited for. */
export async function lockEmptyBuckets(tx: Transaction, cell: number): Promise<readonly number[]> {
  await tx.query('select from bucket_map where cell = $1 order by bucket for update', [cell])
  const { rows } = await tx.query<{ bucket: number }>(
    `select bucket from bucket_map m where cell = $1 and state = 'settled'
       and not exists (select from accounts a where a.bucket = m.bucket)
       and not exists (select from account_buckets b where b.bucket = m.bucket) order by bucket`,
    [cell],
  )
  return rows.map(({ bucket }) => bucket)
}

export async function assignBuckets(
  tx: Transaction,
  buckets: readonly number[],
  cell: number,
  version: number,
): Promise<void> {
  await tx.query('update bucket_map set cell = $2, version = $3 where bucket = any($1)', [buckets, cell, version])
}

export async function assignPrefixes(tx: Transaction, prefixes: readonly string[], cell: number): Promise<void> {
  await tx.query(
    'update code_prefixes set previous_cell = cell, cell = $2, changed_at = now() where prefix = any($1) and cell <> $2',
    [prefixes, cell],
  )
}

/** A bucket of one account, which does not exist yet. False: it exists in this cell, or has one. */
export async function insertOwnBucket(
  tx: Transaction,
  { slug, bucket, cell, version }: { slug: string; bucket: number; cell: number; version: number },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into account_buckets (slug, bucket) select $1, $2
     where not exists (select from accounts where slug = $1) on conflict do nothing`,
    [slug, bucket],
  )
  if (rowCount !== 1) return false
  await tx.query('insert into bucket_map (bucket, cell, version) values ($1, $2, $3)', [bucket, cell, version])
  return true
}

/** Bucket of an account that does not have the computed one. */
export async function readAccountBucket(db: Queryable, slug: string): Promise<number | null> {
  const { rows } = await db.query<{ bucket: number }>('select bucket from account_buckets where slug = $1', [slug])
  return rows[0]?.bucket ?? null
}

/** The cell of a bucket, which keeps it until the end of the transaction. */
export async function shareBucket(tx: Transaction, bucket: number): Promise<Pick<Cell, 'id' | 'name'> | null> {
  const { rows } = await tx.query<{ id: number; name: string }>(
    'select c.id, c.name from bucket_map m join cells c on c.id = m.cell where m.bucket = $1 for share of m',
    [bucket],
  )
  return rows[0] ?? null
}
