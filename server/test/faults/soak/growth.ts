/**
 * Whether a series grows: the rule of the soak. The first half of a run is warm-up: caches fill, heaps and pools reach their size.
 * In the second half the slope is the median of the slopes between all pairs of points (Theil and Sen), which a few outliers
 * do not move. The growth is what this slope adds up to over the whole run, and fails if it is more than the allowance of the
 * series: a share of its median or a fixed amount, whichever is more. The longer the run, the smaller the leak that it finds.
 */

export type Point = { readonly seconds: number; readonly value: number }

export type Allowance = {
  /** Of the median of the second half. */
  readonly share: number
  readonly atLeast: number
}

export type Growth = {
  /** Of the slope over the whole run. */
  readonly growth: number
  readonly allowed: number
  readonly grows: boolean
}

export function judgeGrowth(points: readonly Point[], allowance: Allowance): Growth {
  const begun = points[0]?.seconds ?? 0
  const lasted = (points.at(-1)?.seconds ?? 0) - begun
  const settled = points.filter(({ seconds }) => seconds - begun >= lasted / 2)
  const growth = slope(settled) * lasted
  const middle = median(settled.map(({ value }) => value))
  const allowed = Math.max(allowance.atLeast, allowance.share * middle)
  return { growth, allowed, grows: growth > allowed }
}

/** Per second. Zero for fewer than two points. */
export function slope(points: readonly Point[]): number {
  const slopes = points.flatMap((one, at) =>
    points
      .slice(at + 1)
      .filter(({ seconds }) => seconds > one.seconds)
      .map((other) => (other.value - one.value) / (other.seconds - one.seconds)),
  )
  return slopes.length === 0 ? 0 : median(slopes)
}

/** The least of each stretch of so many seconds: what remains when garbage is collected. */
export function floorOf(points: readonly Point[], stretchSeconds: number): readonly Point[] {
  const stretches = Map.groupBy(points, ({ seconds }) => Math.floor(seconds / stretchSeconds))
  return [...stretches.values()].map((stretch) =>
    stretch.reduce((least, point) => (point.value < least.value ? point : least)),
  )
}

function median(values: readonly number[]): number {
  if (values.length === 0) return 0
  const sorted = values.toSorted((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2
}
