/**
 * Metric families: samples with a few labels of few values each, which Prometheus scrapes (exposition.ts).
 *
 * `telemetry/` only counts and exports. It decides nothing, and no label ever holds an id, a host name or input of a
 * client.
 */
export type Labels = Readonly<Record<string, string>>

export type Sample = { readonly labels: Labels; readonly value: number }

export type Distribution = {
  readonly labels: Labels
  /**
   * One count per bucket, not cumulative: values up to the bound and above the previous one; the last bucket has no
   * bound.
   */
  readonly counts: readonly number[]
  readonly sum: number
}

type Described = { readonly name: string; readonly help: string }

export type Family = Described &
  (
    | { readonly type: 'counter'; readonly samples: readonly Sample[] }
    | { readonly type: 'gauge'; readonly samples: readonly Sample[]; readonly across: Across }
    | { readonly type: 'histogram'; readonly bounds: readonly number[]; readonly samples: readonly Distribution[] }
  )

/**
 * Aggregation of a gauge over several processes: the sum of their values, or, where a sum has no meaning, the largest
 * or the smallest value.
 */
type Across = 'sum' | 'max' | 'min'

export type Counter<Value extends string> = {
  add(...values: readonly Value[]): void
  family(): Family
}

/**
 * A counter with any number of labels; none gives a single series. The label values in `known` start at zero:
 * Prometheus rates need a zero to start from.
 */
export function createCounter<Value extends string>(
  described: Described,
  names: readonly string[],
  known: readonly (readonly Value[])[] = [],
): Counter<Value> {
  const counts = new Map<string, { readonly labels: Labels; value: number }>()
  const countOf = (values: readonly Value[]) => {
    const key = values.length === 1 ? (values[0] as string) : values.join('\n')
    const found = counts.get(key)
    if (found) return found
    const made = { labels: labelled(names, values), value: 0 }
    counts.set(key, made)
    return made
  }
  for (const values of known) countOf(values)
  return {
    add: (...values) => {
      countOf(values).value += 1
    },
    family: () => ({ ...described, type: 'counter', samples: [...counts.values()] }),
  }
}

export function gauge(name: string, help: string, value: number | readonly Sample[], across: Across = 'sum'): Family {
  const samples = typeof value === 'number' ? [{ labels: {}, value }] : value
  return { name, help, type: 'gauge', samples, across }
}

function labelled(names: readonly string[], values: readonly string[]): Labels {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}
