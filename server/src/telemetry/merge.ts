/** One exposition for several processes: the same families, with one value per label set. */
import type { Distribution, Family, Labels, Sample } from './family.ts'

/** Adds up counters and histograms. Gauges are aggregated as each of them states in `across`. */
export function mergeFamilies(perProcess: readonly (readonly Family[])[]): readonly Family[] {
  const merged = new Map<string, Family>()
  for (const family of perProcess.flat()) {
    const known = merged.get(family.name)
    merged.set(family.name, known ? mergeTwo(known, family) : family)
  }
  return [...merged.values()]
}

/** Counters and histograms, which stay in the totals after their process has ended. Gauges are dropped. */
export function countedBy(families: readonly Family[]): readonly Family[] {
  return families.filter(({ type }) => type !== 'gauge')
}

function mergeTwo(one: Family, other: Family): Family {
  if (one.type === 'histogram') {
    return other.type === 'histogram' ? { ...one, samples: join(one.samples, other.samples, addDistributions) } : one
  }
  if (other.type === 'histogram') return one
  const combine = COMBINE[one.type === 'gauge' ? one.across : 'sum']
  const value = (a: Sample, b: Sample) => ({ labels: a.labels, value: combine(a.value, b.value) })
  return { ...one, samples: join(one.samples, other.samples, value) }
}

const COMBINE = { sum: (a: number, b: number) => a + b, max: Math.max, min: Math.min }

function addDistributions(a: Distribution, b: Distribution): Distribution {
  return {
    labels: a.labels,
    counts: a.counts.map((count, index) => count + (b.counts[index] ?? 0)),
    sum: a.sum + b.sum,
  }
}

function join<T extends { readonly labels: Labels }>(
  ones: readonly T[],
  others: readonly T[],
  combine: (a: T, b: T) => T,
): readonly T[] {
  const byLabels = new Map(ones.map((sample) => [keyOf(sample), sample]))
  for (const sample of others) {
    const known = byLabels.get(keyOf(sample))
    byLabels.set(keyOf(sample), known ? combine(known, sample) : sample)
  }
  return [...byLabels.values()]
}

/** Every process writes the labels of a family in the same order. */
const keyOf = ({ labels }: { readonly labels: Labels }): string => JSON.stringify(labels)
