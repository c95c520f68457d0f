/** docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md: what was decided since stays. */
import { describe, expect, it } from 'vitest'
import type { AuditKind } from '../../../src/core/audit/kind.ts'
import { type EventLine, type JournalledKind, subjectOf } from '../../../src/core/restore/journal-line.ts'
import { createSupersededCheck, supersedingKinds } from '../../../src/core/restore/superseded.ts'

const at = (second: number) => `2026-11-19 10:00:${String(second).padStart(2, '0')}+00`
const line = (kind: JournalledKind, second: number): EventLine => ({
  ...{ kind, event: second, at: at(second) },
  ...{ account: 'acc_1', user: 'usr_1', application: 'app_1', grant: 'grt_1', code: 'cod_1' },
  ...{ role: 'rol_1', endpoint: 'whk_1', managementKey: 'mgk_1' },
})
const about = (kind: AuditKind) => subjectOf({ ...line('user.reset', 0), kind }) ?? ''

const OF_USERS: readonly AuditKind[] = [
  'user.authenticator_added',
  'user.passkey_added',
  'user.reset',
  'user.roles_changed',
  'user.updated',
]
const OF_APPLICATIONS: readonly AuditKind[] = [
  'application.changed',
  'application.publisher_proven',
  'application.publisher_removed',
  'application.publisher_set',
]

describe.each<[JournalledKind, readonly AuditKind[]]>([
  ['user.roles_changed', OF_USERS],
  ['user.updated', OF_USERS],
  ['user.passkey_removed', OF_USERS],
  ['user.authenticator_removed', OF_USERS],
  ['role.changed', ['role.changed']],
  ['role.removed', ['role.changed']],
  ['account.policy_changed', ['account.policy_changed']],
  ['account.provider_changed', ['account.provider_changed']],
  ['application.changed', OF_APPLICATIONS],
  ['application.publisher_lost', OF_APPLICATIONS],
  ['application.test_mode_ended', ['application.test_mode_ended', 'application.test_mode_started']],
  ['application.vetting_withdrawn', ['application.vetting_withdrawn', 'application.vetted']],
  ['management_key.rotated', ['management_key.rotated']],
  ['user.recovery_code_used', ['user.recovery_codes_created', 'user.reset']],
  ['user.recovery_codes_created', ['user.recovery_codes_created', 'user.reset']],
  ['webhook.removed', []],
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

it.each<[AuditKind, string]>([
  ['account.policy_changed', 'acc_1'],
  ['application.suspended', 'app_1'],
  ['code.rejected', 'cod_1'],
  ['grant.revoked', 'grt_1'],
  ['management_key.rotated', 'mgk_1'],
  ['role.changed', 'rol_1'],
  ['user.reset', 'usr_1'],
  ['webhook.removed', 'whk_1'],
])('%s is about %s', (kind, subject) => {
  expect(about(kind)).toBe(subject)
})
