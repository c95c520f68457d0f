/** Who was behind an event, and which of it the account may read. */
import { expect, test } from 'vitest'
import { doerOf, tellableDetail } from '../../src/core/audit-detail.ts'

const ANN = 'usr_000000000001'
const BEN = 'usr_000000000002'

test.each([
  ['somebody whom it names', 'user.disabled', { by: ANN }, { person: ANN }],
  ['the operator, at the command line', 'user.reset', { by: 'operator' }, { is: 'operator' }],
  ['the operator, where nobody else can', 'application.suspended', { reason: 'x' }, { is: 'operator' }],
  ['whom it is about', 'session.started', { how: 'passkey' }, { person: BEN }],
  ['whom it is about, by way of a link', 'user.password_set', { by: 'recovery' }, { person: BEN }],
  ['whom it is about, by way of a code', 'grant.created', { by: 'code' }, { person: BEN }],
  ['the application', 'grant.issued', {}, { is: 'application' }],
  ['the application that gave it back', 'grant.revoked', { why: 'revoked_by_application' }, { is: 'application' }],
  ['the service', 'grant.revoked', { why: 'never_collected' }, { is: 'service' }],
  ['nobody knows who', 'user.recovery_requested', {}, { is: 'somebody' }],
  ['the service, as far as this version knows', 'moon.landed', {}, { is: 'service' }],
])('%s: %s', (_, kind, detail, doer) => {
  expect(doerOf({ kind, userId: BEN, detail })).toEqual(doer)
})

test('an account reads what was thought of for it, an operator everything', () => {
  const detail = { by: ANN, reason: 'too fast', evidence: { accounts: ['acc_000000000009'] } }
  expect(tellableDetail(detail, true)).toEqual({ reason: 'too fast' })
  expect(tellableDetail(detail, false)).toEqual({ reason: 'too fast', evidence: { accounts: ['acc_000000000009'] } })
})

test('by which way it was done is told, who did it is not told twice', () => {
  expect(tellableDetail({ by: 'dialog', scopes: ['a'] }, true)).toEqual({ way: 'dialog', scopes: ['a'] })
  expect(tellableDetail({ by: 'operator' }, true)).toEqual({})
  expect(tellableDetail({ by: 'user' }, true)).toEqual({})
})
