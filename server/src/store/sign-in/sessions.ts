/** The table sessions, and the query that every page starts with: the account and the signed-in user. */

import type { ProviderState } from '../../core/provider/provider.ts'
import type { Origin } from '../../core/sign-in/origin.ts'
import type { SecondFactorFacts } from '../../core/sign-in/second-factor.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

export type Session = {
  readonly id: string
  readonly createdAt: number
  readonly authenticatedAt: number
  /** The user proved a second factor in this session. */
  readonly secondFactor: boolean
  /** Digest of the person as whom they signed in; null: not known. */
  readonly person: string | null
  readonly expiresAt: number
  /** As noted: it may have been used a few minutes later. */
  readonly lastUsedAt: number
}

export type SessionUser = {
  readonly id: string
  readonly origin: Origin
  /** May sign in here although the identity provider is required. */
  readonly breakGlass: boolean
  readonly email: string
  readonly administrator: boolean
  /** Language of mails. */
  readonly language: string | null
  /** The same if the user chose it; null if it was only taken from a browser. */
  readonly chosenLanguage: string | null
  readonly secondFactor: SecondFactorFacts
  readonly session: Session
}

export type HostAccount = {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly colour: string | null
  /** Changes with the image, so that browsers may cache it. */
  readonly logoVersion: string | null
  /** The identity provider's state and its issuer; null: none was entered. */
  readonly provider: ProviderState
  readonly issuer: string | null
}

export type AccountSession = {
  readonly account: HostAccount
  readonly sessionUser: SessionUser | null
  readonly now: number
}

type AccountSessionRow = {
  id: string
  slug: string
  name: string
  colour: string | null
  logo_version: string | null
  provider: ProviderState | null
  issuer: string | null
  break_glass: boolean
  session_id: string | null
  created_at: number
  authenticated_at: number
  second_factor: boolean
  person: string | null
  expires_at: number
  last_used_at: number
  user_id: string
  origin: Origin
  email: string
  language: string | null
  language_chosen: boolean
  joined_at: number
  enrolled: boolean
  administrator_since: number | null
  second_factor_required_at: number | null
  now: number
}

/** `idleMs`: a session that was not used for this long has ended. */
export type PresentedSession = { readonly id: string; readonly idleMs: number }

/**
 * Reads in one round trip the account of a host name and the user of the session, if it is valid and the user is
 * enabled.
 */
export async function findAccountSession(
  db: Queryable,
  slug: string,
  session: PresentedSession | null,
): Promise<AccountSession | null> {
  const { rows } = await db.query<AccountSessionRow>({
    name: 'find-account-session',
    text: `select a.id, a.slug, a.name, a.colour, a.logo_version, a.second_factor_required_at,
        i.state as provider, i.issuer, coalesce(v.user_id = any(i.break_glass), false) as break_glass,
        v.session_id, v.created_at, v.authenticated_at, v.second_factor, v.person, v.expires_at, v.last_used_at, v.user_id, v.origin, v.email,
        v.language, v.language_chosen, v.joined_at,
        (select min(ur.granted_at) from user_roles ur join roles r on r.id = ur.role_id
          where ur.user_id = v.user_id and r.holds_every_scope) as administrator_since,
        exists (select from passkeys p where p.user_id = v.user_id)
          or exists (select from authenticators t where t.user_id = v.user_id) as enrolled,
        now() as now
      from accounts a left join identity_providers i on i.account_id = a.id left join lateral (
        select s.id as session_id, s.created_at, s.authenticated_at, s.second_factor, s.person, s.expires_at, s.last_used_at,
          u.id as user_id, u.origin, u.email, u.language, u.language_chosen, u.created_at as joined_at
        from sessions s join users u on u.id = s.user_id
        where s.id = $2 and s.account_id = a.id and s.expires_at > now()
          and s.last_used_at > now() - $3 * interval '1 millisecond' and u.disabled_at is null) v on true
      where a.slug = $1 and a.closed_at is null`,
    values: [slug, session?.id ?? null, session?.idleMs ?? 0],
  })
  const row = rows[0]
  if (!row) return null
  const { id, name, colour, now } = row
  return {
    account: {
      id,
      slug: row.slug,
      name,
      colour,
      logoVersion: row.logo_version,
      provider: row.provider ?? 'off',
      issuer: row.issuer,
    },
    sessionUser: row.session_id === null ? null : sessionUserFrom(row, row.session_id),
    now,
  }
}

function sessionUserFrom(row: AccountSessionRow, sessionId: string): SessionUser {
  return {
    id: row.user_id,
    origin: row.origin,
    breakGlass: row.break_glass,
    email: row.email,
    administrator: row.administrator_since !== null,
    language: row.language,
    chosenLanguage: row.language_chosen ? row.language : null,
    secondFactor: {
      administratorSince: row.administrator_since,
      joinedAt: row.joined_at,
      requiredAt: row.second_factor_required_at,
      enrolled: row.enrolled,
    },
    session: {
      id: sessionId,
      createdAt: row.created_at,
      authenticatedAt: row.authenticated_at,
      secondFactor: row.second_factor,
      person: row.person,
      expiresAt: row.expires_at,
      lastUsedAt: row.last_used_at,
    },
  }
}

export type NewSession = {
  readonly id: string
  readonly accountId: string
  readonly userId: string
  readonly lifetimeMs: number
  readonly keyId: number
  readonly secondFactor: boolean
  /** Null or absent: not known. */
  readonly person?: string | null
  readonly address: string | null
  readonly agent: string | null
  /** Null or absent: the user authenticated here, just now. */
  readonly elsewhere?: AuthenticatedElsewhere | null
}

