/** The tables passkeys, authenticators and spent_challenges, and the passwords of users: sign-in methods. */

import type { ProviderState } from '../../core/provider/provider.ts'
import type { Origin } from '../../core/sign-in/origin.ts'
import type { PersonFacts } from '../../core/sign-in/person.ts'
import { PERSON_FACTS } from '../accounts/users.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

export type SignInUser = {
  readonly id: string
  readonly accountId: string
  readonly origin: Origin
  /** May sign in here although the identity provider is required. */
  readonly breakGlass: boolean
  readonly email: string
  readonly language: string | null
  readonly disabled: boolean
  readonly passwordDigest: string | null
  readonly authenticator: Authenticator | null
  readonly hasPasskey: boolean
  /** PostgreSQL's time. */
  readonly readAt: number
}

export type Authenticator = {
  readonly id: string
  readonly keyId: number
  readonly lastStep: number
  readonly createdAt: number
}

const SIGN_IN_USER = `select u.id, u.account_id as "accountId", u.origin, u.email, u.language, u.disabled_at is not null as disabled,
    u.password_digest as "passwordDigest", t.id as totp_id, t.key_id, t.last_step, t.created_at,
    exists (select from passkeys p where p.user_id = u.id) as "hasPasskey",
    exists (select from identity_providers i where i.account_id = u.account_id and u.id = any(i.break_glass))
      as "breakGlass",
    now() as "readAt"
  from users u left join authenticators t on t.user_id = u.id`

type Row = Omit<SignInUser, 'authenticator'> & {
  totp_id: string | null
  key_id: number
  last_step: number
  created_at: number
}

export async function findSignInUser(db: Queryable, accountId: string, email: string): Promise<SignInUser | null> {
  const { rows } = await db.query<Row>(`${SIGN_IN_USER} where u.account_id = $1 and u.email = $2`, [accountId, email])
  return rows[0] ? fromRow(rows[0]) : null
}

export async function readSignInUser(db: Queryable, accountId: string, id: string): Promise<SignInUser | null> {
  const { rows } = await db.query<Row>(`${SIGN_IN_USER} where u.account_id = $1 and u.id = $2`, [accountId, id])
  return rows[0] ? fromRow(rows[0]) : null
}

function fromRow({ totp_id, key_id, last_step, created_at, ...user }: Row): SignInUser {
  const authenticator =
    totp_id === null ? null : { id: totp_id, keyId: key_id, lastStep: last_step, createdAt: created_at }
  return { ...user, authenticator }
}

/** Factor that authenticated the user, or the id by which the host service or the identity provider named them. */
export type Proof =
  | { readonly passwordDigest: string }
  | { readonly passkeyId: string }
  | { readonly externalId: string }
  | { readonly issuer: string; readonly subject: string }

/** What core/sign-in/origin.ts and person.ts need to know of a user. */
export type ProvenUser = PersonFacts & { readonly breakGlass: boolean; readonly provider: ProviderState }

/** Where users sign in who prove it so. */
export function originOf(proof: Proof): Origin {
  if ('externalId' in proof) return 'host'
  return 'issuer' in proof ? 'provider' : 'own'
}

/**
 * Locks the user while a session starts, so that the user is not disabled and the method used is not removed meanwhile.
 * Takes the same lock as `lockUserForChange`, so that two sign-ins that both update the user wait for each other.
 */
export async function lockProof(tx: Transaction, userId: string, proof: Proof): Promise<ProvenUser | null> {
  const { rows } = await tx.query<ProvenUser>(
    `select ${PERSON_FACTS}, coalesce(u.id = any(i.break_glass), false) as "breakGlass", coalesce(i.state, 'off') as provider
     from users u left join identity_providers i on i.account_id = u.account_id
     where u.id = $1 and u.disabled_at is null
       and ($2::text is null or u.password_digest = $2)
       and ($3::text is null or exists (select from passkeys p where p.id = $3 and p.user_id = u.id))
       and ($4::text is null or (u.origin = 'host' and u.external_id = $4))
       and ($5::text is null or (u.origin = 'provider' and u.issuer = $5 and i.issuer = $5 and u.subject = $6))
     for no key update of u`,
    [
      userId,
      'passwordDigest' in proof ? proof.passwordDigest : null,
      'passkeyId' in proof ? proof.passkeyId : null,
      'externalId' in proof ? proof.externalId : null,
      'issuer' in proof ? proof.issuer : null,
      'issuer' in proof ? proof.subject : null,
    ],
  )
  return rows[0] ?? null
}

/**
 * Checks that the requesting session is still valid and locks its user for a change. A user who was signed out,
 * disabled or reset since the request began can no longer change their sign-in methods by it.
 */
