/** Why an application that no operator has looked at cannot be granted outside its own account. */
import { expect, test } from 'vitest'
import { type Unvetted, vettingProblem } from '../../../src/core/applications/vetting.ts'

test.each<[string, Unvetted | null, boolean, ReturnType<typeof vettingProblem>]>([
  ['an application that was looked at, ordinary scopes', null, false, null],
  ['an application that was looked at, a dangerous scope', null, true, null],
  ['the first user', { outsideGrants: 0, counted: false }, false, null],
  ['the hundredth user', { outsideGrants: 99, counted: false }, false, null],
  ['one user more than a hundred', { outsideGrants: 100, counted: false }, false, 'too_many_grants'],
  ['one of the hundred again', { outsideGrants: 100, counted: true }, false, null],
  ['a dangerous scope', { outsideGrants: 0, counted: false }, true, 'dangerous_scope'],
  ['a dangerous scope for one of the hundred', { outsideGrants: 100, counted: true }, true, 'dangerous_scope'],
  ['a dangerous scope for one more than a hundred', { outsideGrants: 100, counted: false }, true, 'dangerous_scope'],
])('%s (%j, dangerous: %s): %s', (_what, unvetted, dangerous, problem) => {
  expect(vettingProblem(unvetted, dangerous)).toBe(problem)
})
