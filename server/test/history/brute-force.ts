/**
 * Linearizability by its definition, for short histories: tries every order of every choice of the operations whose answer
 * nobody heard. Shares the specification with check.ts, and nothing of the search.
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

/** No operation comes after one that was called only when it was answered. */
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
