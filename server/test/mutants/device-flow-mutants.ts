/** Steps of the flows of a device code, left out or changed: concurrent clients of a service then hear what is not allowed. */
import type { Mutant } from './mutant.ts'

type Changed = readonly [id: string, file: string, text: string, replacement: string, allows: string]

const changed: readonly Changed[] = [
  [
    'flow-grant-keeps-hint',
    'flows/device/decide.ts',
    'await announceDecision(context, key.id, result.issuedBy)',
    '',
    'a device is told that the user has not decided, after the user was told that they have',
  ],
  [
    'flow-grant-not-saved',
    'flows/device/decide.ts',
    "await saveDeviceCode(tx, step.next)\n    return { outcome: 'granted'",
    "return { outcome: 'granted'",
    'the user is told that they granted, and the device never hears of it',
  ],
  [
    'flow-rejection-not-saved',
    'flows/device/decide.ts',
    'await saveDeviceCode(tx, step.next)\n    const about',
    'const about',
    'the user is told that they rejected, and the code can still be granted',
  ],
  [
    'flow-other-path',
    'flows/device/poll.ts',
    'if (!code || code.variant !== request.variant) return INVALID',
    'if (!code) return INVALID',
    'a token set is delivered on the path of access keys',
  ],
  [
    'flow-lease-not-saved',
    'flows/device/look.ts',
    "if (step.answer === 'deliver') await saveDeviceCode(tx, step.next)",
    '',
    'two polls at once both collect the credentials',
  ],
  [
    'flow-no-repeat',
    'flows/device/look.ts',
    "if (found?.status === 'used' && !repetition) return INVALID",
    "if (found?.status === 'used') return INVALID",
    'a client that lost the answer never gets it, although it sent an Idempotency-Key',
  ],
  [
    'flow-sent-not-saved',
    'flows/device/deliver.ts',
    'if (next !== locked.code) await saveDeviceCode(tx, next)',
    '',
    'whoever polls after the lease of an answered poll collects the credentials again',
  ],
  [
    'flow-sent-is-released',
    'http/device/polling-endpoints.ts',
    'sent ? confirmDelivery(context, ticket) : releaseDelivery(context, ticket)',
    'sent ? releaseDelivery(context, ticket) : confirmDelivery(context, ticket)',
    'every poll collects the credentials again',
  ],
  [
    'flow-claim-not-saved',
    'flows/device/claim-code.ts',
    'await saveDeviceCode(tx, step.next)',
    '',
    'a user who entered the code cannot decide',
  ],
  [
    'flow-stranger-is-colleague',
    'flows/device/claim-code.ts',
    'claimant?.accountId === user.accountId',
    'claimant !== null',
    'a user of another account is told that a code exists, and a code that was passed around is granted',
  ],
  [
    'store-forgets-key',
    'store/device/codes.ts',
    'code.delivery?.idempotencyKey ?? null',
    'null',
    'the Idempotency-Key of the answered poll is not stored, and its retry is invalid',
  ],
  [
    'store-forgets-closing',
    'store/device/codes.ts',
    '      code.entryClosed,\n',
    '      false,\n',
    'a code that was passed around is granted',
  ],
]

const TESTS = ['server/test/races/histories.test.ts']

export const deviceFlowMutants: readonly Mutant[] = changed.map(([id, file, text, replacement, allows]) => {
  return { id, file: `server/src/${file}`, text, replacement, tests: TESTS, allows }
})
