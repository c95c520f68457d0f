/**
 * How often somebody may be wrong: signing in, entering codes, looking for a record in DNS. docs/interface.md, "Guessing".
 *
 * Every budget hits whoever was wrong. Where a whole account or network has been wrong too often, those who were wrong
 * themselves are stopped earlier, and nobody else: an honest neighbour of a guesser notices nothing.
 */
const MINUTE = 60_000

/** A window that slides, and how many misses it holds. */
export type Budget = { readonly windowMs: number; readonly max: number }

export const USER_MISSES: Budget = { windowMs: 15 * MINUTE, max: 5 }
export const ACCOUNT_MISSES: Budget = { windowMs: 60 * MINUTE, max: 50 }
export const NETWORK_MISSES: Budget = { windowMs: 60 * MINUTE, max: 30 }

/**
 * Codes that exist and that one user enters, theirs to decide or not: used ones, too, or trying them over and over would cost
 * nothing. Nobody connects twenty devices in ten minutes; somebody who is being worked on might.
 */
export const USER_CLAIMS: Budget = { windowMs: 10 * MINUTE, max: 20 }

/** From here on the misses of everybody together look like an attack on the whole service: codes grow by two digits. */
export const ALL_MISSES: Budget = { windowMs: 60 * MINUTE, max: 1_000 }

/** So many people claiming codes of one application, asked for from one network, look like one sender behind them. */
export const CROWD: Budget = { windowMs: 10 * MINUTE, max: 10 }

export type EntryHistory = {
  /** How long ago, newest first: this user's misses within USER_MISSES. */
  readonly userMisses: readonly number[]
  readonly accountMisses: number
  readonly networkMisses: number
  /** Of this user within USER_CLAIMS. */
  readonly userClaims: readonly number[]
}

export type Allowance = { readonly allowed: true } | { readonly allowed: false; readonly waitMs: number }

const ALLOWED: Allowance = { allowed: true }

export function mayEnterCode(history: EntryHistory): Allowance {
  const crowded = history.accountMisses >= ACCOUNT_MISSES.max || history.networkMisses >= NETWORK_MISSES.max
  const max = crowded ? 1 : USER_MISSES.max
  const misses = within(history.userMisses, { ...USER_MISSES, max })
  return misses.allowed ? within(history.userClaims, USER_CLAIMS) : misses
}

export const ADDRESS_FAILURES: Budget = { windowMs: 15 * MINUTE, max: 10 }
export const BROWSER_FAILURES: Budget = { windowMs: 15 * MINUTE, max: 10 }
export const NETWORK_FAILURES: Budget = { windowMs: 15 * MINUTE, max: 100 }

export type SignInHistory = {
  /** How long ago, newest first: failures with this address, from browsers that never signed in with it. */
  readonly strangers: readonly number[]
  /** From this very browser, if the user signed in with it before. */
  readonly browser: readonly number[] | null
  readonly network: number
}

/** Whoever locks an address out by failing on purpose does not lock out the browser that its owner uses. */
export function maySignIn(history: SignInHistory): Allowance {
  if (history.browser !== null) return within(history.browser, BROWSER_FAILURES)
  const max = history.network >= NETWORK_FAILURES.max ? 1 : ADDRESS_FAILURES.max
  return within(history.strangers, { ...ADDRESS_FAILURES, max })
}

/** How often somebody may have name servers asked for a publisher's record: for one application, and in one account. */
export const APPLICATION_CHECKS: Budget = { windowMs: 10 * MINUTE, max: 10 }
export const ACCOUNT_CHECKS: Budget = { windowMs: 10 * MINUTE, max: 30 }

/** How long ago, newest first. */
export type CheckHistory = { readonly application: readonly number[]; readonly account: readonly number[] }

export function mayCheckPublisher(history: CheckHistory): Allowance {
  const own = within(history.application, APPLICATION_CHECKS)
  return own.allowed ? within(history.account, ACCOUNT_CHECKS) : own
}

/** Free again as soon as fewer than `most` are left in the window. */
function within(agesMs: readonly number[], { windowMs, max }: Budget): Allowance {
  const deciding = agesMs[max - 1]
  return deciding === undefined || deciding >= windowMs ? ALLOWED : { allowed: false, waitMs: windowMs - deciding }
}
