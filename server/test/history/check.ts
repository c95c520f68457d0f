/**
 * Decides whether a history is linearizable: whether some order of its operations gives every client the answer that it
 * heard, where no operation comes before one that was answered before it was called.
 *
 * The search of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993): take any operation that may come first,
 * then the rest. As Lowe proposed ("Testing for linearizability", 2017), a set of taken operations with the state that they
 * lead to is searched once. And an answer that never goes with a change of the state is taken as soon as it is allowed, without
 * trying the others first: an order in which it comes later remains allowed when it comes now. So dozens of concurrent polls
 * need no search. The verdict is exact.
 */
import type { Operation } from './history.ts'
import { changesNothing, NOT_REQUESTED, type State, step, textOf } from './specification.ts'

export type Verdict = {
  readonly accepted: boolean
  /** An order that explains the history; of a refused one, the longest that explains a part. */
  readonly order: readonly Operation[]
}

export function check(history: readonly Operation[]): Verdict {
  const operations = [...history].sort((one, other) => one.calledAt - other.calledAt)
  const searched = new Set<string>()
  const order: Operation[] = []
  let longest: readonly Operation[] = []

  function search(taken: bigint, state: State): boolean {
    const absorbed = absorb(taken, state)
    const before = order.length - absorbed.count
    if (order.length > longest.length) longest = [...order]
    if (isExplained(absorbed.taken)) return true
    const configuration = `${absorbed.taken}|${textOf(state)}`
    if (!searched.has(configuration)) {
      searched.add(configuration)
      for (const index of mayComeNext(absorbed.taken)) {
        const operation = operations[index] as Operation
        const next = step(state, operation)
        // Whether and when an unknown operation changed nothing makes no difference.
        if (next === null || (operation.answer === null && textOf(next) === textOf(state))) continue
        order.push(operation)
        if (search(absorbed.taken | (1n << BigInt(index)), next)) return true
        order.pop()
      }
    }
    order.length = before
    return false
  }

  /** Takes the answers that are allowed now and never go with a change. */
  function absorb(taken: bigint, state: State): { taken: bigint; count: number } {
    let count = 0
    for (let found = true; found; ) {
      found = false
      for (const index of mayComeNext(taken)) {
        const operation = operations[index] as Operation
        if (!changesNothing(operation) || step(state, operation) === null) continue
        taken |= 1n << BigInt(index)
        order.push(operation)
        count += 1
        found = true
      }
    }
    return { taken, count }
  }

  /** Those that were called before any other one left was answered. */
  function mayComeNext(taken: bigint): number[] {
    const found: number[] = []
    let firstAnswer = Infinity
    for (const [index, { calledAt, answeredAt }] of operations.entries()) {
      if ((taken >> BigInt(index)) & 1n) continue
      if (calledAt > firstAnswer) break
      found.push(index)
      firstAnswer = Math.min(firstAnswer, answeredAt)
    }
    return found
  }

  function isExplained(taken: bigint): boolean {
    return operations.every(({ answer }, index) => answer === null || (taken >> BigInt(index)) & 1n)
  }

  const accepted = search(0n, NOT_REQUESTED)
  return { accepted, order: accepted ? order : longest }
}

/** The problem of a refused history, one line per operation; null if it is accepted. `*`: not explained. */
export function explain(history: readonly Operation[]): string | null {
  const { accepted, order } = check(history)
  if (accepted) return null
  const from = Math.min(...history.map(({ calledAt }) => calledAt))
  const ms = (time: number) => (time === Infinity ? 'never' : (time - from).toFixed(1))
  const lines = [...history]
    .sort((one, other) => one.calledAt - other.calledAt)
    .map((operation) => {
      const { call, answer, calledAt, answeredAt } = operation
      const asked = Object.values(call).filter((each) => each !== null)
      const heard = answer === null ? 'unknown' : `${answer.is} ${answer.credentials?.slice(-6) ?? ''}`.trim()
      return `${order.includes(operation) ? ' ' : '*'} ${ms(calledAt)} to ${ms(answeredAt)}: ${asked.join(' ')}: ${heard}`
    })
  return `no order explains this history:\n${lines.join('\n')}`
}
