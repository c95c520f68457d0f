/** The table grants: one row per grant, from which every credential is computed. Lists of them are in listed-grants.ts. */
import type { Grant, Holder } from '../core/grant.ts'
import { recordAll } from './audit-events.ts'
import type { Queryable, Transaction } from './postgres.ts'
import { announce } from './standing-changes.ts'
import { HELD_SCOPES } from './users.ts'

export type GrantRow = {
  id: string
  account_id: string
  user_id: string
  application_id: string
  variant: Grant['variant']
  scopes: string[]
  key_id: number
  created_at: number
  generation: number
  key_generation: number
  issued_at: number | null
  key_rotated_at: number | null
  revoked_at: number | null
}

/** For a query over `grants g`. */
export const GRANT = `g.id, g.account_id, g.user_id, g.application_id, g.variant, g.scopes, g.key_id, g.created_at,
  g.generation, g.key_generation, g.issued_at, g.key_rotated_at, g.revoked_at`

type HolderRow = { user_disabled: boolean; application_deleted: boolean }

/** For a query over `users u` and `applications a`. */
const HOLDER = `u.disabled_at is not null as user_disabled, a.deleted_at is not null as application_deleted`

export type NewGrant = Pick<Grant, 'id' | 'accountId' | 'userId' | 'applicationId' | 'variant' | 'scopes' | 'keyId'> & {
  /** Where the user's yes came from: exactly one of the two. */
  readonly deviceCodeId: string | null
  readonly dialogId: string | null
  /** The address that the application asked from, as the server saw it. */
  readonly requestedFrom: string | null
}

export async function insertGrant(tx: Transaction, grant: NewGrant): Promise<void> {
  await tx.query(
    `insert into grants (id, account_id, user_id, application_id, variant, scopes, key_id, device_code_id,
       dialog_id, requested_from, created_at, test)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now(),
       exists (select from applications where id = $4 and tested_as = $3))`,
    [
      grant.id,
      grant.accountId,
      grant.userId,
      grant.applicationId,
      grant.variant,
      grant.scopes,
      grant.keyId,
      grant.deviceCodeId,
      grant.dialogId,
      grant.requestedFrom,
    ],
  )
}

export async function lockGrant(tx: Transaction, id: string): Promise<{ grant: Grant; holder: Holder } | null> {
  const { rows } = await tx.query<GrantRow & HolderRow>({
    name: 'lock-grant',
    text: `select ${GRANT}, ${HOLDER}
      from grants g join users u on u.id = g.user_id join applications a on a.id = g.application_id
      where g.id = $1 for update of g`,
    values: [id],
  })
  return rows[0] ? { grant: grantFrom(rows[0]), holder: holderFrom(rows[0]) } : null
}

/** A grant, and all that says what its credentials may do at this moment. */
export type GrantStanding = {
  readonly grant: Grant
  readonly holder: Holder
  readonly accountSlug: string
  readonly heldScopes: readonly string[]
  readonly allowedScopes: readonly string[]
  /** The day it was last used, as PostgreSQL counts days in UTC: 2026-03-01. */
  readonly usedOn: string | null
  readonly now: number
}

type StandingRow = GrantRow &
  HolderRow & { slug: string; held_scopes: string[]; allowed_scopes: string[]; used_on: string | null; now: number }

const STANDING = `select ${GRANT}, ${HOLDER}, c.slug, ${HELD_SCOPES} as held_scopes, a.allowed_scopes,
    g.last_used_on::text as used_on, now() as now
  from grants g join accounts c on c.id = g.account_id join users u on u.id = g.user_id
    join applications a on a.id = g.application_id
  where g.id = $1`

export async function readGrantStanding(db: Queryable, id: string): Promise<GrantStanding | null> {
  const { rows } = await db.query<StandingRow>({ name: 'read-grant-standing', text: STANDING, values: [id] })
  return rows[0] ? standingFrom(rows[0]) : null
}

export async function lockGrantStanding(tx: Transaction, id: string): Promise<GrantStanding | null> {
  const text = `${STANDING} for update of g`
  const { rows } = await tx.query<StandingRow>({ name: 'lock-grant-standing', text, values: [id] })
  return rows[0] ? standingFrom(rows[0]) : null
}

function standingFrom(row: StandingRow): GrantStanding {
  return {
    grant: grantFrom(row),
    holder: holderFrom(row),
    accountSlug: row.slug,
    heldScopes: row.held_scopes,
    allowedScopes: row.allowed_scopes,
    usedOn: row.used_on,
    now: row.now,
  }
}

/** The day, in UTC: a row is written once a day, however often its credential is used. */
export async function markUsed(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query({
    name: 'mark-grants-used',
    // Whoever is ending grants at this moment is not waited for, nor kept waiting: the next use notes it again.
    text: `update grants set last_used_on = now()::date where id in (
        select id from grants where id = any($1) and last_used_on is distinct from now()::date
        order by id for no key update skip locked)`,
    values: [ids],
  })
}

/** The next generation of a token set. Being refreshed is being used. */
export async function saveRefresh(tx: Transaction, { id, generation, issuedAt }: Grant): Promise<void> {
  await tx.query({
    name: 'save-refresh',
    text: 'update grants set generation = $2, issued_at = $3, last_used_on = now()::date where id = $1',
    values: [id, generation, issuedAt === null ? null : new Date(issuedAt)],
  })
}

