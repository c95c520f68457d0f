/**
 * The tables sign_in_failures and code_entries: failed sign-ins and entered user codes. The limits are in
 * core/sign-in/attempts.ts.
 */

import {
  ACCOUNT_MISSES,
  ADDRESS_FAILURES,
  ALL_MISSES,
  BROWSER_FAILURES,
  type Budget,
  CROWD,
  type EntryHistory,
  NETWORK_FAILURES,
  NETWORK_MISSES,
  type SignInHistory,
  USER_CODES_MS,
  USER_MISSES,
} from '../../core/sign-in/attempts.ts'
import { lockByName } from '../postgres/advisory-locks.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

export type SignInAttempt = {
  readonly accountId: string
  /** Keyed digest (secrets/web-texts.ts). */
  readonly email: Buffer
  /** Set when the user has signed in with this browser before. */
  readonly browser: string | null
  readonly network: string | null
  /** For the audit log. */
  readonly userId: string | null
  readonly step: SignInStep
}

/** `confirm`: a signed-in user who has to prove their identity once more. */
export type SignInStep = 'password' | 'code' | 'passkey' | 'confirm'

export type ReservedAttempt = {
  readonly id: number
  /** Failures before this attempt. */
  readonly history: SignInHistory
}

/**
 * Records a failure before the password is verified; it is deleted when the password was right. Otherwise concurrent
 * attempts could all see room for one more.
 */
export async function reserveSignInAttempt(tx: Transaction, attempt: SignInAttempt): Promise<ReservedAttempt> {
  await lockByName(tx, `sign_in:${attempt.email.toString('hex')}`)
  const { email, browser, network } = attempt
  const { rows } = await tx.query<{ strangers: number[]; browser: number[]; network: number }>(
    `select
       ${agesOf('sign_in_failures where email = $1 and browser is null', ADDRESS_FAILURES)} as strangers,
       ${agesOf('sign_in_failures where email = $1 and browser = $2', BROWSER_FAILURES)} as browser,
       ${countOf('sign_in_failures where network = $3', NETWORK_FAILURES)} as network`,
    [email, browser, network],
  )
  const history = rows[0] ?? { strangers: [], browser: [], network: 0 }
  const inserted = await tx.query<{ id: number }>(
    'insert into sign_in_failures (at, account_id, email, browser, network) values (now(), $1, $2, $3, $4) returning id',
    [attempt.accountId, email, browser, network],
  )
  return { id: inserted.rows[0]?.id ?? 0, history: { ...history, browser: browser === null ? null : history.browser } }
}

/** Deletes the failures: the attempts succeeded, or the password was not verified at all. */
export async function releaseSignInAttempts(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query('delete from sign_in_failures where id = any($1)', [ids])
}

export type Entry = {
  readonly accountId: string
  readonly userId: string
  readonly network: string | null
  /**
   * `known`: the code exists, but not (or no longer) for this user. A code that exists was not guessed, so this is no
   * miss.
   */
  readonly outcome: 'claimed' | 'missed' | 'known'
  readonly applicationId: string | null
  readonly deviceCodeId: string | null
  readonly requestedNetwork: string | null
}

/** Serializes what a user enters and grants: of two hundred concurrent codes, no more count as the first than the limits allow. */
export async function lockEntries(tx: Transaction, userId: string): Promise<void> {
  await lockByName(tx, `entry:${userId}`)
}

export async function lockEntryHistory(
  tx: Transaction,
  who: Pick<Entry, 'accountId' | 'userId' | 'network'>,
): Promise<EntryHistory> {
  await lockEntries(tx, who.userId)
  const { rows } = await tx.query<EntryHistory>({
    name: 'read-entry-history',
    text: `select
       ${agesOf("code_entries where user_id = $1 and outcome = 'missed'", USER_MISSES)} as "userMisses",
       ${countOf("code_entries where account_id = $2 and outcome = 'missed'", ACCOUNT_MISSES)} as "accountMisses",
       ${countOf("code_entries where network = $3 and outcome = 'missed'", NETWORK_MISSES)} as "networkMisses",
       ${agesOf(`code_entries where user_id = $1 and outcome in ('claimed', 'known') and ${NOT_GRANTED}`, USER_CODES)} as "userClaims"`,
    values: [who.userId, who.accountId, who.network],
  })
  return rows[0] ?? { userMisses: [], accountMisses: 0, networkMisses: 0, userClaims: [] }
}

/** Codes that the user granted, not another user. */
const NOT_GRANTED = `not exists (select from grants
  where grants.device_code_id = code_entries.device_code_id and grants.user_id = code_entries.user_id)`

const USER_CODES = { windowMs: USER_CODES_MS }

/** Ages of the grants that this user gave by code, newest first. */
export async function readGrantAges(db: Queryable, userId: string): Promise<readonly number[]> {
  const { rows } = await db.query<{ ages: number[] }>({
    name: 'read-grant-ages',
    text: `select ${agesOf('grants where user_id = $1 and device_code_id is not null', USER_CODES, 'created_at')} as ages`,
    values: [userId],
  })
  return rows[0]?.ages ?? []
}

export async function recordEntry(tx: Transaction, entry: Entry): Promise<void> {
  await tx.query({
    name: 'record-entry',
    text: `insert into code_entries
       (at, account_id, user_id, network, outcome, application_id, device_code_id, requested_network)
     values (now(), $1, $2, $3, $4, $5, $6, $7)`,
    values: [
      entry.accountId,
      entry.userId,
      entry.network,
      entry.outcome,
      entry.applicationId,
      entry.deviceCodeId,
      entry.requestedNetwork,
    ],
  })
}

/**
 * Number of distinct users who claimed codes that this application requested from this network, within the window of
 * CROWD.
 */
export async function countCrowd(db: Queryable, applicationId: string, network: string | null): Promise<number> {
  const { rows } = await db.query<{ people: number }>({
    name: 'count-crowd',
    text: `select count(distinct user_id) as people from code_entries
     where outcome = 'claimed' and application_id = $1 and requested_network = $2
       and at > now() - interval '${CROWD.windowMs} milliseconds'`,
    values: [applicationId, network],
  })
  return rows[0]?.people ?? 0
}

/** Serializes transactions that are about to notify an account's administrators of a crowd. */
export async function lockCrowd(tx: Transaction, accountId: string, applicationId: string): Promise<void> {
  await lockByName(tx, `crowd:${accountId}:${applicationId}`)
}

/** Misses of all users, within the window of ALL_MISSES. */
export async function countMisses(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ misses: number }>(
    `select ${countOf("code_entries where outcome = 'missed'", ALL_MISSES)} as misses`,
  )
  return rows[0]?.misses ?? 0
}

/** Purges attempts after a day. */
export async function forgetAttempts(db: Queryable): Promise<void> {
  await forget(db, 'sign_in_failures', "at < now() - interval '1 day'")
  await forget(db, 'code_entries', "at < now() - interval '1 day'")
}

type Window = Pick<Budget, 'windowMs'>

/** Ages in ms, newest first. `rows` is a table with a condition, a constant of this file. */
function agesOf(rows: string, { windowMs }: Window, at = 'at'): string {
  return `array(select (extract(epoch from now() - ${at}) * 1000)::float8 from ${rows}
    and ${at} > now() - interval '${windowMs} milliseconds' order by ${at} desc limit 200)`
}

function countOf(rows: string, { windowMs }: Window): string {
  return `(select count(*) from ${rows} and at > now() - interval '${windowMs} milliseconds')`
}
