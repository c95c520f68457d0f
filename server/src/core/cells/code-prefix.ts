/**
 * First two digits of a user code, which say in which cell it was issued. Digits have no room for a bucket: users type
 * them all.
 */

export type CodePrefix = {
  /** Two digits. */
  readonly prefix: string
  readonly cell: number
  /** The cell that issued codes with this prefix before. */
  readonly previousCell: number | null
  readonly changedAt: number
}

/** All prefixes: 00 to 99. */
export const PREFIXES = 100

/** Limit of the time until every cell knows of a change. Usually it takes less than two seconds. */
const SETTLING_MS = 60_000

/** Whether codes of the previous cell with this prefix may still be live. */
function isSettling({ previousCell, changedAt }: CodePrefix, now: number, lifetimeMs: number): boolean {
  return previousCell !== null && now < changedAt + lifetimeMs + SETTLING_MS
}

/**
 * Prefixes of the codes that a cell may issue. A prefix that belonged to another cell is included once all codes that
 * cell issued have expired, so that two live codes never have the same digits.
 */
export function prefixesOf(
  prefixes: readonly CodePrefix[],
  cell: number,
  now: number,
  lifetimeMs: number,
): readonly string[] {
  return prefixes.filter((each) => each.cell === cell && !isSettling(each, now, lifetimeMs)).map(({ prefix }) => prefix)
}

/** The only cell that can have issued a live code with these digits. Null: none. */
export function issuerOf(
  prefixes: readonly CodePrefix[],
  userCode: string,
  now: number,
  lifetimeMs: number,
): number | null {
  const found = prefixes.find(({ prefix }) => userCode.startsWith(prefix))
  if (!found) return null
  return isSettling(found, now, lifetimeMs) ? found.previousCell : found.cell
}

/**
 * Number of live codes, scaled from the prefixes of the cell to all prefixes. The length of user codes depends on it,
 * because an attacker can guess only codes that start with these prefixes.
 */
export function scaleToAllPrefixes(liveCodes: number, prefixes: number): number {
  return (liveCodes * PREFIXES) / Math.max(1, prefixes)
}