/** When and how a user authenticated at the host service or the identity provider. */
export type AuthenticatedElsewhere = {
  readonly authenticatedAt: number
  readonly amr: readonly string[]
  /** Session at the identity provider, if it named one. */
  readonly sid?: string | null
}

export async function insertSession(tx: Transaction, session: NewSession): Promise<void> {
  await tx.query(
    `insert into sessions (id, account_id, user_id, key_id, created_at, authenticated_at, last_used_at, second_factor,
       expires_at, address, agent, amr, provider_sid, person)
     values ($1, $2, $3, $4, now(), least(now(), coalesce($9, now())), now(), $5, now() + $6 * interval '1 millisecond',
       $7, $8, $10, $11, $12)`,
    [
      session.id,
      session.accountId,
      session.userId,
      session.keyId,
      session.secondFactor,
      session.lifetimeMs,
      session.address,
      session.agent,
      session.elsewhere ? new Date(session.elsewhere.authenticatedAt) : null,
      session.elsewhere?.amr ?? [],
      session.elsewhere?.sid ?? null,
      session.person ?? null,
    ],
  )
}

export type HeldSession = Pick<Session, 'createdAt' | 'authenticatedAt'>

/** Whether the session is valid; share-locks it until the transaction ends. */
export async function holdSession(tx: Transaction, id: string, userId: string): Promise<HeldSession | null> {
  const { rows } = await tx.query<HeldSession>({
    name: 'hold-session',
    text: `select created_at as "createdAt", authenticated_at as "authenticatedAt" from sessions
     where id = $1 and user_id = $2 and expires_at > now() for share`,
    values: [id, userId],
  })
  return rows[0] ?? null
}

/**
 * Gives the session a new id after the user re-authenticated, so that an attacker who knows the old id gains nothing.
 */
export async function renewSession(
  tx: Transaction,
  id: string,
  renewed: { readonly id: string; readonly keyId: number; readonly secondFactor: boolean },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `update sessions set id = $2, key_id = $3, authenticated_at = now(), last_used_at = now(),
       second_factor = second_factor or $4
     where id = $1 and expires_at > now()`,
    [id, renewed.id, renewed.keyId, renewed.secondFactor],
  )
  return rowCount === 1
}

/** Notes that the user proved a second factor in the session, by setting one up. */
export async function markSecondFactor(tx: Transaction, id: string): Promise<void> {
  await tx.query('update sessions set second_factor = true where id = $1', [id])
}

/** After the last second factor was removed, no session counts as made with one. */
export async function unmarkSecondFactor(tx: Transaction, userId: string): Promise<void> {
  await tx.query('update sessions set second_factor = false where user_id = $1 and second_factor', [userId])
}

/** Notes that the session's cookie was signed anew. */
export async function setSessionKey(db: Queryable, id: string, keyId: number): Promise<void> {
  await db.query('update sessions set key_id = $2 where id = $1', [id, keyId])
}

/** Records that the session is being used, at most once within `intervalMs`: requests at the same time write once. */
export async function recordSessionUse(db: Queryable, id: string, intervalMs: number): Promise<void> {
  await db.query(
    `update sessions set last_used_at = now() where id = $1 and last_used_at <= now() - $2 * interval '1 millisecond'`,
    [id, intervalMs],
  )
}

/** Ends all but the `keep` sessions of the user that were used last. Requires a lock on the user. Returns how many. */
export async function endOldestSessions(tx: Transaction, userId: string, keep: number): Promise<number> {
  const { rowCount } = await tx.query(
    `delete from sessions where id in (
       select id from sessions where user_id = $1 order by last_used_at desc, created_at desc, id offset $2)`,
    [userId, keep],
  )
  return rowCount ?? 0
}

/** False if there is none with this id, or it is another user's. */
export async function deleteOwnSession(tx: Transaction, userId: string, id: string): Promise<boolean> {
  const { rowCount } = await tx.query('delete from sessions where user_id = $1 and id::text = $2', [userId, id])
  return rowCount === 1
}

/** False if it had ended already. */
export async function deleteSession(tx: Transaction, id: string): Promise<boolean> {
  const { rowCount } = await tx.query('delete from sessions where id = $1', [id])
  return rowCount === 1
}

/** Deletes all sessions of a user, or all but `except`. */
export async function deleteSessions(db: Queryable, userId: string, except: string | null = null): Promise<number> {
  const { rowCount } = await db.query('delete from sessions where user_id = $1 and id is distinct from $2', [
    userId,
    except,
  ])
  return rowCount ?? 0
}

/** Ends the sessions of all users of the identity provider. Returns how many. */
export async function deleteProviderSessions(tx: Transaction, accountId: string): Promise<number> {
  const { rowCount } = await tx.query(
    `delete from sessions s using users u where u.id = s.user_id and u.account_id = $1 and u.origin = 'provider'`,
    [accountId],
  )
  return rowCount ?? 0
}

export type SessionLine = {
  readonly id: string
  readonly createdAt: number
  readonly lastUsedAt: number
  readonly address: string | null
  readonly agent: string | null
}

/** Those used last first. */
export async function listSessions(db: Queryable, userId: string, idleMs: number): Promise<readonly SessionLine[]> {
  const { rows } = await db.query<SessionLine>(
    `select id, created_at as "createdAt", last_used_at as "lastUsedAt", host(address) as address, agent from sessions
     where user_id = $1 and expires_at > now() and last_used_at > now() - $2 * interval '1 millisecond'
     order by last_used_at desc, created_at desc`,
    [userId, idleMs],
  )
  return rows
}

export function forgetSessions(db: Queryable): Promise<void> {
  return forget(db, 'sessions', 'expires_at < now()')
}
