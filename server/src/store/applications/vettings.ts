/**
 * The table application_vettings: applications that were registered in the developer console, and whether an operator
 * has looked at them.
 */
import type { Unvetted } from '../../core/applications/vetting.ts'
import type { TablePage, TableWish } from '../../core/table.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { cutPage, pageClauses, type SortedList, startingWith } from '../postgres/sorted-list.ts'

export async function insertVetting(tx: Transaction, applicationId: string): Promise<void> {
  await tx.query('insert into application_vettings (application_id) values ($1)', [applicationId])
}

/** An approval is for the name and the scopes that the operator saw. */
const APPROVED = '(v.vetted_at is not null and v.vetted_name = a.name and v.vetted_scopes @> a.allowed_scopes)'

/** Null for every other application, and for users of the account that registered this one. */
const UNVETTED = `select v.outside_grants as "outsideGrants",
    exists (select from grants g where g.user_id = $3 and g.application_id = $1) as counted
  from application_vettings v join applications a on a.id = v.application_id
  where v.application_id = $1 and not ${APPROVED} and a.publisher_status = 'unverified' and a.account_id <> $2`

type Grantor = { readonly id: string; readonly accountId: string }

export async function readUnvetted(db: Queryable, applicationId: string, user: Grantor): Promise<Unvetted | null> {
  const { rows } = await db.query<Unvetted>(UNVETTED, [applicationId, user.accountId, user.id])
  return rows[0] ?? null
}

/**
 * Locks the count, so that it is exact. Locks nothing for an application that is not limited. Read it afterwards: a
 * statement that waited for the lock does not see the grant that was made meanwhile.
 */
export async function lockUnvetted(tx: Transaction, applicationId: string, user: Grantor): Promise<void> {
  await tx.query({
    name: 'lock-unvetted',
    text: `${UNVETTED} for update of v`,
    values: [applicationId, user.accountId, user.id],
  })
}

/** Requires `lockUnvetted`. */
export async function countOutsideGrant(tx: Transaction, applicationId: string): Promise<void> {
  await tx.query('update application_vettings set outside_grants = outside_grants + 1 where application_id = $1', [
    applicationId,
  ])
}

/** Those of the account that an operator has not approved, and those deleted lately. Exact under `lockAccount`. */
export async function countUnvettedApplications(tx: Transaction, accountId: string): Promise<number> {
  const { rows } = await tx.query<{ unvetted: number }>(
    `select count(*) as unvetted from application_vettings v join applications a on a.id = v.application_id
     where a.account_id = $1 and not ${APPROVED} and a.publisher_status = 'unverified'
       and (a.deleted_at is null or a.deleted_at > now() - interval '30 days')`,
    [accountId],
  )
  return rows[0]?.unvetted ?? 0
}

export type Vetting = Pick<Unvetted, 'outsideGrants'> & {
  readonly requestedAt: number | null
  readonly vettedAt: number | null
}

const VETTING = `v.outside_grants as "outsideGrants", v.requested_at as "requestedAt",
  case when ${APPROVED} then v.vetted_at end as "vettedAt"`

/** Null for an application that needs none. */
export async function readVetting(db: Queryable, applicationId: string): Promise<Vetting | null> {
  const { rows } = await db.query<Vetting>(
    `select ${VETTING} from application_vettings v join applications a on a.id = v.application_id
     where v.application_id = $1 and a.publisher_status = 'unverified'`,
    [applicationId],
  )
  return rows[0] ?? null
}

/** False if an operator has looked at it, or was asked before. */
export async function requestVetting(tx: Transaction, applicationId: string, by: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update application_vettings v
     set requested_at = now(), requested_by = $2, vetted_at = null, vetted_name = null, vetted_scopes = null
     from applications a where a.id = v.application_id and v.application_id = $1 and v.requested_at is null
       and not ${APPROVED}`,
    [applicationId, by],
  )
  return rowCount === 1
}

/** False if it was in that state already. What was requested is answered either way. */
export async function setVetted(tx: Transaction, applicationId: string, vetted: boolean): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update application_vettings v
     set vetted_at = case when $2 then now() end, vetted_name = case when $2 then a.name end,
       vetted_scopes = case when $2 then a.allowed_scopes end, requested_at = null, requested_by = null
     from applications a where a.id = v.application_id and v.application_id = $1 and ${APPROVED} <> $2`,
    [applicationId, vetted],
  )
  return rowCount === 1
}

export type ListedVetting = Vetting & {
  readonly applicationId: string
  readonly name: string
  readonly accountSlug: string
  readonly scopes: readonly string[]
  readonly redirectUris: readonly string[]
  /** E-mail address; null: nobody asked, or the user is gone. */
  readonly requestedBy: string | null
}

const LISTED = `select ${VETTING}, a.id as "applicationId", a.name, c.slug as "accountSlug", a.allowed_scopes as scopes,
    a.redirect_uris as "redirectUris", u.email as "requestedBy"
  from application_vettings v join applications a on a.id = v.application_id join accounts c on c.id = a.account_id
    left join users u on u.id = v.requested_by`

/** Applications whose developers wait for an operator, and those that operators approved. */
const STATES = { requested: 'v.requested_at is not null', vetted: APPROVED } as const

export type VettingState = keyof typeof STATES

const listOf = (since: string): SortedList<VettingColumn> => ({
  table: 'application_vettings v join applications a on a.id = v.application_id',
  key: 'v.application_id',
  columns: { name: 'lower(a.name) collate "C"', since },
})

const LISTS = { requested: listOf('v.requested_at'), vetted: listOf('v.vetted_at') } as const

export const vettingColumns = ['name', 'since'] as const
export type VettingColumn = (typeof vettingColumns)[number]

/** `search`: the beginning of the name, or the whole id. */
export async function listVettings(
  db: Queryable,
  state: VettingState,
  wish: TableWish<VettingColumn>,
): Promise<TablePage<ListedVetting>> {
  const { beyond, order } = pageClauses(LISTS[state], wish, '$2')
  const { rows } = await db.query<ListedVetting>(
    `${LISTED} where ${STATES[state]} and a.deleted_at is null
       and ($1 = '%' or a.id = $3 or lower(a.name) collate "C" like $1) and ${beyond} ${order}`,
    [startingWith(wish.search.toLowerCase()), wish.after, wish.search],
  )
  return cutPage(rows, ({ applicationId }) => applicationId)
}

/** Null unless it was requested or approved. */
export async function findListedVetting(db: Queryable, applicationId: string): Promise<ListedVetting | null> {
  const { rows } = await db.query<ListedVetting>(
    `${LISTED} where a.id = $1 and (${STATES.requested} or ${STATES.vetted}) and a.deleted_at is null`,
    [applicationId],
  )
  return rows[0] ?? null
}
