/**
 * Suspension rule: decides from evidence whether to warn the owner of an application, call an operator or suspend. A
 * pure function; its thresholds are settings. docs/interface/limits.md, "Suspension";
 * docs/decisions/0019-suspension-is-a-judgement-of-evidence.md.
 *
 * The secret of an application ships in devices, so polls with it prove nothing about its owner. Grants do: an attacker
 * cannot make another account grant a code. So only accounts count that granted codes which had repeatedly been polled
 * too early, and nothing that a thief of the secret can produce alone.
 */
export type Thresholds = {
  /** Grants are counted in windows of this length, over this many windows. */
  readonly windowMinutes: number
  readonly windows: number
  /** Thresholds of a window: distinct accounts, their share of all accounts that granted, and distinct networks. */
  readonly accounts: number
  readonly share: number
  readonly networks: number
  /** A code answered slow_down this often counts as ignoring it. */
  readonly earlyPolls: number
  /** Younger accounts are not established. */
  readonly accountAgeDays: number
  /** Minimum time between the warning and a suspension. */
  readonly warningHours: number
  /** A suspension by the rule ends by itself after this time. 0: never, it lasts until an operator has reviewed it. */
  readonly reinstateAfterHours: number
  /** Distinct accounts with a report within a day that call for a review. */
  readonly reports: number
  /** Revoking all grants of an application with this many needs two operators. */
  readonly secondOperatorGrants: number
}

/** Accounts that granted codes in a window; those whose code had ignored slow_down; and from how many networks. */
export type WindowCounts = {
  readonly grantedAccounts: number
  readonly ignoringAccounts: number
  readonly ignoringNetworks: number
}

/** The counts cover established accounts only. */
export type Window = WindowCounts & {
  readonly startsAt: number
  /** The service was overloaded at that time or shortly before: early polls may be its own fault. */
  readonly overloaded: boolean
  /** The same counts over all accounts, established or not. */
  readonly anyAccount: WindowCounts
}

export type Evidence = {
  /** Complete windows, oldest first. */
  readonly windows: readonly Window[]
  /** Distinct accounts, established or not, whose device ignored slow_down in these windows. */
  readonly touched: number
  /** Actual poll rate divided by the allowed one; null without polls. 1 is normal. */
  readonly factor: number | null
  /** Distinct accounts with a report about it in the last day. */
  readonly reports: number
  /** Codes of the last day. */
  readonly funnel: { readonly requested: number; readonly entered: number; readonly granted: number }
  readonly warnedAt: number | null
  readonly now: number
}

export type Verdict = 'fine' | 'observe' | 'warn' | 'review' | 'suspend'

export type JudgementReason =
  /** Beyond the thresholds in every window. */
  | 'every_window'
  /** Beyond the thresholds in some window. */
  | 'one_window'
  /** The notice period of the warning is not over. */
  | 'not_warned_long_enough'
  /** Beyond the thresholds only if accounts of any age are counted. */
  | 'any_account'
  | 'reports'
  /** Some devices ignore slow_down, but fewer than the thresholds. */
  | 'some_accounts'
  /** Windows were left out because the service was overloaded. */
  | 'overloaded'

export type Judgement = { readonly verdict: Verdict; readonly reasons: readonly JudgementReason[] }

const HOUR_MS = 3_600_000

/** Validity of a warning. If nothing followed for a week, the owner has to be warned again. */
const WARNING_VALID_MS = 7 * 24 * HOUR_MS

/**
 * `given`: the notice period runs. `effective`: it is over and the warning is valid. `over`: no warning, or it is no
 * longer valid.
 */
export type WarningState = 'over' | 'given' | 'effective'

export function warningState(
  { warnedAt, now }: Pick<Evidence, 'warnedAt' | 'now'>,
  { warningHours }: Thresholds,
): WarningState {
  if (warnedAt === null) return 'over'
  const age = now - warnedAt
  if (age < warningHours * HOUR_MS) return 'given'
  return age < warningHours * HOUR_MS + WARNING_VALID_MS ? 'effective' : 'over'
}

/**
 * Verdict on the evidence. One window beyond the thresholds leads to a warning; all windows, after the notice period of
 * a valid warning, to a suspension. Both use the same thresholds, so that the warning shows the figures to reduce.
 */
