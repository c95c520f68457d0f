/** docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md: what was decided since stays. */
import { describe, expect, it } from 'vitest'
import type { EventLine, JournalledKind } from '../../../src/core/restore/journal-line.ts'
import { createSupersededCheck, subjectOf, supersedingKinds } from '../../../src/core/restore/superseded.ts'

const at = (second: number) => `2026-11-19 10:00:${String(second).padStart(2, '0')}+00`
const line = (kind: JournalledKind, second: number): EventLine => ({
  ...{ kind, event: second, at: at(second) },
  ...{ account: 'acc_1', user: 'usr_1', application: 'app_1', grant: 'grt_1' },
})
const about = (kind: JournalledKind) => subjectOf(line(kind, 0)) ?? ''

describe.each<[JournalledKind, readonly JournalledKind[]]>([
  ['application.suspended', ['application.suspended', 'application.restored']],
  ['grant.revoked', ['grant.revoked', 'grant.restored']],
  ['user.disabled', ['user.disabled', 'user.enabled']],
  ['user.password_set', ['user.password_set', 'user.reset']],
  ['user.reset', ['user.reset']],
  ['account.closed', []],
  ['application.deleted', []],
  ['application.secret_revoked', []],
  ['user.erased', []],
])('%s', (kind, later) => {
  it(`is superseded by ${later.join(' and ') || 'nothing'}, about the same thing`, () => {
    for (const other of supersedingKinds) {
      const check = (subject: string, second: number) =>
        createSupersededCheck([{ kind: other, subject, at: at(second) }])(line(kind, 10))
      expect(check(about(other), 11), other).toBe(later.includes(other))
      expect(check('another', 11), other).toBe(false)
      expect(check(about(other), 10), other).toBe(false)
      expect(check(about(other), 9), other).toBe(false)
    }
  })
})

it('the newest of several decisions counts, in whatever order they are read', () => {
  const decisions = [11, 9, 8].map((second) => ({ kind: 'user.enabled' as const, subject: 'usr_1', at: at(second) }))
  expect(createSupersededCheck(decisions)(line('user.disabled', 10))).toBe(true)
  expect(createSupersededCheck(decisions.toReversed())(line('user.disabled', 10))).toBe(true)
  expect(createSupersededCheck([])(line('user.disabled', 10))).toBe(false)
})

it('parts of a second count', () => {
  const decision = { kind: 'user.enabled' as const, subject: 'usr_1', at: '2026-11-19 10:00:10.25+00' }
  expect(createSupersededCheck([decision])(line('user.disabled', 10))).toBe(true)
})

it('an event is about its application, its grant or its user', () => {
  expect(['application.suspended', 'grant.revoked', 'user.reset'].map((kind) => about(kind as JournalledKind))).toEqual(
    ['app_1', 'grt_1', 'usr_1'],
  )
})
