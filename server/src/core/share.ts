/**
 * Which code requests of an application still pass when it has had its limit. docs/interface.md, "Limits".
 *
 * The secret of an application ships in its devices, so a thief may hold it too, in many networks at once. Up to the limit
 * nobody is asked where they are. Beyond it, up to twice the limit, a network passes as long as it had less than its part;
 * and one that had nothing yet always does. So whoever asks for much uses up the limit, but never what is kept for those who
 * ask for little (docs/decisions/0022-limits-and-shedding.md).
 */
export type Asked = {
  /** Codes per minute for this application. */
  readonly limit: number
  /** Codes that it was given in this minute, by all processes and by the one that decides. */
  readonly total: number
  readonly here: number
  /** Of those given here: to how many networks, and how many of them to the one that asks. */
  readonly networks: number
  readonly own: number
}

export function mayHaveCode({ limit, total, here, networks, own }: Asked): boolean {
  if (total < limit) return true
  if (total >= 2 * limit) return false
  // What this process gives out of the limit is its part of it; the networks that it sees share that.
  return own < Math.max(1, (limit * here) / total / Math.max(1, networks))
}
