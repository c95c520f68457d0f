/**
 * Linearizability by its definition, for short histories: tries every order of the answered operations with each subset
 * of those with an unknown answer. Shares the specification with check.ts, but not the search.
 */
import type { Operation } from './history.ts'
import { NOT_REQUESTED, step } from './specification.ts'

export function isLinearizable(history: readonly Operation[]): boolean {
  const answered = history.filter(({ answer }) => answer !== null)
  const unknown = history.filter(({ answer }) => answer === null)
  return subsets(unknown).some((tookEffect) =>
    orders([...answered, ...tookEffect]).some((order) => keepsRealTime(order) && isAllowed(order)),
  )
}

function subsets<T>([first, ...others]: readonly T[]): T[][] {
  if (first === undefined) return [[]]
  return subsets(others).flatMap((set) => [set, [first, ...set]])
}

function orders<T>(values: readonly T[]): T[][] {
  if (values.length === 0) return [[]]
  return values.flatMap((first, at) => orders(values.toSpliced(at, 1)).map((rest) => [first, ...rest]))
}

/** An operation that was answered before another one was called comes before it. */
function keepsRealTime(order: readonly Operation[]): boolean {
  return order.every((one, at) => order.slice(at + 1).every((later) => later.answeredAt >= one.calledAt))
}

function isAllowed(order: readonly Operation[]): boolean {
  let state = NOT_REQUESTED
  for (const operation of order) {
    const next = step(state, operation)
    if (next === null) return false
    state = next
  }
  return true
}
