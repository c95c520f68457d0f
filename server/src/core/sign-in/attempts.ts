/**
 * Rate limits on failed attempts: signing in, entering codes, checking a publisher's DNS record.
 * docs/interface/device-flow.md, "Guessing".
 *
 * Every budget applies to the party that failed. Where a whole account or network has failed too often, those of its
 * users who failed themselves are stopped earlier, and no others: honest neighbours of a guesser are not affected.
 */
const MINUTE = 60_000

/** A sliding window and the number of failures it allows. */
export type Budget = { readonly windowMs: number; readonly max: number }

export const USER_MISSES: Budget = { windowMs: 15 * MINUTE, max: 5 }
export const ACCOUNT_MISSES: Budget = { windowMs: 60 * MINUTE, max: 50 }
export const NETWORK_MISSES: Budget = { windowMs: 60 * MINUTE, max: 30 }

/** Window of the existing codes that one user enters and does not grant, and of those that the user grants. */
export const USER_CODES_MS = 10 * MINUTE

/** Failures of all users together that indicate an attack on the whole service: user codes grow by two digits. */
export const ALL_MISSES: Budget = { windowMs: 60 * MINUTE, max: 1_000 }

/** This many users claiming codes of one application, requested from one network, indicate a single sender. */
export const CROWD: Budget = { windowMs: 10 * MINUTE, max: 10 }

export type EntryHistory = {
  /** Ages of this user's failures within USER_MISSES, newest first. */
  readonly userMisses: readonly number[]
  readonly accountMisses: number
  readonly networkMisses: number
  /**
   * Ages within USER_CODES_MS, newest first, of existing codes that this user entered and did not grant, including used and
   * foreign ones; otherwise trying them repeatedly would be free.
   */
  readonly userClaims: readonly number[]
}

export type Allowance = { readonly allowed: true } | { readonly allowed: false; readonly waitMs: number }

const ALLOWED: Allowance = { allowed: true }

/** `claims`: existing codes that the user may leave without a grant. An installer grants nearly all of them. */
export function mayEnterCode(history: EntryHistory, claims: number): Allowance {
  const crowded = history.accountMisses >= ACCOUNT_MISSES.max || history.networkMisses >= NETWORK_MISSES.max
  const max = crowded ? 1 : USER_MISSES.max
  const misses = within(history.userMisses, { ...USER_MISSES, max })
  return misses.allowed ? within(history.userClaims, { windowMs: USER_CODES_MS, max: claims }) : misses
}

/**
 * Whether a user who granted `max` codes within USER_CODES_MS, all of them since signing in, has to sign in again. `grants`:
 * ages, newest first. An installer does so once in a while; a victim of social engineering gets time to think.
 */
export function mustSignInAgain(grants: readonly number[], signedInMs: number, max: number): boolean {
  const deciding = grants[max - 1]
  return deciding !== undefined && deciding < Math.min(signedInMs, USER_CODES_MS)
}

export const ADDRESS_FAILURES: Budget = { windowMs: 15 * MINUTE, max: 10 }
export const BROWSER_FAILURES: Budget = { windowMs: 15 * MINUTE, max: 10 }
export const NETWORK_FAILURES: Budget = { windowMs: 15 * MINUTE, max: 100 }

export type SignInHistory = {
  /** Ages of failures with this e-mail address, newest first, from browsers that never signed in with it. */
  readonly strangers: readonly number[]
  /** Ages of failures from this browser; null if the user never signed in with it. */
  readonly browser: readonly number[] | null
  readonly network: number
}

/** An attacker who locks an e-mail address by failing on purpose does not lock out the browser that its owner uses. */
export function maySignIn(history: SignInHistory): Allowance {
  if (history.browser !== null) return within(history.browser, BROWSER_FAILURES)
  const max = history.network >= NETWORK_FAILURES.max ? 1 : ADDRESS_FAILURES.max
  return within(history.strangers, { ...ADDRESS_FAILURES, max })
}

/** Whether a failure of this attempt spends the budget. */
export function isLastAttempt(history: SignInHistory): boolean {
  const failed =
    history.browser === null ? { strangers: [0, ...history.strangers] } : { browser: [0, ...history.browser] }
  return !maySignIn({ ...history, ...failed }).allowed
}

/** Limits of DNS look-ups of publisher records: per application and per account. */
export const APPLICATION_CHECKS: Budget = { windowMs: 10 * MINUTE, max: 10 }
export const ACCOUNT_CHECKS: Budget = { windowMs: 10 * MINUTE, max: 30 }

/** Ages, newest first. */
export type CheckHistory = { readonly application: readonly number[]; readonly account: readonly number[] }

export function mayCheckPublisher(history: CheckHistory): Allowance {
  const own = within(history.application, APPLICATION_CHECKS)
  return own.allowed ? within(history.account, ACCOUNT_CHECKS) : own
}

/** Allowed again as soon as fewer than `max` are left in the window. */
function within(agesMs: readonly number[], { windowMs, max }: Budget): Allowance {
  const deciding = agesMs[max - 1]
  return deciding === undefined || deciding >= windowMs ? ALLOWED : { allowed: false, waitMs: windowMs - deciding }
}
