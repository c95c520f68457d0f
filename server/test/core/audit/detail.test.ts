/** Which fields of an event's detail its account may read. */
import { expect, test } from 'vitest'
import { isAuditDetail, visibleDetail } from '../../../src/core/audit/detail.ts'

test('an account reads the listed fields, an operator all of them', () => {
  const detail = { reason: 'polls_too_fast', evidence: { accounts: ['acc_000000000009'] } }
  expect(visibleDetail(detail, true)).toEqual({ reason: 'polls_too_fast' })
  expect(visibleDetail(detail, false)).toEqual(detail)
})

test.each(['reason', 'added', 'testMode'])('the field %s may be read by the account', (name) => {
  expect(isAuditDetail(name)).toBe(true)
})

test.each(['evidence', 'Reason', '', 'toString'])('the field %j may not be read by the account', (name) => {
  expect(isAuditDetail(name)).toBe(false)
})
