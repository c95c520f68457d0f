/**
 * Whether two kinds of requests take equally long.
 *
 * Method: one request after the other, in rounds; each round has one of every class, in random order, so that whatever else the
 * machine does slows all classes alike. A round's requests are made before it, so that no class is sent after a longer pause. Times above the
 * 80th percentile of both classes together are left out, and Welch's t is computed. |t| < 4.5 passes, as usual for tests of timing leaks:
 * with equal means, one comparison in 150,000 is above. The same samples with a delay added to one class have to fail.
 */
import { randomInt } from 'node:crypto'
import { expect } from 'vitest'

const THRESHOLD = 4.5
const KEPT = 0.8
type Timing<Sent> = {
  readonly rounds: number
  readonly warmUp: number
  /** A delay that has to be seen even on a busy machine, as a factor. */
  readonly longer: number
  readonly classes: Readonly<Record<string, () => Sent>>
  /** Microseconds until the answer. */
  time(sent: Sent): Promise<number>
  /** Undoes what a round left behind. */
  afterRound?(): Promise<unknown>
}

export async function expectEqualTimes<Sent>({
  rounds,
  warmUp,
  longer,
  classes,
  time,
  afterRound,
}: Timing<Sent>): Promise<void> {
  const samples = new Map(Object.keys(classes).map((name) => [name, [] as number[]]))
  for (let round = -warmUp; round < rounds; round += 1) {
    const order = Object.entries(classes)
      .map(([name, make]) => ({ name, sent: make(), at: randomInt(1_000_000) }))
      .sort((a, b) => a.at - b.at)
    for (const { name, sent } of order) {
      const micros = await time(sent)
      if (round >= 0) samples.get(name)?.push(micros)
    }
    await afterRound?.()
  }
  const names = [...samples.keys()]
  const pairs = names.flatMap((a, at) => names.slice(at + 1).map((b) => [a, b] as const))
  const found = pairs.map(([a, b]) => {
    const [first, second] = [samples.get(a) ?? [], samples.get(b) ?? []]
    return { a, b, t: welch(first, second), slower: first.map((value) => value * longer), second }
  })
  console.log(found.map(({ a, b, t }) => `${a} / ${b}: t = ${t.toFixed(2)}`).join('\n'))
  for (const { a, b, t, slower, second } of found) {
    expect([a, b, Math.abs(t) < THRESHOLD]).toEqual([a, b, true])
    expect(Math.abs(welch(slower, second)), 'a leak would be seen').toBeGreaterThan(THRESHOLD)
  }
}

type Summary = { readonly count: number; readonly mean: number; readonly variance: number }

function summarize(values: readonly number[]): Summary {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
  return { count: values.length, mean, variance }
}

const errorOf = (a: Summary, b: Summary) => Math.sqrt(a.variance / a.count + b.variance / b.count)

function welch(first: readonly number[], second: readonly number[]): number {
  const limit = [...first, ...second].sort((a, b) => a - b)[Math.floor((first.length + second.length) * KEPT)] ?? 0
  const [a, b] = [first, second].map((values) => summarize(values.filter((value) => value <= limit)))
  return a && b ? (a.mean - b.mean) / errorOf(a, b) : Number.NaN
}
