/**
 * Which code requests of an application still pass when it has had its limit. docs/interface.md, "Limits".
 *
 * The secret of an application ships in its devices, so a thief may hold it too, in many networks at once. Up to the limit
 * nobody is asked where they are. Beyond it, up to twice the limit, it depends on how much a network has had: the further the
 * application is beyond, the less; and from half of it on only a network that has had nothing yet gets something. Whoever
 * asks for much can use up the limit, but not what is kept for those who ask for little
 * (docs/decisions/0022-limits-and-shedding.md).
 */
export type Asked = {
  /** Codes per minute for this application. */
  readonly limit: number
  /** Codes that it was given in this minute: by all processes, by the one that decides, and by that one to the network that asks. */
  readonly total: number
  readonly here: number
  readonly own: number
}

export function mayHaveCode({ limit, total, here, own }: Asked): boolean {
  if (total < limit) return true
  if (total >= 2 * limit) return false
  const beyond = total - limit + 1
  // A process sees a part of what a network is given, about as large as its part of everything.
  return own < Math.max(1, (limit / (2 * beyond)) * (here / total))
}
