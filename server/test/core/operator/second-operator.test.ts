/** Who may confirm what another operator proposed. */
import { describe, expect, it } from 'vitest'
import { confirmationProblem, type Operator } from '../../../src/core/operator/second-operator.ts'

const makeOperator = (id: string, given: Partial<Operator> = {}): Operator => ({
  ...{ id, email: `${id}@operators.example`, accessFrom: [], active: true, changePending: false },
  ...given,
})
const olga = makeOperator('olga')
const omar = makeOperator('omar')
const proposal = { by: olga, operators: ['olga', 'omar'] }

describe('a proposal is confirmed', () => {
  it('by another operator who was one before it', () => {
    expect(confirmationProblem(proposal, omar)).toBeNull()
  })

  it('also by an operator whom a third one gave access', () => {
    expect(confirmationProblem(proposal, makeOperator('omar', { accessFrom: ['ida'] }))).toBeNull()
  })

  it('not by the proposer', () => {
    expect(confirmationProblem(proposal, olga)).toBe('own')
  })

  it('not by who became an operator after it', () => {
    expect(confirmationProblem(proposal, makeOperator('ida'))).toBe('newer')
  })

  it('not by an operator of whom a change is pending', () => {
    expect(confirmationProblem(proposal, makeOperator('omar', { changePending: true }))).toBe('change_pending')
  })

  it('not after the proposer has left', () => {
    expect(confirmationProblem({ ...proposal, by: makeOperator('olga', { active: false }) }, omar)).toBe(
      'proposer_left',
    )
  })

  it('not if one of the two gave the other access', () => {
    const made = makeOperator('omar', { accessFrom: ['ida', 'olga'] })
    expect(confirmationProblem(proposal, made)).toBe('access_from_proposer')
    const by = makeOperator('olga', { accessFrom: ['omar', 'ida'] })
    expect(confirmationProblem({ ...proposal, by }, omar)).toBe('access_to_proposer')
  })
})
