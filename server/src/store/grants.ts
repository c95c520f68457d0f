/** The table grants: one row per grant, from which every credential is computed. Lists of them are in listed-grants.ts. */
import type { Grant, Holder } from '../core/grant.ts'
import type { Queryable, Transaction } from './postgres.ts'
import { HELD_SCOPES } from './users.ts'

export type GrantRow = {
  id: string
  account_id: string
  user_id: string
  application_id: string
  variant: Grant['variant']
  scopes: string[]
  key_id: number
  generation: number
  key_generation: number
  issued_at: number | null
  revoked_at: number | null
}

/** For a query over `grants g`. */
export const GRANT = `g.id, g.account_id, g.user_id, g.application_id, g.variant, g.scopes, g.key_id, g.generation,
  g.key_generation, g.issued_at, g.revoked_at`

type HolderRow = { user_disabled: boolean; application_deleted: boolean }

/** For a query over `users u` and `applications a`. */
const HOLDER = `u.disabled_at is not null as user_disabled, a.deleted_at is not null as application_deleted`

export type NewGrant = Pick<Grant, 'id' | 'accountId' | 'userId' | 'applicationId' | 'variant' | 'scopes' | 'keyId'> & {
  readonly deviceCodeId: string
  /** The address that the application asked from, as the server saw it. */
  readonly requestedFrom: string | null
}

export async function insertGrant(tx: Transaction, grant: NewGrant): Promise<void> {
  await tx.query(
    `insert into grants (id, account_id, user_id, application_id, variant, scopes, key_id, device_code_id,
       requested_from, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now())`,
    [
      grant.id,
      grant.accountId,
      grant.userId,
      grant.applicationId,
      grant.variant,
      grant.scopes,
      grant.keyId,
      grant.deviceCodeId,
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
  readonly usedToday: boolean
  readonly now: number
}

type StandingRow = GrantRow &
  HolderRow & { slug: string; held_scopes: string[]; allowed_scopes: string[]; used_today: boolean; now: number }

export async function readGrantStanding(db: Queryable, id: string): Promise<GrantStanding | null> {
  const { rows } = await db.query<StandingRow>({
    name: 'read-grant-standing',
    text: `select ${GRANT}, ${HOLDER}, c.slug, ${HELD_SCOPES} as held_scopes, a.allowed_scopes,
        g.last_used_on is not distinct from now()::date as used_today, now() as now
      from grants g join accounts c on c.id = g.account_id join users u on u.id = g.user_id
        join applications a on a.id = g.application_id
      where g.id = $1`,
    values: [id],
  })
  const row = rows[0]
  if (!row) return null
  return {
    grant: grantFrom(row),
    holder: holderFrom(row),
    accountSlug: row.slug,
    heldScopes: row.held_scopes,
    allowedScopes: row.allowed_scopes,
    usedToday: row.used_today,
    now: row.now,
  }
}

/** The day, in UTC. Written once a day, however often a credential is used. */
export async function markUsed(db: Queryable, id: string): Promise<void> {
  await db.query({
    name: 'mark-grant-used',
    text: `update grants set last_used_on = now()::date where id = $1 and last_used_on is distinct from now()::date`,
    values: [id],
  })
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
  return rowCount === 1
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
    generation: row.generation,
    keyGeneration: row.key_generation,
    issuedAt: row.issued_at,
    revokedAt: row.revoked_at,
  }
}

function holderFrom(row: HolderRow): Holder {
  return { userDisabled: row.user_disabled, applicationDeleted: row.application_deleted }
}
