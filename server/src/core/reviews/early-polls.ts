/**
 * Early polls as a reason for operators to look at an application that nobody has to grant. Anybody who has the secret of
 * the application can cause them, so they never warn or suspend: that takes the evidence of suspension.ts.
 */
export type PollCounts = { readonly polls: number; readonly early: number }

/** Polls are counted in steps of five minutes: the current one and the two before it. */
export const EARLY_POLLS_SPAN_MS = 15 * 60_000

const MIN_EARLY_POLLS = 500

/** Five times as often as allowed. */
const MIN_EARLY_PER_ALLOWED = 4

/** The polls that are not early are those that the interval allows, because an early poll does not restart it. */
export function isFarTooFast({ polls, early }: PollCounts): boolean {
  return early >= MIN_EARLY_POLLS && early >= MIN_EARLY_PER_ALLOWED * (polls - early)
}

/** After an operator has decided about the application, early polls open no review for this time. */
const QUIET_MS = 7 * 24 * 60 * 60_000

export function isQuiet(decidedAt: number | null, now: number): boolean {
  return decidedAt !== null && now - decidedAt < QUIET_MS
}
