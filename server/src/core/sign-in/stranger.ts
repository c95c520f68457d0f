/**
 * Sign-in by password from a stranger: a browser that never signed in as this user. Credential stuffing tries each leaked
 * pair once, so the budget per e-mail address never stops it; these do.
 * docs/decisions/0035-strangers-are-budgeted-before-hashing.md.
 */
import type { Budget } from './attempts.ts'

const MINUTE = 60_000

/** Window of all budgets. */
export const STRANGER_WINDOW_MS = 15 * MINUTE

/** E-mail addresses that failed in one account, each once per network. */
export const ACCOUNT_FAILURES: Budget = { windowMs: STRANGER_WINDOW_MS, max: 100 }

/** Longer than a guess takes, short enough for a user to wait. */
const DELAY_MS = 5_000

/** Times the budget of a network in one account: what it may spend in all accounts, and where it is refused. */
const IN_ALL_ACCOUNTS = 5
const REFUSED = 25

export type StrangerLimits = {
  /** Distinct e-mail addresses that may fail from one network in one account. */
  readonly addressesPerNetwork: number
  /** E-mail addresses that may fail in all accounts together, each once per network. */
  readonly service: number
}

/** More distinct addresses of one network are not counted. */
export function maxPerNetwork({ addressesPerNetwork }: StrangerLimits): number {
  return addressesPerNetwork * REFUSED
}

export type StrangerHistory = {
  /** Distinct e-mail addresses that failed from this network, in this account and in all. */
  readonly addresses: number
  readonly inAllAccounts: number
  /** Until the network's window ends, in all accounts. */
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
 * Known browsers always pass: nobody's failures count against them but their own. A network is refused only where it
 * would keep the process busy, because whoever shares it would be refused as well. Where no mail can be sent, the budgets
 * of a network and an account delay strangers, and those of a network in all accounts and of the service refuse them.
 */
export function decideStranger(
  history: StrangerHistory,
  limits: StrangerLimits,
  { known, canMail }: { readonly known: boolean; readonly canMail: boolean },
): StrangerDecision {
  if (known) return { outcome: 'allow' }
  const { inAllAccounts, waitMs } = history
  if (inAllAccounts >= limits.addressesPerNetwork * (canMail ? REFUSED : IN_ALL_ACCOUNTS)) {
    return { outcome: 'refuse', waitMs, spent: 'network' }
  }
  const spent = spentBudget(history, limits)
  if (spent === null) return { outcome: 'allow' }
  if (canMail) return { outcome: 'confirm', spent }
  return spent === 'service'
    ? { outcome: 'refuse', waitMs: STRANGER_WINDOW_MS, spent }
    : { outcome: 'delay', delayMs: DELAY_MS, spent }
}

function spentBudget(
  { addresses, inAllAccounts, account, service }: StrangerHistory,
  { addressesPerNetwork, service: max }: StrangerLimits,
): SpentBudget | null {
  if (service >= max) return 'service'
  if (account >= ACCOUNT_FAILURES.max) return 'account'
  const spent = addresses >= addressesPerNetwork || inAllAccounts >= addressesPerNetwork * IN_ALL_ACCOUNTS
  return spent ? 'network' : null
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
