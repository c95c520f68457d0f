/** The table grants: one row per grant, from which every credential is computed. Lists of grants are in listed.ts. */
import type { Actor } from '../../core/audit/actor.ts'
import type { Grant, Holder } from '../../core/grants/grant.ts'
import type { RevocationReason } from '../../core/grants/revocation-reason.ts'
import { HELD_SCOPES } from '../accounts/users.ts'
import { recordAll } from '../audit/events.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { announce, type GrantChange } from './changes.ts'

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
  used_generation: number
  key_generation: number
  issued_at: number | null
  key_rotated_at: number | null
  revoked_at: number | null
  test_ends_at: number | null
}

/** Columns for a query over `grants g`. */
export const GRANT = `g.id, g.account_id, g.user_id, g.application_id, g.variant, g.scopes, g.key_id, g.created_at,
  g.generation, g.used_generation, g.key_generation, g.issued_at, g.key_rotated_at, g.revoked_at, g.test_ends_at`

type HolderRow = { user_disabled: boolean; account_closed: boolean; application_deleted: boolean }

/** Columns for a query over `users u`, `accounts c` and `applications a`. */
const HOLDER = `u.disabled_at is not null as user_disabled, c.closed_at is not null as account_closed,
  a.deleted_at is not null as application_deleted`

export type NewGrant = Pick<
  Grant,
  'id' | 'accountId' | 'userId' | 'applicationId' | 'variant' | 'scopes' | 'keyId' | 'testEndsAt'
> & {
  readonly secret: string
  /** Origin of the grant: exactly one of the two is set. */
  readonly deviceCodeId: string | null
  readonly dialogId: string | null
  /** The address from which the application made its request, as seen by the server. */
  readonly requestedFrom: string | null
}

export async function insertGrant(tx: Transaction, grant: NewGrant): Promise<void> {
  await tx.query({
    name: 'insert-grant',
    text: `insert into grants (id, secret, account_id, user_id, application_id, variant, scopes, key_id, device_code_id,
       dialog_id, requested_from, created_at, test_ends_at, first_of_user)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now(), $12,
       not exists (select from grants before where before.user_id = $4 and before.application_id = $5))`,
    values: [
      grant.id,
      grant.secret,
      grant.accountId,
      grant.userId,
      grant.applicationId,
      grant.variant,
      grant.scopes,
      grant.keyId,
      grant.deviceCodeId,
      grant.dialogId,
      grant.requestedFrom,
      grant.testEndsAt === null ? null : new Date(grant.testEndsAt),
    ],
  })
}

export type LockedGrant = {
  readonly grant: Grant
  /** Secret from which its credentials are computed (secrets/credentials.ts); must not be used for anything else. */
  readonly secret: string
  readonly holder: Holder
}

export async function lockGrant(tx: Transaction, id: string): Promise<LockedGrant | null> {
  const { rows } = await tx.query<GrantRow & HolderRow & { secret: string }>({
    name: 'lock-grant',
    text: `select ${GRANT}, g.secret, ${HOLDER}
      from grants g join accounts c on c.id = g.account_id join users u on u.id = g.user_id
        join applications a on a.id = g.application_id
      where g.id = $1 for update of g`,
    values: [id],
  })
  return rows[0] ? { grant: grantFrom(rows[0]), secret: rows[0].secret, holder: holderFrom(rows[0]) } : null
}

/** A grant with everything that determines what its credentials may do now. */
export type GrantState = {
  readonly grant: Grant
  readonly holder: Holder
  readonly accountSlug: string
  readonly accountExternalId: string | null
  readonly userExternalId: string | null
  readonly heldScopes: readonly string[]
  readonly allowedScopes: readonly string[]
  /** The day of last use in UTC, as PostgreSQL writes it: 2026-03-01. */
  readonly usedOn: string | null
  readonly now: number
}

type GrantStateRow = GrantRow &
  HolderRow & {
    slug: string
    account_external_id: string | null
    user_external_id: string | null
    held_scopes: string[]
    allowed_scopes: string[]
    used_on: string | null
    now: number
  }

const GRANT_STATE = `select ${GRANT}, ${HOLDER}, c.slug, c.external_id as account_external_id,
    u.external_id as user_external_id, ${HELD_SCOPES} as held_scopes, a.allowed_scopes,
    g.last_used_on::text as used_on, now() as now
  from grants g join accounts c on c.id = g.account_id join users u on u.id = g.user_id
    join applications a on a.id = g.application_id
  where g.secret = $1`

/** Finds a grant by the secret that a presented credential carries. */
export async function readGrantState(db: Queryable, secret: string): Promise<GrantState | null> {
  const { rows } = await db.query<GrantStateRow>({ name: 'read-grant-state', text: GRANT_STATE, values: [secret] })
  return rows[0] ? grantStateFrom(rows[0]) : null
}

