/**
 * When to warn an application's owner, when to call a person, when to suspend: a pure function of evidence. docs/interface.md,
 * "Polling too fast".
 */
export type Thresholds = {
  readonly windowMinutes: number
  readonly windows: number
  readonly accounts: number
  readonly share: number
  readonly networks: number
  readonly earlyPolls: number
  readonly accountAgeDays: number
  readonly warningHours: number
  readonly suspensionHours: number
  readonly reports: number
  readonly secondOperatorGrants: number
}

export const defaultThresholds: Thresholds = {
  windowMinutes: 10,
  windows: 3,
  accounts: 25,
  share: 0.05,
  networks: 10,
  earlyPolls: 20,
  accountAgeDays: 30,
  warningHours: 24,
  suspensionHours: 24,
  reports: 3,
  secondOperatorGrants: 1000,
}

/** Accounts that granted codes in a window; those of them whose code had ignored slow_down, and from how many networks. */
export type WindowCounts = {
  readonly grantedAccounts: number
  readonly ignoringAccounts: number
  readonly ignoringNetworks: number
}

export type Window = WindowCounts & {
  readonly startsAt: number
  readonly overloaded: boolean
  /** The same, whatever the standing of the accounts. */
  readonly anyStanding: WindowCounts
}

export type Evidence = {
  /** Whole ones, the oldest first. */
  readonly windows: readonly Window[]
  /** Distinct accounts, whatever their standing, whose device ignored slow_down in these windows. */
  readonly touched: number
  /** How many times as often as allowed; null when nothing polled. 1 is as it should be. */
  readonly factor: number | null
  /** Distinct accounts that reported something of it in the last day. */
  readonly reports: number
  /** Codes of the last day. */
  readonly funnel: { readonly requested: number; readonly entered: number; readonly granted: number }
  readonly warnedAt: number | null
  readonly now: number
}

export type Verdict = 'fine' | 'observe' | 'warn' | 'review' | 'suspend'
