/** The policy of an account about applications. */
import { expect, test } from 'vitest'
import { type AccountPolicy, policyAllows } from '../../../src/core/accounts/policy.ts'
import type { PublisherStatus } from '../../../src/core/applications/application.ts'

const makePolicy = (given: Partial<AccountPolicy> = {}): AccountPolicy => ({
  deviceFlow: true,
  unverifiedPublishers: true,
  secondFactor: 'optional',
  onlyApplications: null,
  ...given,
})
const makeApplication = (status: PublisherStatus) => ({
  id: 'app_000000000001',
  publisher: { status, name: status === 'unverified' ? null : 'acme.example' },
})
const LISTED = { onlyApplications: ['app_000000000002', 'app_000000000001'] }

test.each([
  ['without rules', {}, 'unverified', true],
  ['where unverified publishers are not let in', { unverifiedPublishers: false }, 'unverified', false],
  ['where unverified publishers are not let in', { unverifiedPublishers: false }, 'verified', true],
  ['where unverified publishers are not let in', { unverifiedPublishers: false }, 'own', true],
  ['where it is listed', LISTED, 'unverified', true],
  ['where others are listed', { onlyApplications: ['app_000000000002'] }, 'own', false],
  ['where nothing is listed', { onlyApplications: [] }, 'verified', false],
  ['where it is listed, unverified ones not', { ...LISTED, unverifiedPublishers: false }, 'unverified', false],
  // Whether codes are enabled is independent: applications may also use the dialog.
  ['where no codes are entered', { deviceFlow: false }, 'verified', true],
] as const)('%s (%j), an application of status %s: %s', (_, rules, status, allowed) => {
  expect(policyAllows(makePolicy(rules), makeApplication(status))).toBe(allowed)
})