export async function lockGrantState(tx: Transaction, secret: string): Promise<GrantState | null> {
  const text = `${GRANT_STATE} for update of g`
  const { rows } = await tx.query<GrantStateRow>({ name: 'lock-grant-state', text, values: [secret] })
  return rows[0] ? grantStateFrom(rows[0]) : null
}

function grantStateFrom(row: GrantStateRow): GrantState {
  return {
    grant: grantFrom(row),
    holder: holderFrom(row),
    accountSlug: row.slug,
    accountExternalId: row.account_external_id,
    userExternalId: row.user_external_id,
    heldScopes: row.held_scopes,
    allowedScopes: row.allowed_scopes,
    usedOn: row.used_on,
    now: row.now,
  }
}

export type GrantUse = {
  readonly id: string
  /** Of the accepted access token; 0 for an access key. */
  readonly generation: number
}

/**
 * Stores the day (UTC) of last use and the generation whose access token was accepted: at most one write per grant, day
 * and generation, however often its credentials are used. Returns the stored generations.
 */
export async function markUsed(db: Queryable, uses: readonly GrantUse[]): Promise<readonly GrantUse[]> {
  const { rows } = await db.query<GrantUse>({
    name: 'mark-grants-used',
    // Skips rows locked by a concurrent revocation, so that neither waits for the other; the next use marks them again.
    // A generation that is not the current one is ignored: an older one is known to be used, and a newer one comes from
    // before the database was restored.
    text: `update grants g set last_used_on = now()::date,
        used_generation = case when used.generation = g.generation then g.generation else g.used_generation end
      from (
        select id, u.generation from grants join unnest($1::text[], $2::integer[]) u(id, generation) using (id)
        where last_used_on is distinct from now()::date
          or (u.generation = grants.generation and grants.used_generation < u.generation)
        order by id for no key update of grants skip locked) used
      where g.id = used.id
      returning g.id, case when used.generation = g.generation then used.generation else 0 end as generation`,
    values: [uses.map(({ id }) => id), uses.map(({ generation }) => generation)],
  })
  return rows
}

/** Assignments of an update of `grants`: from now on the key with this id signs the credentials. */
export const changeKey = (parameter: string) => `key_id = ${parameter},
  previous_key_id = case when key_id = ${parameter} then previous_key_id else key_id end,
  key_changed_at = case when key_id = ${parameter} then key_changed_at else now() end`

/** Saves the next generation of a token set. A refresh counts as a use. */
export async function saveRefresh(tx: Transaction, { id, generation, issuedAt, keyId }: Grant): Promise<void> {
  await tx.query({
    name: 'save-refresh',
    text: `update grants set generation = $2, issued_at = $3, last_used_on = now()::date, ${changeKey('$4')}
      where id = $1`,
    values: [id, generation, issuedAt === null ? null : new Date(issuedAt), keyId],
  })
  tx.journal({ kind: 'refresh_token', grant: id, generation, issuedAt: issuedAt ?? 0, key: keyId })
}

/** Saves the next generation of an access key. */
export async function saveRotation(tx: Transaction, { id, keyGeneration, keyRotatedAt, keyId }: Grant): Promise<void> {
  const rotatedAt = keyRotatedAt === null ? null : new Date(keyRotatedAt)
  await tx.query(`update grants set key_generation = $2, key_rotated_at = $3, ${changeKey('$4')} where id = $1`, [
    id,
    keyGeneration,
    rotatedAt,
    keyId,
  ])
  await announce(tx, { grantId: id })
  tx.journal({ kind: 'access_key', grant: id, generation: keyGeneration, issuedAt: keyRotatedAt ?? 0, key: keyId })
}

export async function saveIssueTime(tx: Transaction, id: string, issuedAt: number): Promise<void> {
  await tx.query({
    name: 'save-issue-time',
    text: 'update grants set issued_at = $2 where id = $1',
    values: [id, new Date(issuedAt)],
  })
}

/**
 * A `with` clause, `chosen`: the grants that match a condition, locked. Transactions that change several grants lock
 * them in the order of their ids, so that two with grants in common do not deadlock (ARCHITECTURE.md, "Lock order").
 */
export function chooseGrants(condition: string): string {
  return `chosen as (select g.id from grants g where ${condition} order by g.id for no key update of g)`
}

/** False when the grant was revoked before: of several concurrent calls, one returns true. */
export async function markRevoked(tx: Transaction, id: string, reason: RevocationReason): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update grants set revoked_at = now(), revocation_reason = $2 where id = $1 and revoked_at is null',
    [id, reason],
  )
  if (rowCount === 1) await announce(tx, { grantId: id })
  else await makeFinal(tx, ['id = $1', id], reason)
  return rowCount === 1
}

/** A second revocation, for another reason than the review: no decision can restore the grant any more. */
async function makeFinal(
  tx: Transaction,
  [condition, of]: readonly [string, string],
  reason: RevocationReason,
): Promise<void> {
  await tx.query(
    `with ${chooseGrants(`${condition} and revoked_by_decision is not null`)}
     update grants g set revocation_reason = $2, revoked_by_decision = null from chosen where g.id = chosen.id`,
    [of, reason],
  )
}

