/**
 * Live grants as the web interface lists them: with the application, the user's e-mail address, current scopes and last
 * use.
 */
import { type LogoName, type Publisher, shownLogo } from '../../core/applications/application.ts'
import type { Grant, RefreshLimits } from '../../core/grants/grant.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import { HELD_SCOPES } from '../accounts/users.ts'
import { publisherFrom } from '../applications/applications.ts'
import type { Queryable } from '../postgres/postgres.ts'
import { cutPage, pageClauses, type SortedList, startingWith } from '../postgres/sorted-list.ts'
import { GRANT, type GrantRow, grantFrom } from './grants.ts'

export type ListedGrant = Grant & {
  /** Needed to compute the last characters of the access key; never shown (flows/grants/connected-applications.ts). */
  readonly secret: string
  readonly application: {
    readonly name: string
    readonly publisher: Publisher
    readonly logo: LogoName | null
    readonly suspended: boolean
  }
  readonly email: string
  /** Scopes that the user holds and that the application is allowed, now. */
  readonly heldScopes: readonly string[]
  readonly allowedScopes: readonly string[]
  /** Whether the user granted it by a device code or in a dialog. */
  readonly by: 'code' | 'dialog'
  /** The start of a day, in UTC. */
  readonly lastUsedOn: number | null
  readonly requestedFrom: string | null
}

type Row = GrantRow & {
  secret: string
  name: string
  publisher: string | null
  publisher_status: Publisher['status']
  logo_version: string | null
  suspended: boolean
  email: string
  held_scopes: string[]
  allowed_scopes: string[]
  by: 'code' | 'dialog'
  last_used_on: number | null
  requested_from: string | null
}

/** Excludes grants of deleted applications and of a test mode past its time: their credentials no longer work. */
const LIVE = `from grants g join users u on u.id = g.user_id join applications a on a.id = g.application_id
  where g.revoked_at is null and a.deleted_at is null and (g.test_ends_at is null or g.test_ends_at > now())`

const LISTED = `select ${GRANT}, g.secret, a.name, a.publisher, a.publisher_status, a.logo_version, a.suspended_at is not null as suspended,
    u.email, ${HELD_SCOPES} as held_scopes, a.allowed_scopes,
    case when g.dialog_id is null then 'code' else 'dialog' end as by,
    g.last_used_on::timestamptz as last_used_on, host(g.requested_from) as requested_from
  ${LIVE}`

/**
 * Excludes token sets that can no longer be refreshed. They have ended without being marked as revoked:
 * core/grants/grant.ts, `isOver`. A grant that no application collected stays: it can be collected until the sweep
 * revokes it, which may be later than the lifetime of a refresh token.
 */
function notOver({ unusedMs, maxMs }: RefreshLimits): string {
  return `(g.variant = 'access_key' or g.issued_at is null or (g.created_at > now() - interval '${maxMs} milliseconds'
    and g.issued_at > now() - interval '${unusedMs} milliseconds'))`
}

const GRANTS: SortedList<ListedGrantColumn> = {
  table: 'grants g',
  key: 'g.id',
  columns: { connected: 'g.created_at' },
}

export const listedGrantColumns = ['connected'] as const
export type ListedGrantColumn = (typeof listedGrantColumns)[number]

/** The grants of one user, or of all users of an account, or of these those of one application. */
export type ListedFor =
  | { readonly userId: string }
  | { readonly accountId: string; readonly applicationId?: string | null }

export async function countUserGrants(db: Queryable, userId: string, limits: RefreshLimits): Promise<number> {
  const text = `select count(*) as count ${LIVE} and ${notOver(limits)} and g.user_id = $1`
  const { rows } = await db.query<{ count: number }>(text, [userId])
  return rows[0]?.count ?? 0
}

/** `search`: the beginning of the user's e-mail address. */
export async function listGrants(
  db: Queryable,
  whose: ListedFor,
  wish: TableWish<ListedGrantColumn>,
  limits: RefreshLimits,
): Promise<TablePage<ListedGrant>> {
  const [column, of] = 'userId' in whose ? ['g.user_id', whose.userId] : ['g.account_id', whose.accountId]
  const applicationId = 'applicationId' in whose ? whose.applicationId : null
  const { beyond, order } = pageClauses(GRANTS, wish, '$2', `${column} = $1`)
  const { rows } = await db.query<Row>(
    `${LISTED} and ${notOver(limits)} and ${column} = $1 and ($3 = '%' or u.email collate "C" like $3)
       and ($4::text is null or g.application_id = $4) and ${beyond} ${order}`,
    [of, wish.after, startingWith(wish.search.toLowerCase()), applicationId],
  )
  return cutPage(rows.map(fromRow), ({ id }) => id, wish.lines)
}

/** Finds a live grant of this account. */
export async function findListedGrant(db: Queryable, accountId: string, id: string): Promise<ListedGrant | null> {
  const { rows } = await db.query<Row>(`${LISTED} and g.account_id = $1 and g.id = $2`, [accountId, id])
  return rows[0] ? fromRow(rows[0]) : null
}

function fromRow(row: Row): ListedGrant {
  const grant = grantFrom(row)
  const publisher = publisherFrom(row)
  const logo = shownLogo({ id: grant.applicationId, publisher, logoVersion: row.logo_version })
  return {
    ...grant,
    secret: row.secret,
    application: { name: row.name, publisher, logo, suspended: row.suspended },
    email: row.email,
    heldScopes: row.held_scopes,
    allowedScopes: row.allowed_scopes,
    by: row.by,
    lastUsedOn: row.last_used_on,
    requestedFrom: row.requested_from,
  }
}