/** The next generation of an access key. */
export async function saveRotation(tx: Transaction, { id, keyGeneration, keyRotatedAt }: Grant): Promise<void> {
  const rotatedAt = keyRotatedAt === null ? null : new Date(keyRotatedAt)
  await tx.query('update grants set key_generation = $2, key_rotated_at = $3 where id = $1', [
    id,
    keyGeneration,
    rotatedAt,
  ])
  await announce(tx, { grantId: id })
}

export async function saveIssueTime(tx: Transaction, id: string, issuedAt: number): Promise<void> {
  await tx.query({
    name: 'save-issue-time',
    text: 'update grants set issued_at = $2 where id = $1',
    values: [id, new Date(issuedAt)],
  })
}

/** False when it was revoked before: of many who do it at once, one does. */
export async function revokeGrant(tx: Transaction, id: string, why: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update grants set revoked_at = now(), revoked_why = $2 where id = $1 and revoked_at is null',
    [id, why],
  )
  if (rowCount === 1) await announce(tx, { grantId: id })
  else await keepEnded(tx, ['id = $1', id], why)
  return rowCount === 1
}

/**
 * Grants that a review ended may live again, if the review is undone. Whoever ends one of them meanwhile, for a reason of their
 * own, has ended it for good.
 */
async function keepEnded(tx: Transaction, [condition, of]: readonly [string, string], why: string): Promise<void> {
  await tx.query(`update grants set revoked_why = $2 where ${condition} and revoked_why like 'review:%'`, [of, why])
}

/** Counts no further than it has to. */
export async function hasLiveGrants(db: Queryable, applicationId: string, atLeast: number): Promise<boolean> {
  const { rows } = await db.query<{ grants: number }>(
    `select count(*) as grants from (
       select from grants where application_id = $1 and revoked_at is null limit $2) counted`,
    [applicationId, atLeast],
  )
  return (rows[0]?.grants ?? 0) >= atLeast
}

/** Why a decision of a review ended grants. */
function endedBy(decisionId: string): string {
  return `review:${decisionId}`
}

/** Ends every live grant of an application, until this decision is undone. Returns how many. */
export function revokeByReview(tx: Transaction, applicationId: string, decisionId: string): Promise<number> {
  return revokeGrants(tx, { applicationId }, endedBy(decisionId))
}

/** Those that this decision ended live again, and their credentials with them. Returns how many. */
export async function reviveGrants(tx: Transaction, applicationId: string, decisionId: string): Promise<number> {
  await tx.query("set local statement_timeout = '60s'")
  const { rows } = await tx.query<{ revived: number }>({
    query_timeout: 61_000,
    text: `with revived as (
       update grants set revoked_at = null, revoked_why = null where application_id = $1 and revoked_why = $2
       returning id, account_id, user_id, application_id),
     ${recordAll(`select now(), 'grant.restored', account_id, user_id, application_id, id, null::uuid,
       jsonb_build_object('why', $2::text) from revived`)}
     select count(*) as revived from recorded`,
    values: [applicationId, endedBy(decisionId)],
  })
  const revived = rows[0]?.revived ?? 0
  if (revived > 0) await announce(tx, { applicationId })
  return revived
}

/** Whose grants end together, and of which variant. */
export type Ending =
  | { readonly applicationId: string }
  /** Token sets only: access keys go on until somebody removes them. */
  | { readonly tokenSetsOf: string }

/** Ends every live grant of one application, or every token set of one user, each with its event. Returns how many. */
export async function revokeGrants(tx: Transaction, ending: Ending, why: string): Promise<number> {
  const [condition, of] =
    'applicationId' in ending
      ? (['application_id = $1', ending.applicationId] as const)
      : (["user_id = $1 and variant = 'token_set'", ending.tokenSetsOf] as const)
  // An application may have as many as there are people.
  await tx.query("set local statement_timeout = '60s'")
  const { rows } = await tx.query<{ ended: number }>({
    query_timeout: 61_000,
    text: `with ended as (
       update grants set revoked_at = now(), revoked_why = $2 where revoked_at is null and ${condition}
       returning id, account_id, user_id, application_id),
     ${recordAll(`select now(), 'grant.revoked', account_id, user_id, application_id, id, null::uuid,
       jsonb_build_object('why', $2::text) from ended`)}
     select count(*) as ended from recorded`,
    values: [of, why],
  })
  const ended = rows[0]?.ended ?? 0
  if ('tokenSetsOf' in ending) await keepEnded(tx, [condition, of], why)
  const about = 'applicationId' in ending ? { applicationId: ending.applicationId } : { userId: ending.tokenSetsOf }
  if (ended > 0) await announce(tx, about)
  return ended
}

export function grantFrom(row: GrantRow): Grant {
  return {
    id: row.id,
    accountId: row.account_id,
    userId: row.user_id,
    applicationId: row.application_id,
    variant: row.variant,
    scopes: row.scopes,
    keyId: row.key_id,
    createdAt: row.created_at,
    generation: row.generation,
    keyGeneration: row.key_generation,
    issuedAt: row.issued_at,
    keyRotatedAt: row.key_rotated_at,
    revokedAt: row.revoked_at,
  }
}

function holderFrom(row: HolderRow): Holder {
  return { userDisabled: row.user_disabled, applicationDeleted: row.application_deleted }
}