/** Counts at most `atLeast` rows. */
export async function hasLiveGrants(db: Queryable, applicationId: string, atLeast: number): Promise<boolean> {
  const { rows } = await db.query<{ grants: number }>(
    `select count(*) as grants from (
       select from grants where application_id = $1 and revoked_at is null limit $2) counted`,
    [applicationId, atLeast],
  )
  return (rows[0]?.grants ?? 0) >= atLeast
}

/**
 * Restores the grants that this decision revoked, and with them their credentials. Returns the number of restored
 * grants.
 */
export async function restoreGrants(
  tx: Transaction,
  actor: Actor,
  applicationId: string,
  decisionId: string,
): Promise<number> {
  await tx.allowSeconds(60)
  const { rows } = await tx.query<{ restored: number }>({
    query_timeout: 61_000,
    text: `with ${chooseGrants('application_id = $1 and revoked_by_decision = $2')},
     restored as (
       update grants g set revoked_at = null, revocation_reason = null, revoked_by_decision = null
       from chosen where g.id = chosen.id
       returning g.id, g.account_id, g.user_id, g.application_id),
     ${recordAll(`select now(), 'grant.restored', $3::text, $4::text, $5::text, account_id, user_id, application_id, id, null::uuid,
       jsonb_build_object('decision', $2::text) from restored`)}
     select count(*) as restored from recorded`,
    values: [applicationId, decisionId, actor.kind, actor.id, actor.via],
  })
  const restored = rows[0]?.restored ?? 0
  if (restored > 0) await announce(tx, { applicationId })
  return restored
}

/** Grants that are revoked together. */
export type Revocation =
  /** With a decision: revoked by it, and restorable. */
  | { readonly applicationId: string; readonly decisionId?: string }
  /** Token sets of a user only: access keys stay valid until they are revoked one by one. */
  | { readonly tokenSetsOf: string }
  /** All grants of a user, access keys included. */
  | { readonly userId: string }
  /** Grants made in test mode of this application only. */
  | { readonly testsOf: string }

/**
 * Revokes every live grant of an application or a user, every token set of a user, or every test grant of an application, each
 * with an audit event. Returns the number of revoked grants.
 */
export async function revokeGrants(
  tx: Transaction,
  actor: Actor,
  which: Revocation,
  reason: RevocationReason,
): Promise<number> {
  const { condition, of, about, decisionId = null } = revocationOf(which)
  // An application may have as many grants as there are users.
  await tx.allowSeconds(60)
  const { rows } = await tx.query<{ revoked: number }>({
    query_timeout: 61_000,
    text: `with ${chooseGrants(`revoked_at is null and ${condition}`)},
     revoked as (
       update grants g set revoked_at = now(), revocation_reason = $2, revoked_by_decision = $3
       from chosen where g.id = chosen.id
       returning g.id, g.account_id, g.user_id, g.application_id),
     ${recordAll(`select now(), 'grant.revoked', $4::text, $5::text, $6::text, account_id, user_id, application_id, id, null::uuid,
       jsonb_strip_nulls(jsonb_build_object('reason', $2::text, 'decision', $3::text)) from revoked`)}
     select count(*) as revoked from recorded`,
    values: [of, reason, decisionId, actor.kind, actor.id, actor.via],
  })
  const revoked = rows[0]?.revoked ?? 0
  if (!('applicationId' in which)) await makeFinal(tx, [condition, of], reason)
  if (revoked > 0) await announce(tx, about)
  return revoked
}

type RevocationQuery = {
  readonly condition: string
  readonly of: string
  readonly about: GrantChange
  readonly decisionId?: string | undefined
}

function revocationOf(which: Revocation): RevocationQuery {
  if ('tokenSetsOf' in which) {
    const of = which.tokenSetsOf
    return { condition: "user_id = $1 and variant = 'token_set'", of, about: { userId: of } }
  }
  if ('userId' in which) return { condition: 'user_id = $1', of: which.userId, about: { userId: which.userId } }
  if ('testsOf' in which) {
    const of = which.testsOf
    return { condition: 'application_id = $1 and test_ends_at is not null', of, about: { applicationId: of } }
  }
  const { applicationId: of, decisionId } = which
  return { condition: 'application_id = $1', of, about: { applicationId: of }, decisionId }
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
    usedGeneration: row.used_generation,
    keyGeneration: row.key_generation,
    issuedAt: row.issued_at,
    keyRotatedAt: row.key_rotated_at,
    revokedAt: row.revoked_at,
    testEndsAt: row.test_ends_at,
  }
}

function holderFrom(row: HolderRow): Holder {
  return {
    userDisabled: row.user_disabled,
    accountClosed: row.account_closed,
    applicationDeleted: row.application_deleted,
  }
}
