/** What operators may decide about an application that is under review, and why. docs/operations.md, "When an application polls too fast". */

export const decisions = ['reinstate', 'reinstate_slower', 'keep', 'keep_and_revoke'] as const

export type Decision = (typeof decisions)[number]

export const reasons = [
  'fixed',
  'mistaken',
  'stolen_secret',
  'broken_firmware',
  'phishing',
  'no_answer',
  'other',
] as const

export type Reason = (typeof reasons)[number]

/** Why an application was warned, suspended or restored: an operator's reason, or one of the service and the command line. */
export const suspensionReasons = [
  ...reasons,
  'polls_too_fast',
  'not_decided_in_time',
  'decision_undone',
  'by_operator',
] as const

export type SuspensionReason = (typeof suspensionReasons)[number]

/** What an operator writes to the owner, and the owner to the operators. */
export const MAX_WORDS_LENGTH = 2000

/** The longest time between two polls that a review may ask for. */
export const MAX_INTERVAL_SECONDS = 300

export function areFitWords(words: string): boolean {
  return words !== '' && words.length <= MAX_WORDS_LENGTH && !/\0/.test(words)
}

/** Longer than everybody else's. */
export function isFitInterval(seconds: number | null, configured: number): boolean {
  return seconds !== null && Number.isInteger(seconds) && seconds > configured && seconds <= MAX_INTERVAL_SECONDS
}

/** A decision can be undone for so long. After that, whoever lost access has moved on. */
export const UNDOABLE_MS = 72 * 60 * 60 * 1000

/** A decision as operators read it. */
export type DecisionLine = {
  readonly id: string
  readonly at: number
  /** An e-mail address, as all of these. */
  readonly by: string
  readonly decision: Decision
  readonly reason: Reason
  readonly words: string
  readonly intervalSeconds: number | null
  readonly needsSecond: boolean
  readonly confirmedBy: string | null
  readonly confirmedAt: number | null
  readonly undoneBy: string | null
  readonly undoneAt: number | null
  /** How many grants it ended. */
  readonly revoked: number
  readonly undoable: boolean
}

/** How an application did, step by step: what the charts of its review are drawn of. */
export type Series = {
  /** Of the last three hours, in order, of five minutes each. */
  readonly minutes: readonly {
    readonly at: number
    readonly polls: number
    readonly early: number
    readonly allowed: number
  }[]
  /** Of the last thirty days, in order. */
  readonly days: readonly {
    /** Its start, in UTC. */
    readonly day: number
    readonly requested: number
    readonly entered: number
    readonly granted: number
    readonly rejected: number
    readonly polls: number
    readonly early: number
    /** Who granted it something for the first time. */
    readonly newUsers: number
    /** From which its codes were asked for that were granted. */
    readonly networks: number
    readonly countries: number
  }[]
}

export type DecisionFacts = {
  readonly decision: Decision
  /** Of the application, before the decision. */
  readonly suspended: boolean
  /** People complained about it: somebody may gain by its coming back. */
  readonly reported: boolean
  /** By more people than one operator may cut off. */
  readonly widelyUsed: boolean
}

/** Two operators are needed to bring back what people complained about, and to end the access of very many people. */
export function needsSecondOperator({ decision, suspended, reported, widelyUsed }: DecisionFacts): boolean {
  switch (decision) {
    case 'reinstate':
    case 'reinstate_slower':
      return suspended && reported
    case 'keep':
      return false
    case 'keep_and_revoke':
      return widelyUsed
  }
}
