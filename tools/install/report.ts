/** Steps with their times, and the counts of the last line. */

const times: { readonly part: string; readonly seconds: number }[] = []
const counts = new Map<string, number>()
let part = ''

export function begin(name: string): void {
  part = name
  console.log(`\n== ${name}`)
}

export async function time<T>(step: string, work: () => Promise<T> | T): Promise<T> {
  const from = performance.now()
  const result = await work()
  const seconds = (performance.now() - from) / 1000
  times.push({ part, seconds })
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${step}`)
  return result
}

/** Throws if it does not hold. */
export function check(what: string, holds: boolean, seen: unknown = ''): void {
  if (!holds) throw new Error(`${what}: ${typeof seen === 'string' ? seen : JSON.stringify(seen)}`)
  count('checks')
  console.log(`       ok  ${what}`)
}

export function count(what: string, by = 1): void {
  counts.set(what, (counts.get(what) ?? 0) + by)
}

export function summary(): string {
  const parts = Map.groupBy(times, (each) => each.part)
  const sum = (list: readonly { seconds: number }[]) => Math.round(list.reduce((all, { seconds }) => all + seconds, 0))
  const each = Array.from(parts, ([name, list]) => `${name} ${sum(list)} s`).join(', ')
  return `${sum(times)} s: ${each}; ${Array.from(counts, ([what, n]) => `${n} ${what}`).join(', ')}`
}
