/** Gaps in the revocation journal. Each process numbers its lines, and each line names the proof of the one before. */

/** Place of a line in the chain of the process that wrote it. */
export type Link = {
  readonly writer: string
  /** 1 for its first line. */
  readonly number: number
  /** Proof of the line before. */
  readonly previous: string
  readonly proof: string
}

/** The line with this number is there, and the one before it is not, or stands after it. */
export type Gap = Pick<Link, 'writer' | 'number'>

/**
 * `files`: the lines of each in their order. Processes that write to one file take turns, so only the order of each one's
 * own lines counts. A line that was written again after a failed attempt is the same line. The end of a chain cannot be
 * missed: nothing after it names it.
 */
export function findGaps(files: readonly (readonly Link[])[]): readonly Gap[] {
  const proofs = new Set(files.flat().map(({ writer, number, proof }) => `${writer} ${number} ${proof}`))
  const gaps = new Map<string, Gap>()
  for (const links of files) {
    const newest = new Map<string, number>()
    const seen = new Set<string>()
    for (const { writer, number, previous, proof } of links) {
      if (seen.has(proof)) continue
      seen.add(proof)
      const follows = number === 1 || proofs.has(`${writer} ${number - 1} ${previous}`)
      const isLate = number < (newest.get(writer) ?? 0)
      if (!follows || isLate) gaps.set(`${writer} ${number}`, { writer, number })
      newest.set(writer, Math.max(number, newest.get(writer) ?? 0))
    }
  }
  return [...gaps.values()]
}

/** A line, whether its commit was lost, and whether it was appended late: it says nothing about when it was written. */
export type Fate = Pick<Link, 'writer' | 'number'> & { readonly lost: boolean; readonly late: boolean }

/**
 * The gaps in which lost lines may be missing. A process writes its lines in the order of their commits: if PostgreSQL has
 * the commit of the line after a gap, it has those of the missing ones.
 */
export function gapsThatMatter(gaps: readonly Gap[], fates: readonly Fate[]): readonly Gap[] {
  if (gaps.length === 0) return []
  const byWriter = Map.groupBy(
    fates.filter(({ late }) => !late),
    ({ writer }) => writer,
  )
  return gaps.filter(({ writer, number }) => {
    const after = (byWriter.get(writer) ?? []).filter((fate) => fate.number >= number)
    return after.toSorted((one, other) => one.number - other.number)[0]?.lost ?? true
  })
}

/** Numbers of lines by process, as ranges that include both ends. */
export type Ranges = Readonly<Record<string, readonly (readonly [number, number])[]>>

/** Of the lost lines. No range reaches over a gap: its lines may turn up in another file, and are lost then. */
export function rangesOfLost(fates: readonly Fate[]): Ranges {
  const byWriter = Map.groupBy(fates, ({ writer }) => writer)
  const ranges = byWriter.entries().map(([writer, all]) => {
    const found: [number, number][] = []
    let range: [number, number] | undefined
    let last = 0
    for (const { number, lost } of all.toSorted((one, other) => one.number - other.number)) {
      if (number > last + 1) range = undefined
      last = number
      if (!lost) continue
      if (range) range[1] = number
      else {
        range = [number, number]
        found.push(range)
      }
    }
    return [writer, found] as const
  })
  return Object.fromEntries(ranges.filter(([, found]) => found.length > 0))
}

export function isWithin(ranges: Ranges, { writer, number }: Pick<Link, 'writer' | 'number'>): boolean {
  return (ranges[writer] ?? []).some(([from, to]) => from <= number && number <= to)
}