export function judge(
  evidence: Pick<Evidence, 'windows' | 'reports' | 'warnedAt' | 'now'>,
  thresholds: Thresholds,
): Judgement {
  const windows = evidence.windows.slice(-Math.max(1, thresholds.windows))
  const counting = windows.filter(({ overloaded }) => !overloaded)
  const beyond = counting.filter((window) => isBeyond(window, thresholds)).length
  const inEveryWindow = beyond >= Math.max(1, thresholds.windows)
  const warningEffective = warningState(evidence, thresholds) === 'effective'
  const ofAnyAccount = counting.some(({ anyAccount }) => isBeyond(anyAccount, thresholds))
  const reported = evidence.reports >= Math.max(1, thresholds.reports)
  const some = windows.some(({ anyAccount }) => anyAccount.ignoringAccounts > 0)

  const reasons: JudgementReason[] = []
  if (beyond > 0) reasons.push(inEveryWindow ? 'every_window' : 'one_window')
  if (inEveryWindow && !warningEffective) reasons.push('not_warned_long_enough')
  if (beyond === 0 && ofAnyAccount) reasons.push('any_account')
  if (reported) reasons.push('reports')
  if (beyond === 0 && !ofAnyAccount && some) reasons.push('some_accounts')
  if (counting.length < windows.length) reasons.push('overloaded')

  if (inEveryWindow && warningEffective) return { verdict: 'suspend', reasons }
  if (beyond > 0) return { verdict: 'warn', reasons }
  if (ofAnyAccount || reported) return { verdict: 'review', reasons }
  return { verdict: some || evidence.reports > 0 ? 'observe' : 'fine', reasons }
}

/** Number of consecutive windows, up to the newest, that are beyond every threshold. */
export function windowsInARow({ windows }: Pick<Evidence, 'windows'>, thresholds: Thresholds): number {
  const interruption = windows.toReversed().findIndex((window) => window.overloaded || !isBeyond(window, thresholds))
  return interruption === -1 ? windows.length : interruption
}

/**
 * How many of the established accounts that granted in a window may ignore slow_down, in any number of networks, before
 * the window is beyond the thresholds. An attacker with no more established accounts than this in one of the windows
 * cannot get the application suspended. Devices of other users that ignore slow_down add to the attacker's.
 */
export function toleratedAccounts({ accounts, share }: Thresholds, grantedAccounts: number): number {
  return Math.max(1, accounts, Math.ceil(share * grantedAccounts)) - 1
}

/** A window without a granting account is never beyond the thresholds, whatever they are. */
function isBeyond(counts: WindowCounts, thresholds: Thresholds): boolean {
  const { grantedAccounts, ignoringAccounts, ignoringNetworks } = counts
  return (
    ignoringAccounts > toleratedAccounts(thresholds, grantedAccounts) &&
    ignoringNetworks >= Math.max(1, thresholds.networks)
  )
}

/** Cap of the excess: rejected polls are cheap, so a higher factor does no more harm. */
const MAX_EXCESS = 10

/**
 * Weight of a possibly deceived user. Above any excess: a deceived user lost more than the user of an impatient device.
 */
const DECEIVED_USER_WEIGHT = 2 * MAX_EXCESS

/**
 * Few deceived users report, so each report stands for this many. But three reports about a popular application do not
 * stand for all of its users.
 */
const USERS_PER_REPORT = 100

/**
 * Estimated harm, for sorting the review queue: affected users times excess, plus users who may have been deceived. A
 * user behind a report weighs twice as much as one behind the worst firmware, so of two applications of the same size
 * the reported one comes first. Users who entered a code and did not grant it add a little.
 */
export function harm({ touched, factor, reports, funnel }: Evidence): number {
  const excess = Math.min(MAX_EXCESS, Math.max(0, (factor ?? 1) - 1))
  const deceived = Math.max(reports, Math.min(funnel.entered, reports * USERS_PER_REPORT))
  const enteredNotGranted = Math.max(0, funnel.entered - funnel.granted)
  return touched * excess + deceived * DECEIVED_USER_WEIGHT + enteredNotGranted
}

/** Evidence for display: the worst window, with the thresholds that it is measured by. */
export type Figures = WindowCounts &
  Pick<Evidence, 'factor' | 'reports'> & {
    readonly thresholds: Pick<
      Thresholds,
      'windowMinutes' | 'windows' | 'accounts' | 'share' | 'networks' | 'earlyPolls'
    >
  }

export function figuresOf({ windows, factor, reports }: Evidence, thresholds: Thresholds): Figures {
  const counting = windows.filter(({ overloaded }) => !overloaded)
  const worst = counting.reduce<WindowCounts>(
    (max, window) => (window.ignoringAccounts > max.ignoringAccounts ? window : max),
    { grantedAccounts: 0, ignoringAccounts: 0, ignoringNetworks: 0 },
  )
  const { grantedAccounts, ignoringAccounts, ignoringNetworks } = worst
  const { windowMinutes, windows: inARow, accounts, share, networks, earlyPolls } = thresholds
  return {
    ...{ grantedAccounts, ignoringAccounts, ignoringNetworks, factor, reports },
    thresholds: { windowMinutes, windows: inARow, accounts, share, networks, earlyPolls },
  }
}

/** How close an application is to suspension, and what has happened so far. */
export type SuspensionStatus = {
  readonly figures: Figures
  /** Consecutive windows, up to the newest, in which all thresholds were reached. */
  readonly inARow: number
  /** Some windows do not count, because the service was overloaded. */
  readonly overloaded: boolean
  readonly warned: { readonly at: number; readonly until: number } | null
  readonly suspended: boolean
  /** Null: it lasts until an operator has reviewed it. */
  readonly suspensionEndsAt: number | null
  readonly appealedAt: number | null
  /** Poll interval set by a review. Null: as configured. */
  readonly pollIntervalSeconds: number | null
}
