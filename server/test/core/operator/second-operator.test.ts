/** Who may confirm what another operator proposed. */
import { describe, expect, it } from 'vitest'
import { confirmationProblem, type Operator } from '../../../src/core/operator/second-operator.ts'

const makeOperator = (id: string, given: Partial<Operator> = {}): Operator => ({
  ...{ id, email: `${id}@operators.example`, active: true, changePending: false },
  ...{ invitedBy: null, promotedBy: null, enabledBy: null, resetBy: null },
  ...given,
})
const olga = makeOperator('olga')
const omar = makeOperator('omar')
const proposal = { by: olga, operators: ['olga', 'omar'] }
const GIVERS = ['invitedBy', 'promotedBy', 'enabledBy', 'resetBy'] as const

describe('a proposal is confirmed', () => {
  it('by another operator who was one before it', () => {
    expect(confirmationProblem(proposal, omar)).toBeNull()
  })

  it('also by an operator whom a third one gave access', () => {
    const ties = { invitedBy: 'ida', promotedBy: 'ida', enabledBy: 'ida', resetBy: 'ida' }
    expect(confirmationProblem(proposal, makeOperator('omar', ties))).toBeNull()
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

  it.each(GIVERS)('not if one of the two gave the other access: %s', (how) => {
    expect(confirmationProblem(proposal, makeOperator('omar', { [how]: 'olga' }))).toBe('access_from_proposer')
    expect(confirmationProblem({ ...proposal, by: makeOperator('olga', { [how]: 'omar' }) }, omar)).toBe(
      'access_to_proposer',
    )
  })
})
