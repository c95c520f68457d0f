/** The tables sign_in_failures and code_entries: who was wrong how often. Rows are facts; the budgets are in core/sign-in/attempts.ts. */

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
  USER_CLAIMS,
  USER_MISSES,
} from '../../core/sign-in/attempts.ts'
import { lockByName } from '../postgres/advisory-locks.ts'
import type { Queryable, Transaction } from '../postgres/postgres.ts'
import { forget } from '../postgres/purge.ts'

export type SignInAttempt = {
  readonly accountId: string
  /** Keyed digest (secrets/web-texts.ts). */
  readonly email: Buffer
  /** Set when the user signed in with this browser before. */
  readonly browser: string | null
  readonly network: string | null
}

export type ReservedAttempt = {
  readonly id: number
  /** What came before this attempt. */
  readonly history: SignInHistory
}

/**
 * Written before the password is looked at and taken back when it was right: attempts that arrive at once cannot all see
 * room for one more.
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

/** The attempt was not a failure after all, or was not even looked at. */
export async function releaseSignInAttempt(db: Queryable, id: number): Promise<void> {
  await db.query('delete from sign_in_failures where id = $1', [id])
}

export type Entry = {
  readonly accountId: string
  readonly userId: string
  readonly network: string | null
  /** `known`: there is such a code, but not (or no longer) for this user. Nobody guesses a code that exists. */
  readonly outcome: 'claimed' | 'missed' | 'known'
  readonly applicationId: string | null
  readonly requestedNetwork: string | null
}

/** One entry after the other for each user: of two hundred at once, no more are looked at than the budget holds. */
export async function lockEntryHistory(
  tx: Transaction,
  who: Pick<Entry, 'accountId' | 'userId' | 'network'>,
): Promise<EntryHistory> {
  await lockByName(tx, `entry:${who.userId}`)
  const { rows } = await tx.query<EntryHistory>(
    `select
       ${agesOf("code_entries where user_id = $1 and outcome = 'missed'", USER_MISSES)} as "userMisses",
       ${countOf("code_entries where account_id = $2 and outcome = 'missed'", ACCOUNT_MISSES)} as "accountMisses",
       ${countOf("code_entries where network = $3 and outcome = 'missed'", NETWORK_MISSES)} as "networkMisses",
       ${agesOf("code_entries where user_id = $1 and outcome in ('claimed', 'known')", USER_CLAIMS)} as "userClaims"`,
    [who.userId, who.accountId, who.network],
  )
  return rows[0] ?? { userMisses: [], accountMisses: 0, networkMisses: 0, userClaims: [] }
}

export async function recordEntry(tx: Transaction, entry: Entry): Promise<void> {
  await tx.query(
    `insert into code_entries (at, account_id, user_id, network, outcome, application_id, requested_network)
     values (now(), $1, $2, $3, $4, $5, $6)`,
    [entry.accountId, entry.userId, entry.network, entry.outcome, entry.applicationId, entry.requestedNetwork],
  )
}

/** How many different people claimed codes that this application asked for from this network, lately. */
export async function countCrowd(db: Queryable, applicationId: string, network: string | null): Promise<number> {
  const { rows } = await db.query<{ people: number }>(
    `select count(distinct user_id) as people from code_entries
     where outcome = 'claimed' and application_id = $1 and requested_network = $2
       and at > now() - interval '${CROWD.windowMs} milliseconds'`,
    [applicationId, network],
  )
  return rows[0]?.people ?? 0
}

/** One after the other, for those who are about to tell an account's administrators of a crowd. */
export async function lockCrowd(tx: Transaction, accountId: string, applicationId: string): Promise<void> {
  await lockByName(tx, `crowd:${accountId}:${applicationId}`)
}

/** Of everybody, within the window of ALL_MISSES. */
export async function countMisses(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ misses: number }>(
    `select ${countOf("code_entries where outcome = 'missed'", ALL_MISSES)} as misses`,
  )
  return rows[0]?.misses ?? 0
}

/** Nothing here matters after a day. */
export async function forgetAttempts(db: Queryable): Promise<void> {
  await forget(db, 'sign_in_failures', "at < now() - interval '1 day'")
  await forget(db, 'code_entries', "at < now() - interval '1 day'")
}

/** How long ago each was, in ms, newest first. `rows` is a table with its condition, written here. */
function agesOf(rows: string, { windowMs }: Budget): string {
  return `array(select (extract(epoch from now() - at) * 1000)::float8 from ${rows}
    and at > now() - interval '${windowMs} milliseconds' order by at desc limit 200)`
}

function countOf(rows: string, { windowMs }: Budget): string {
  return `(select count(*) from ${rows} and at > now() - interval '${windowMs} milliseconds')`
}
