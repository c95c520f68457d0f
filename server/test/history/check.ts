/**
 * Decides whether a history is linearizable: whether some order of its operations gives every client the answer that it
 * heard, where no operation comes before one that was answered before it was called.
 *
 * The search of Wing and Gong ("Testing and Verifying Concurrent Objects", 1993): take any operation that may come first,
 * then the rest. As Lowe proposed ("Testing for linearizability", 2017), a set of taken operations with the state that
 * they lead to is searched once. An operation whose answer implies that the state did not change is taken as soon as it
 * is allowed: any order in which it comes later is also allowed with it now. So dozens of concurrent polls need no
 * search. The verdict is exact.
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
  const at = (index: number) => operations[index] as Operation
  /** 1 for each operation that is in the order. */
  const taken = new Uint8Array(operations.length)
  const order: number[] = []
  let longest: readonly number[] = []
  let unexplained = operations.filter(({ answer }) => answer !== null).length
  const searched = new Set<string>()

  function take(index: number): void {
    taken[index] = 1
    order.push(index)
    if (at(index).answer !== null) unexplained -= 1
  }

  function giveBack(length: number): void {
    for (const index of order.splice(length)) {
      taken[index] = 0
      if (at(index).answer !== null) unexplained += 1
    }
  }

  function search(state: State): boolean {
    const text = textOf(state)
    const before = order.length
    while (mayComeNext().some((index) => isTakenAtOnce(state, index)));
    if (order.length > longest.length) longest = [...order]
    if (unexplained === 0) return true
    const configuration = `${taken.join('')}|${text}`
    if (!searched.has(configuration)) {
      searched.add(configuration)
      for (const index of mayComeNext()) {
        const next = step(state, at(index))
        // An operation with an unknown answer that changes nothing here can be left out of the order.
        if (next === null || (at(index).answer === null && textOf(next) === text)) continue
        const length = order.length
        take(index)
        if (search(next)) return true
        giveBack(length)
      }
    }
    giveBack(before)
    return false
  }

  /** Takes an answer that is allowed now and never goes with a change. */
  function isTakenAtOnce(state: State, index: number): boolean {
    if (!changesNothing(at(index)) || step(state, at(index)) === null) return false
    take(index)
    return true
  }

  /** Those that were called before any other one left was answered. */
  function mayComeNext(): number[] {
    const found: number[] = []
    let firstAnswer = Infinity
    for (const [index, { calledAt, answeredAt }] of operations.entries()) {
      if (taken[index] === 1) continue
      if (calledAt > firstAnswer) break
      found.push(index)
      firstAnswer = Math.min(firstAnswer, answeredAt)
    }
    return found
  }

  const accepted = search(NOT_REQUESTED)
  return { accepted, order: (accepted ? order : longest).map(at) }
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
