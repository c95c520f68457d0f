/** Kinds of audit events and the groups that filter them. */
import { describe, expect, test } from 'vitest'
import { auditGroups, everyAuditKind, isAuditGroup, isAuditKind, kindsIn } from '../../../src/core/audit/kind.ts'

describe('a kind', () => {
  test.each(['account.created', 'webhook.gone'])('is %s', (text) => {
    expect(isAuditKind(text)).toBe(true)
  })

  // A newer version may have written it; and no text may find what every object has.
  test.each(['', 'account', 'account.unheard_of', 'toString', '__proto__'])('is not %j', (text) => {
    expect(isAuditKind(text)).toBe(false)
  })
})

describe('a group', () => {
  test.each(auditGroups)('is %s, and has kinds', (group) => {
    expect(isAuditGroup(group)).toBe(true)
    expect(kindsIn(group)).not.toEqual([])
  })

  test.each(['', 'people ', 'People', 'webhooks', 'account.created'])('is not %j', (text) => {
    expect(isAuditGroup(text)).toBe(false)
  })

  test('has the kinds of its own only', () => {
    expect(kindsIn('sign_ins')).toContain('session.started')
    expect(kindsIn('sign_ins')).not.toContain('grant.created')
    expect(kindsIn('access')).toContain('grant.created')
  })

  test('each kind is in exactly one', () => {
    expect(auditGroups.flatMap(kindsIn).sort()).toEqual([...everyAuditKind].sort())
  })
})
