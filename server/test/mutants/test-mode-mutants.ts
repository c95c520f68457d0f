/** Every rule by which test mode leaves nothing behind, left out: attacks/applications/test-mode.test.ts has a test for each. */
import type { Mutant } from './mutant.ts'

const TESTS = ['server/test/attacks/applications/test-mode.test.ts']

type Left = readonly [id: string, file: string, text: string, replacement: string, allows: string]

const left: readonly Left[] = [
  [
    'test-secret',
    'flows/device/decide-test-code.ts',
    '!isTestSecret(context.config.keys, test?.secret ?? null, given.testSecret) || !test',
    '!test',
    'whoever has the application’s secret decides its codes in test mode',
  ],
  [
    'test-held',
    'core/grants/granting.ts',
    'return by.applicationId !== application.id || !running?.secret.digest.equals(by.test.secret.digest)',
    'return by.applicationId !== application.id',
    'a process that has not heard of its end grants in test mode',
  ],
  [
    'test-same',
    'core/grants/granting.ts',
    'return by.applicationId !== application.id || !running?.secret.digest.equals(by.test.secret.digest)',
    'return by.applicationId !== application.id || running === null',
    'the secret of an earlier test mode grants at a process that has not heard of the next one',
  ],
  [
    'test-locked',
    'store/applications/test-modes.ts',
    'where application_id = $1 for share',
    'where application_id = $1',
    'a grant that is made while test mode ends stays',
  ],
  [
    'test-dangerous',
    'core/applications/test-mode.ts',
    'return held.filter((name) => !dangerous.includes(name))',
    'return held',
    'test mode grants dangerous scopes',
  ],
  [
    'test-over',
    'core/grants/grant.ts',
    'return testEndsAt !== null && now >= testEndsAt',
    'return false',
    'what was granted in test mode works until somebody revokes it',
  ],
  [
    'test-mode-over',
    'core/applications/test-mode.ts',
    'testMode !== null && now < testMode.endsAt',
    'testMode !== null',
    'test mode goes on until somebody notices that its time is over',
  ],
  [
    'test-revoked',
    'flows/applications/test-mode.ts',
    "await revokeGrants(tx, actor, { testsOf: id }, 'test_mode_ended')",
    '',
    'what was granted in test mode outlives it',
  ],
  [
    'test-swept',
    'flows/sweep.ts',
    'await endOverdueTestModes(db)',
    '',
    'what was granted in a test mode that ran out is never revoked',
  ],
  [
    'test-of-persons',
    'store/grants/grants.ts',
    "'application_id = $1 and test_ends_at is not null'",
    "'application_id = $1'",
    'switching test mode off ends what people granted',
  ],
  [
    'test-password',
    'flows/sign-in/change-password.ts',
    'await endTestModesOf(tx, byUser(sessionUser.id), sessionUser.id)',
    '',
    'a stolen session’s test mode outlives the change of the password',
  ],
  [
    'test-recovery',
    'flows/sign-in/links.ts',
    'await endTestModesOf(tx, actor, owner.id)',
    '',
    'a stolen session’s test mode outlives the recovery of the password',
  ],
  [
    'test-reset',
    'flows/sign-in/reset-user.ts',
    'await endTestModesOf(tx, actor, userId)',
    '',
    'a stolen session’s test mode outlives a reset',
  ],
  [
    'test-role',
    'flows/accounts/give-access.ts',
    'if (!administrator) await endTestModesOf(tx, actor, userId)',
    '',
    'somebody who is no administrator any more goes on deciding codes',
  ],
  [
    'test-actor',
    'core/grants/granting.ts',
    'return byApplication(by.applicationId)',
    'return byUser(userId)',
    'the audit log says that the administrator granted what a test did',
  ],
]

export const testModeMutants: readonly Mutant[] = left.map(([id, file, text, replacement, allows]) => {
  return { id, file: `server/src/${file}`, text, replacement, tests: TESTS, allows }
})