export async function lockSession(tx: Transaction, sessionId: string, userId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select from users u join sessions s on s.user_id = u.id
     where u.id = $2 and s.id = $1 and s.expires_at > now() and u.disabled_at is null
     for no key update of u for share of s`,
    [sessionId, userId],
  )
  return rowCount === 1
}

export async function savePassword(tx: Transaction, userId: string, digest: string): Promise<void> {
  await tx.query('update users set password_digest = $2 where id = $1', [userId, digest])
}

/** False if the user had none. */
export async function deletePassword(tx: Transaction, userId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update users set password_digest = null where id = $1 and password_digest is not null',
    [userId],
  )
  return rowCount === 1
}

/** Replaces the digest of the same password. False when it was changed meanwhile. */
export async function renewPassword(
  db: Queryable,
  userId: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<boolean> {
  const { rowCount } = await db.query('update users set password_digest = $3 where id = $1 and password_digest = $2', [
    userId,
    from,
    to,
  ])
  return rowCount === 1
}

export async function saveLanguage(db: Queryable, userId: string, language: string): Promise<void> {
  await db.query('update users set language = $2, language_chosen = true where id = $1', [userId, language])
}

/** Sets the language of mails, for a user who never chose one, to the language of the pages they see. */
export async function suggestLanguage(tx: Transaction, userId: string, language: string): Promise<void> {
  await tx.query('update users set language = $2 where id = $1 and language is null', [userId, language])
}

/** False when this step or a later one was accepted before: of two requests with the same code, one wins. */
export async function spendAuthenticatorStep(tx: Transaction, userId: string, step: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update authenticators set last_step = $2 where user_id = $1 and last_step < $2',
    [userId, step],
  )
  return rowCount === 1
}

export async function insertAuthenticator(
  tx: Transaction,
  userId: string,
  authenticator: Omit<Authenticator, 'createdAt'>,
): Promise<void> {
  const { id, keyId, lastStep } = authenticator
  await tx.query(
    `insert into authenticators (user_id, id, key_id, last_step, created_at) values ($1, $2, $3, $4, now())
     on conflict (user_id) do update set id = excluded.id, key_id = excluded.key_id, last_step = excluded.last_step,
       created_at = excluded.created_at`,
    [userId, id, keyId, lastStep],
  )
}

export async function deleteAuthenticator(tx: Transaction, userId: string): Promise<boolean> {
  const { rowCount } = await tx.query('delete from authenticators where user_id = $1', [userId])
  return rowCount === 1
}

export type Passkey = {
  readonly id: string
  readonly userId: string
  readonly publicKey: Buffer
  readonly counter: number
  readonly transports: readonly string[]
}

/** Finds a passkey of an enabled user of this account. */
export async function findPasskey(db: Queryable, accountId: string, id: string): Promise<Passkey | null> {
  const { rows } = await db.query<Passkey>(
    `select p.id, p.user_id as "userId", p.public_key as "publicKey", p.counter, p.transports
     from passkeys p join users u on u.id = p.user_id
     where p.id = $1 and u.account_id = $2 and u.disabled_at is null`,
    [id, accountId],
  )
  return rows[0] ?? null
}

export type NewPasskey = Passkey & { readonly name: string }

/** False when this passkey is already registered. */
export async function insertPasskey(tx: Transaction, passkey: NewPasskey): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into passkeys (id, user_id, public_key, counter, transports, name, created_at)
     values ($1, $2, $3, $4, $5, $6, now()) on conflict (id) do nothing`,
    [passkey.id, passkey.userId, passkey.publicKey, passkey.counter, passkey.transports, passkey.name],
  )
  return rowCount === 1
}

export async function saveCounter(tx: Transaction, id: string, counter: number): Promise<void> {
  await tx.query('update passkeys set counter = $2, last_used_on = now()::date where id = $1', [id, counter])
}

export async function deletePasskey(tx: Transaction, userId: string, id: string): Promise<boolean> {
  const { rowCount } = await tx.query('delete from passkeys where id = $1 and user_id = $2', [id, userId])
  return rowCount === 1
}

export type PasskeyLine = {
  readonly id: string
  readonly name: string
  readonly transports: readonly string[]
  readonly createdAt: number
  readonly lastUsedOn: number | null
}

export async function listPasskeys(db: Queryable, userId: string): Promise<readonly PasskeyLine[]> {
  const { rows } = await db.query<PasskeyLine>(
    `select id, name, transports, created_at as "createdAt", last_used_on::timestamptz as "lastUsedOn"
     from passkeys where user_id = $1 order by created_at`,
    [userId],
  )
  return rows
}

/** False when the challenge was answered before: a captured answer cannot be replayed. */
export async function spendChallenge(tx: Transaction, digest: Buffer, expiresAt: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    'insert into spent_challenges (digest, expires_at) values ($1, $2) on conflict do nothing',
    [digest, new Date(expiresAt)],
  )
  return rowCount === 1
}

export function forgetChallenges(db: Queryable): Promise<void> {
  return forget(db, 'spent_challenges', 'expires_at < now()')
}
