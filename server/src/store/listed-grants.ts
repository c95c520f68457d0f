/** Live grants as people are shown them: with the application's name, the user's address, and what became of them. */
import type { Publisher } from '../core/application.ts'
import type { Grant } from '../core/grant.ts'
import { publisherFrom } from './applications.ts'
import { GRANT, type GrantRow, grantFrom } from './grants.ts'
import type { Queryable } from './postgres.ts'
import { HELD_SCOPES } from './users.ts'

export type ListedGrant = Grant & {
  readonly application: { readonly name: string; readonly publisher: Publisher; readonly suspended: boolean }
  readonly email: string
  /** By its user, and allowed to its application, at this moment. */
  readonly heldScopes: readonly string[]
  readonly allowedScopes: readonly string[]
  readonly createdAt: number
  /** The start of a day, in UTC. */
  readonly lastUsedOn: number | null
  readonly requestedFrom: string | null
}

type Row = GrantRow & {
  name: string
  publisher: string | null
  publisher_standing: Publisher['standing']
  suspended: boolean
  email: string
  held_scopes: string[]
  allowed_scopes: string[]
  created_at: number
  last_used_on: number | null
  requested_from: string | null
}

/** Of a live grant, one whose application is gone can do nothing and says nothing to anybody. */
const LIVE = `from grants g join users u on u.id = g.user_id join applications a on a.id = g.application_id
  where g.revoked_at is null and a.deleted_at is null`

const LISTED = `select ${GRANT}, a.name, a.publisher, a.publisher_standing, a.suspended_at is not null as suspended,
    u.email, ${HELD_SCOPES} as held_scopes, a.allowed_scopes, g.created_at,
    g.last_used_on::timestamptz as last_used_on, host(g.requested_from) as requested_from
  ${LIVE}`

const PER_PAGE = 50

/** The newest first. `after` is the last grant of the page before: PostgreSQL's moments are finer than ours, so not a time. */
export type GrantPage = { readonly grants: readonly ListedGrant[]; readonly after: string | null }

export function listUserGrants(db: Queryable, userId: string, after: string | null): Promise<GrantPage> {
  return readPage(db, 'g.user_id', userId, after)
}

export function listAccountGrants(db: Queryable, accountId: string, after: string | null): Promise<GrantPage> {
  return readPage(db, 'g.account_id', accountId, after)
}

export async function countUserGrants(db: Queryable, userId: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(`select count(*) as count ${LIVE} and g.user_id = $1`, [userId])
  return rows[0]?.count ?? 0
}

async function readPage(
  db: Queryable,
  column: 'g.user_id' | 'g.account_id',
  of: string,
  after: string | null,
): Promise<GrantPage> {
  const { rows } = await db.query<Row>(
    `${LISTED} and ${column} = $1
       and ($2::uuid is null
         or (g.created_at, g.id) < (select g.created_at, g.id from grants g where g.id = $2 and ${column} = $1))
     order by g.created_at desc, g.id desc limit $3`,
    [of, after, PER_PAGE + 1],
  )
  const grants = rows.slice(0, PER_PAGE).map(fromRow)
  return { grants, after: rows.length > PER_PAGE ? (grants.at(-1)?.id ?? null) : null }
}

/** Only of this account, and only while it lives. */
export async function findListedGrant(db: Queryable, accountId: string, id: string): Promise<ListedGrant | null> {
  const { rows } = await db.query<Row>(`${LISTED} and g.account_id = $1 and g.id = $2`, [accountId, id])
  return rows[0] ? fromRow(rows[0]) : null
}

function fromRow(row: Row): ListedGrant {
  return {
    ...grantFrom(row),
    application: { name: row.name, publisher: publisherFrom(row), suspended: row.suspended },
    email: row.email,
    heldScopes: row.held_scopes,
    allowedScopes: row.allowed_scopes,
    createdAt: row.created_at,
    lastUsedOn: row.last_used_on,
    requestedFrom: row.requested_from,
  }
}
