/** The table scopes: the catalogue of what can be granted at all. */
import type { Queryable, Transaction } from './postgres.ts'

export async function insertScope(tx: Transaction, name: string, title: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'insert into scopes (name, title, created_at) values ($1, $2, now()) on conflict (name) do nothing',
    [name, title],
  )
  return rowCount === 1
}

/** Those of the names that are not in the catalogue. */
export async function unknownScopes(db: Queryable, names: readonly string[]): Promise<readonly string[]> {
  const { rows } = await db.query<{ name: string }>(
    'select name from unnest($1::text[]) as asked(name) where name not in (select name from scopes)',
    [names],
  )
  return rows.map((row) => row.name)
}
