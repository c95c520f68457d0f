/**
 * The table application_vettings: applications that were registered in the developer console, and whether an operator
 * has looked at them.
 */
import type { Unvetted } from '../../core/applications/vetting.ts'
import type { VettingRequest } from '../../core/reviews/queue.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'

export async function insertVetting(tx: Transaction, applicationId: string): Promise<void> {
  await tx.query('insert into application_vettings (application_id) values ($1)', [applicationId])
}

/** An approval is for the name and the scopes that the operator saw. Over `application_vettings v` and `applications a`. */
export const APPROVED = '(v.vetted_at is not null and v.vetted_name = a.name and v.vetted_scopes @> a.allowed_scopes)'

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

/** Serializes what operators answer with grants, which are counted. */
export async function lockVetting(tx: Transaction, applicationId: string): Promise<void> {
  await tx.query('select from application_vettings where application_id = $1 for no key update', [applicationId])
}

/** What was requested is answered either way. */
export async function setVetted(tx: Transaction, applicationId: string, vetted: boolean): Promise<void> {
  await tx.query(
    `update application_vettings v
     set vetted_at = case when $2 then now() end, vetted_name = case when $2 then a.name end,
       vetted_scopes = case when $2 then a.allowed_scopes end, requested_at = null, requested_by = null
     from applications a where a.id = v.application_id and v.application_id = $1`,
    [applicationId, vetted],
  )
}

/** Null unless it was requested or approved. */
export async function findVettingRequest(db: Queryable, applicationId: string): Promise<VettingRequest | null> {
  const { rows } = await db.query<VettingRequest>(
    `select 'vetting' as kind, u.email as by, coalesce(v.requested_at, v.vetted_at) as since,
       v.requested_at is null as approved, v.outside_grants as "outsideGrants", a.allowed_scopes as scopes,
       a.redirect_uris as "redirectUris"
     from application_vettings v join applications a on a.id = v.application_id left join users u on u.id = v.requested_by
     where a.id = $1 and (v.requested_at is not null or ${APPROVED})`,
    [applicationId],
  )
  return rows[0] ?? null
}
