/**
 * Sign-in by password from a stranger: a browser that never signed in as this user. Credential stuffing tries each leaked
 * pair once, so the budget per e-mail address never stops it; these three do. docs/decisions/0035.
 */
import type { Budget } from './attempts.ts'

const MINUTE = 60_000

/** Window of all three budgets. */
export const STRANGER_WINDOW_MS = 15 * MINUTE

/** E-mail addresses that failed in one account, each once per network. */
export const ACCOUNT_FAILURES: Budget = { windowMs: STRANGER_WINDOW_MS, max: 100 }

/** Longer than a guess takes, short enough for a user to wait. */
const DELAY_MS = 5_000

export type StrangerLimits = {
  /** Distinct e-mail addresses that may fail from one network. */
  readonly addressesPerNetwork: number
  /** E-mail addresses that may fail in all accounts together, each once per network. */
  readonly service: number
}

export type StrangerHistory = {
  /** Distinct e-mail addresses that failed from this network. */
  readonly addresses: number
  /** Until the network's window ends. */
  readonly waitMs: number
  readonly account: number
  readonly service: number
}

/** The budget that was spent. */
export type SpentBudget = 'network' | 'account' | 'service'

export type StrangerDecision =
  | { readonly outcome: 'allow' }
  /** The right password is not enough: the user also opens a mailed link. */
  | { readonly outcome: 'confirm'; readonly spent: SpentBudget }
  | { readonly outcome: 'delay'; readonly delayMs: number; readonly spent: SpentBudget }
  | { readonly outcome: 'refuse'; readonly waitMs: number; readonly spent: SpentBudget }

/**
 * Known browsers always pass: nobody's failures count against them but their own. Where no mail can be sent, the budget
 * of the account delays strangers and that of the service refuses them.
 */
export function decideStranger(
  { addresses, waitMs, account, service }: StrangerHistory,
  limits: StrangerLimits,
  { known, canMail }: { readonly known: boolean; readonly canMail: boolean },
): StrangerDecision {
  if (known) return { outcome: 'allow' }
  if (addresses >= limits.addressesPerNetwork) return { outcome: 'refuse', waitMs, spent: 'network' }
  const spent = service >= limits.service ? 'service' : account >= ACCOUNT_FAILURES.max ? 'account' : null
  if (spent === null) return { outcome: 'allow' }
  if (canMail) return { outcome: 'confirm', spent }
  return spent === 'account'
    ? { outcome: 'delay', delayMs: DELAY_MS, spent }
    : { outcome: 'refuse', waitMs: STRANGER_WINDOW_MS, spent }
}

/** Passkey assertions of one network that failed. */
export const PASSKEY_FAILURES: Budget = { windowMs: STRANGER_WINDOW_MS, max: 30 }

const PASSKEY_DELAY_MS = 1_000

export type PasskeyDecision =
  | { readonly outcome: 'allow' }
  | { readonly outcome: 'delay'; readonly delayMs: number }
  | { readonly outcome: 'refuse'; readonly waitMs: number }

/**
 * For a network over its budget, an unknown passkey is refused; an existing one is verified after a delay. Credential
 * ids cannot be guessed, so an attacker in the same network cannot lock out the passkey of a user.
 */
export function decidePasskey(networkFailures: number, exists: boolean): PasskeyDecision {
  if (networkFailures < PASSKEY_FAILURES.max) return { outcome: 'allow' }
  return exists
    ? { outcome: 'delay', delayMs: PASSKEY_DELAY_MS }
    : { outcome: 'refuse', waitMs: PASSKEY_FAILURES.windowMs }
}

/** A count that slides: the last window and, in proportion to what is left of it, the one before. */
export type SlidingCount = { readonly startsAt: number; readonly current: number; readonly previous: number }

export function slide(count: SlidingCount | undefined, now: number, windowMs: number): SlidingCount {
  if (!count || now >= count.startsAt + 2 * windowMs) return { startsAt: now, current: 0, previous: 0 }
  if (now < count.startsAt + windowMs) return count
  return { startsAt: count.startsAt + windowMs, current: 0, previous: count.current }
}

export function slidingSum({ startsAt, current, previous }: SlidingCount, now: number, windowMs: number): number {
  return Math.floor(current + previous * (1 - (now - startsAt) / windowMs))
}
