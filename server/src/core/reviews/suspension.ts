/**
 * When to warn an application's owner, when to call a person, when to suspend: a pure function of evidence, with thresholds that
 * are data. docs/interface.md, "Suspension"; docs/decisions/0019-suspension-is-a-judgement-of-evidence.md.
 *
 * An application's secret ships in devices, so whoever polls with it proves nothing. A grant does: a stranger's account cannot be
 * made to grant a code. So what counts is accounts that granted codes which had been polled too early again and again, and nothing
 * that a thief of the secret can make by himself.
 */
export type Thresholds = {
  /** Grants are looked at in windows of so many minutes, and in so many of them. */
  readonly windowMinutes: number
  readonly windows: number
  /** In a window: so many distinct accounts, this share of all that granted, and so many distinct networks. */
  readonly accounts: number
  readonly share: number
  readonly networks: number
  /** A code that was told slow_down so often has ignored it. */
  readonly earlyPolls: number
  /** A younger account is not established yet. */
  readonly accountAgeDays: number
  /** Between the warning and a suspension, at least. */
  readonly warningHours: number
  /** A suspension by the rule ends by itself after so many hours. 0: never, it lasts until an operator has reviewed it. */
  readonly reinstateAfterHours: number
  /** Distinct accounts that report something within a day: a person should look. */
  readonly reports: number
  /** To end all grants of an application with so many, two operators are needed. */
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
  reinstateAfterHours: 0,
  reports: 3,
  secondOperatorGrants: 1000,
}

/** From, to. A rule that a handful of accounts could meet would be a weapon, so nobody can make one by mistyping. */
export const thresholdLimits: Readonly<Record<keyof Thresholds, readonly [number, number]>> = {
  windowMinutes: [5, 60],
  windows: [2, 12],
  accounts: [5, 100_000],
  share: [0.01, 1],
  networks: [2, 100_000],
  earlyPolls: [5, 10_000],
  accountAgeDays: [1, 365],
  warningHours: [1, 168],
  reinstateAfterHours: [0, 8_760],
  reports: [1, 10_000],
  secondOperatorGrants: [1, 1_000_000_000],
}

/** The first threshold that is not within its limits. Only the share is no whole number. */
export function thresholdProblem(thresholds: Thresholds): keyof Thresholds | null {
  const names = Object.keys(thresholdLimits) as (keyof Thresholds)[]
  const unfit = names.find((name) => {
    const [[least, max], value] = [thresholdLimits[name], thresholds[name]]
    return !(value >= least && value <= max) || (name !== 'share' && !Number.isInteger(value))
  })
  return unfit ?? null
}

/** Accounts that granted codes in a window; those of them whose code had ignored slow_down, and from how many networks. */
export type WindowCounts = {
  readonly grantedAccounts: number
  readonly ignoringAccounts: number
  readonly ignoringNetworks: number
}

/** The counts are those of established accounts. */
export type Window = WindowCounts & {
  readonly startsAt: number
  /** This service had too much to do at that time, or shortly before: what was polled too early may be its own fault. */
  readonly overloaded: boolean
  /** The same, established or not. */
  readonly anyAccount: WindowCounts
}

