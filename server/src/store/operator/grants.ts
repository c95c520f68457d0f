/** Grants of an application or of a user, for operators: also those that have ended. */
import type { OperatorGrantLine } from '../../core/operator/listed.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { cutPage, pageClauses, type SortedList, startingWith } from '../postgres/sorted-list.ts'

const GRANTS: SortedList<GrantColumn> = {
  table: 'grants g',
  key: 'g.id',
  columns: { connected: 'g.created_at' },
}

export const grantColumns = ['connected'] as const
export type GrantColumn = (typeof grantColumns)[number]

export type GrantFilter = {
  readonly of: { readonly applicationId: string } | { readonly userId: string }
  readonly live: boolean
}

const LINE = `select g.id, u.id as "userId", u.email, c.slug as account, g.application_id as "applicationId",
    a.name as application, g.created_at as "connectedAt", g.last_used_on::timestamptz as "lastUsedOn",
    g.revoked_at as "endedAt", g.revocation_reason as reason
  from grants g join users u on u.id = g.user_id join accounts c on c.id = g.account_id
    join applications a on a.id = g.application_id`

/** `search`: the beginning of the user's e-mail address. */
export async function listEveryGrant(
  db: Queryable,
  wish: TableWish<GrantColumn>,
  { of, live }: GrantFilter,
): Promise<TablePage<OperatorGrantLine>> {
  const [column, id] = 'userId' in of ? ['g.user_id', of.userId] : ['g.application_id', of.applicationId]
  const { beyond, order } = pageClauses(GRANTS, wish, '$2')
  const { rows } = await db.query<OperatorGrantLine>(
    `${LINE} where ${column} = $3 and ($1 = '%' or u.email collate "C" like $1) and (not $4 or g.revoked_at is null)
       and ${beyond} ${order}`,
    [startingWith(wish.search.toLowerCase()), wish.after, id, live],
  )
  return cutPage(rows, (line) => line.id)
}

export async function findEveryGrant(db: Queryable, id: string): Promise<OperatorGrantLine | null> {
  const { rows } = await db.query<OperatorGrantLine>(`${LINE} where g.id = $1`, [id])
  return rows[0] ?? null
}