export type Evidence = {
  /** Whole ones, the oldest first. */
  readonly windows: readonly Window[]
  /** Distinct accounts, established or not, whose device ignored slow_down in these windows. */
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

export type JudgementReason =
  /** Beyond the thresholds in every window. */
  | 'every_window'
  /** Beyond the thresholds in some window. */
  | 'one_window'
  /** The owner has not had the time that a warning gives. */
  | 'not_warned_long_enough'
  /** Beyond the thresholds only if accounts of any age counted. */
  | 'any_account'
  | 'reports'
  /** Some devices ignore slow_down; fewer than anybody minds. */
  | 'some_accounts'
  /** Windows were left out because this service had too much to do. */
  | 'overloaded'

export type Judgement = { readonly verdict: Verdict; readonly reasons: readonly JudgementReason[] }

const HOUR_MS = 3_600_000

/** A warning is about what happens now. One that led to nothing for a week has to be given again. */
const WARNING_HOLDS_MS = 7 * 24 * HOUR_MS

/** `given`: not long enough ago. `over`: there is none, or none any more. */
export type WarningState = 'over' | 'given' | 'heard'

export function warningState(
  { warnedAt, now }: Pick<Evidence, 'warnedAt' | 'now'>,
  { warningHours }: Thresholds,
): WarningState {
  if (warnedAt === null) return 'over'
  const age = now - warnedAt
  if (age < warningHours * HOUR_MS) return 'given'
  return age < warningHours * HOUR_MS + WARNING_HOLDS_MS ? 'heard' : 'over'
}

/**
 * The owner is warned by one window that is beyond every threshold: the very measure that would suspend, for a third of the time.
 * So nobody is suspended by a measure that they were not warned of, and the figures in the warning are the ones to get down.
 */
export function judge(
  evidence: Pick<Evidence, 'windows' | 'reports' | 'warnedAt' | 'now'>,
  thresholds: Thresholds,
): Judgement {
  const windows = evidence.windows.slice(-Math.max(1, thresholds.windows))
  const counting = windows.filter(({ overloaded }) => !overloaded)
  const beyond = counting.filter((window) => isBeyond(window, thresholds)).length
  const everywhere = beyond >= Math.max(1, thresholds.windows)
  const heard = warningState(evidence, thresholds) === 'heard'
  const ofAnyAccount = counting.some(({ anyAccount }) => isBeyond(anyAccount, thresholds))
  const reported = evidence.reports >= Math.max(1, thresholds.reports)
  const some = windows.some(({ anyAccount }) => anyAccount.ignoringAccounts > 0)

  const reasons: JudgementReason[] = []
  if (beyond > 0) reasons.push(everywhere ? 'every_window' : 'one_window')
  if (everywhere && !heard) reasons.push('not_warned_long_enough')
  if (beyond === 0 && ofAnyAccount) reasons.push('any_account')
  if (reported) reasons.push('reports')
  if (beyond === 0 && !ofAnyAccount && some) reasons.push('some_accounts')
  if (counting.length < windows.length) reasons.push('overloaded')

  if (everywhere && heard) return { verdict: 'suspend', reasons }
  if (beyond > 0) return { verdict: 'warn', reasons }
  if (ofAnyAccount || reported) return { verdict: 'review', reasons }
  return { verdict: some || evidence.reports > 0 ? 'observe' : 'fine', reasons }
}

/** How many of the last windows, up to the newest, are beyond every threshold. */
export function windowsInARow({ windows }: Pick<Evidence, 'windows'>, thresholds: Thresholds): number {
  const short = windows.toReversed().findIndex((window) => window.overloaded || !isBeyond(window, thresholds))
  return short === -1 ? windows.length : short
}

/**
 * How many of the established accounts that granted in a window may ignore slow_down, in any number of networks, before the
 * window is beyond the thresholds. An attacker with no more old accounts than this in one of the windows cannot have the
 * application suspended. Devices of strangers that ignore slow_down count along with the attacker's.
 */
export function toleratedAccounts({ accounts, share }: Thresholds, grantedAccounts: number): number {
  return Math.max(1, accounts, Math.ceil(share * grantedAccounts)) - 1
}

/** Whatever the thresholds say, a window without an account that granted is not beyond them. */
function isBeyond(counts: WindowCounts, thresholds: Thresholds): boolean {
  const { grantedAccounts, ignoringAccounts, ignoringNetworks } = counts
  return (
    ignoringAccounts > toleratedAccounts(thresholds, grantedAccounts) &&
    ignoringNetworks >= Math.max(1, thresholds.networks)
  )
}

/** A factor beyond this costs us no more sleep: a poll that is refused is cheap. */
const MAX_EXCESS = 10

/** More than any excess: whoever was deceived has lost more than whoever's device is impatient. */
const DECEIVED = 2 * MAX_EXCESS

/** Few of those who are deceived say so. But three who report a popular application do not speak for all of its users. */
const SPOKEN_FOR = 100

/**
 * How much harm there may be, to sort a queue by: people touched times excess, and people who may have been deceived. A person
 * behind a report weighs twice as much as one behind the worst firmware, so of two applications of the same size the one that
 * people complain about comes first. Those who entered a code and then turned away weigh a little, too.
 */
export function harm({ touched, factor, reports, funnel }: Evidence): number {
  const excess = Math.min(MAX_EXCESS, Math.max(0, (factor ?? 1) - 1))
  const deceived = reports === 0 ? 0 : Math.max(reports, Math.min(funnel.entered, reports * SPOKEN_FOR))
  const turnedAway = Math.max(0, funnel.entered - funnel.granted)
  return touched * excess + deceived * DECEIVED + turnedAway
}

/** Evidence as people read it: its worst window, beside the thresholds that it is measured by. */
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

/** Accounts that this is about, as far as we know. */
export function peopleTouched({ touched, reports }: Evidence): number {
  return Math.max(touched, reports)
}

/** How near an application is to being suspended, and what has happened so far. */
export type SuspensionStatus = {
  readonly figures: Figures
  /** Windows, up to the last one, in which all thresholds were reached. */
  readonly inARow: number
  /** Some windows do not count, because this service had too much to do. */
  readonly overloaded: boolean
  readonly dryRun: boolean
  /** Null: its owner was not warned. */
  readonly warned: { readonly at: number; readonly until: number } | null
  readonly suspended: boolean
  /** Null: it lasts until an operator has reviewed it. */
  readonly suspensionEndsAt: number | null
  readonly appealedAt: number | null
  /** What a review asked for. Null: as configured. */
  readonly pollIntervalSeconds: number | null
}
