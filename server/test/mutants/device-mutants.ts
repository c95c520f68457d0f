/** Rules of the state machine of a device code, changed: concurrent clients then hear what the contract does not allow. */
import type { Mutant } from './mutant.ts'

type Changed = readonly [id: string, text: string, replacement: string, allows: string]

const changed: readonly Changed[] = [
  [
    'repeat-without-key',
    'request.idempotencyKey !== null && code.delivery?.idempotencyKey',
    'code.delivery?.idempotencyKey',
    'every poll without an Idempotency-Key collects the credentials again',
  ],
  [
    'repeat-other-key',
    'code.delivery?.idempotencyKey === request.idempotencyKey',
    'code.delivery?.idempotencyKey !== request.idempotencyKey',
    'a poll with another Idempotency-Key collects the credentials again',
  ],
  [
    'repeat-never',
    "? { answer: 'repeat', delivery: code.delivery }",
    "? { answer: 'invalid' }",
    'a client that lost the answer never gets it, although it sent an Idempotency-Key',
  ],
  [
    'repeat-briefly',
    'export const REPEAT_MS = 10 * 60 * 1000',
    'export const REPEAT_MS = 1000',
    'a client that retries after a second has lost the answer',
  ],
  [
    'repeat-as-accepted',
    "? { answer: 'repeat', delivery: code.delivery }",
    "? { answer: 'repeat', delivery: { ...code.delivery, outcome: 'accepted' } }",
    'who repeats the poll of a rejected code hears that it was accepted',
  ],
  [
    'repeat-as-expired',
    "? { answer: 'repeat', delivery: code.delivery }",
    "? { answer: 'repeat', delivery: { ...code.delivery, outcome: 'expired' } }",
    'who repeats the poll of a granted code hears that it expired',
  ],
  [
    'lease-not-respected',
    "if (leased && !isRepetition(code, request)) return { answer: 'being_delivered' }",
    '',
    'two polls at once both collect the credentials',
  ],
  [
    'lease-reversed',
    'now < code.delivery.until',
    'now > code.delivery.until',
    'two polls at once both collect the credentials, and nobody does after a crash',
  ],
  [
    'lease-ends-at-once',
    'until: now + LEASE_MS',
    'until: now',
    'a lease protects nothing: two polls at once both collect the credentials',
  ],
  [
    'lease-too-short',
    'export const LEASE_MS = 10_000',
    'export const LEASE_MS = 500',
    'an answer that takes a second to send is sent to another poll, too',
  ],
  [
    'lease-forgets-key',
    'outcome, idempotencyKey }',
    'outcome, idempotencyKey: null }',
    'the Idempotency-Key of the answered poll is not stored, and its retry is invalid',
  ],
  [
    'expiry-not-heard',
    "if (isExpired(code, request.now) || isClosed(code)) return deliver(code, 'expired', request)",
    '',
    'a device polls an expired code forever',
  ],
  [
    'expiry-after-pace',
    'if (isExpired(code, request.now) || isClosed(code)) return',
    'if (!request.tooEarly && (isExpired(code, request.now) || isClosed(code))) return',
    'a device that polls too early is not told that its code has expired',
  ],
  [
    'closing-not-heard',
    'if (isExpired(code, request.now) || isClosed(code)) return',
    'if (isExpired(code, request.now)) return',
    'a device polls a closed code until it expires',
  ],
  [
    'expiry-late',
    'return now >= code.expiresAt\n',
    'return now >= code.expiresAt + 3_000\n',
    'a code is granted after its lifetime',
  ],
  [
    'expiry-early',
    'return now >= code.expiresAt\n',
    'return now >= code.expiresAt - 3_000\n',
    'a code expires before the time that the device was told',
  ],
  [
    'expired-is-rejected',
    "return deliver(code, 'expired', request)",
    "return deliver(code, 'rejected', request)",
    'a device is told that the user rejected it, when nobody entered the code',
  ],
  [
    'rejected-is-accepted',
    "return deliver(code, 'rejected', request)",
    "return deliver(code, 'accepted', request)",
    'a device that the user rejected hears that it was accepted',
  ],
  [
    'accepted-is-rejected',
    "return deliver(code, 'accepted', request)",
    "return deliver(code, 'rejected', request)",
    'a device that the user granted hears that it was rejected',
  ],
  [
    'accepted-is-invalid',
    "return deliver(code, 'accepted', request)",
    "return { answer: 'invalid' }",
    'nobody collects the credentials that a user granted',
  ],
  [
    'accepted-is-paced',
    "return deliver(code, 'accepted', request)",
    "return request.tooEarly ? { answer: 'slow_down' } : deliver(code, 'accepted', request)",
    'an early poll after the grant is answered as if the user had not decided',
  ],
  [
    'pending-is-invalid',
    "return { answer: request.tooEarly ? 'slow_down' : 'auth_pending' }",
    "return { answer: request.tooEarly ? 'invalid' : 'auth_pending' }",
    'a device that polls too early gives up, and the user’s yes is lost',
  ],
  [
    'pending-delivers-early',
    "return { answer: request.tooEarly ? 'slow_down' : 'auth_pending' }",
    "return code.claimedBy ? deliver(code, 'accepted', request) : { answer: 'auth_pending' }",
    'a device is accepted as soon as somebody has entered its code',
  ],
  [
    'sent-is-not-used',
    "{ ...code, status: 'used', delivery }",
    'code',
    'whoever polls after the lease of an answered poll collects the credentials again',
  ],
  [
    'sent-forgets-delivery',
    "{ ...code, status: 'used', delivery }",
    "{ ...code, status: 'used', delivery: null }",
    'a client that lost the answer never gets it, although it sent an Idempotency-Key',
  ],
  [
    'sent-is-open-again',
    "{ ...code, status: 'used', delivery }",
    "{ ...code, status: 'pending', delivery: null }",
    'a code whose outcome was delivered is pending again',
  ],
  [
    'claim-of-closed',
    "if (!isOpen(code, now)) return { answer: 'not_open' }",
    '',
    'a code is claimed after it was decided',
  ],
  [
    'claim-taken-over',
    'if (claimedBy === null || claimedBy === userId) return {',
    'if (claimedBy !== undefined) return {',
    'whoever enters a code last decides it',
  ],
  [
    'claim-never',
    'if (claimedBy === null || claimedBy === userId) return {',
    'if (claimedBy === userId) return {',
    'nobody can claim a code',
  ],
  [
    'claim-not-again',
    'if (claimedBy === null || claimedBy === userId) return {',
    'if (claimedBy === null) return {',
    'a user who enters the same code again closes it for themselves',
  ],
  [
    'claim-by-colleague',
    "next: { ...code, alsoEntered: 'colleague' }",
    "next: { ...code, claimedBy: userId, alsoEntered: 'colleague' }",
    'a colleague who enters the code takes the decision from the user who entered it first',
  ],
  [
    'colleague-closes',
    "next: { ...code, alsoEntered: 'colleague' }",
    "next: { ...code, entryClosed: true, alsoEntered: 'colleague' }",
    'a colleague who enters the code ends it',
  ],
  [
    'colleague-is-stranger',
    "    case 'colleague':\n",
    "    case 'stranger':\n    case 'colleague':\n",
    'a user of another account is told that a code exists, and colleagues close it',
  ],
  [
    'passed-around-stays-open',
    "entryClosed: true, alsoEntered: 'another_account'",
    "alsoEntered: 'another_account'",
    'a code that was passed around is granted',
  ],
  ['passed-around-is-granted', ' && !code.entryClosed', '', 'a code that was passed around is granted'],
  [
    'release-keeps-claim',
    'next: { ...code, claimedBy: null, claimedAs: null, alsoEntered: null }',
    'next: { ...code, alsoEntered: null }',
    'a user who said that the code is not theirs can grant it, and nobody else',
  ],
  [
    'release-closes',
    'next: { ...code, claimedBy: null, claimedAs: null, alsoEntered: null }',
    'next: { ...code, claimedBy: null, claimedAs: null, alsoEntered: null, entryClosed: true }',
    'nobody can enter a code after “Not you?”',
  ],
  ['grant-not-saved', "status: 'accepted', grantId }", "status: 'pending', grantId }", 'the user’s yes is lost'],
  [
    'grant-is-rejection',
    "status: 'accepted', grantId }",
    "status: 'rejected', grantId }",
    'the device hears no when the user said yes',
  ],
  [
    'rejection-is-grant',
    "next: { ...code, status: 'rejected' }",
    "next: { ...code, status: 'accepted' }",
    'the device hears yes when the user said no',
  ],
  [
    'rejection-not-saved',
    "next: { ...code, status: 'rejected' }",
    'next: { ...code }',
    'the user’s no is lost, and the code can still be granted',
  ],
  [
    'grant-any-time',
    `export function accept(code: DeviceCode, userId: string, grantId: string, now: number): DecisionStep {
  if (!isOpen(code, now) || code.claimedBy !== userId)`,
    `export function accept(code: DeviceCode, userId: string, grantId: string, now: number): DecisionStep {
  if (code.claimedBy !== userId)`,
    'a rejected, expired or used code is granted',
  ],
  [
    'reject-any-time',
    `export function reject(code: DeviceCode, userId: string, now: number): DecisionStep {
  if (!isOpen(code, now) || code.claimedBy !== userId)`,
    `export function reject(code: DeviceCode, userId: string, now: number): DecisionStep {
  if (code.claimedBy !== userId)`,
    'a granted code is rejected before the device collects it',
  ],
  [
    'open-although-decided',
    "code.status === 'pending' && !isExpired(code, now)",
    '!isExpired(code, now)',
    'a code is decided twice',
  ],
  [
    'open-although-expired',
    "code.status === 'pending' && !isExpired(code, now)",
    "code.status === 'pending'",
    'a code is granted after its lifetime',
  ],
  [
    'open-until-used',
    "code.status === 'pending' && !isExpired(code, now)",
    "code.status !== 'used' && !isExpired(code, now)",
    'a decision is replaced until the device has collected it',
  ],
  [
    'used-delivers-again',
    ": { answer: 'invalid' }",
    ": { answer: 'repeat', delivery: code.delivery as Delivery }",
    'a used code hands out its credentials to every poll',
  ],
  [
    'used-is-pending',
    ": { answer: 'invalid' }",
    ": { answer: 'auth_pending' }",
    'a device whose answer got lost polls a used code forever',
  ],
  [
    'lease-only-for-repeats',
    'if (leased && !isRepetition(code, request))',
    'if (leased && isRepetition(code, request))',
    'two polls at once both collect the credentials, if they have different keys',
  ],
  [
    'lease-not-saved',
    'next: { ...code, delivery, entryClosed }',
    'next: { ...code, entryClosed }',
    'two polls at once both collect the credentials',
  ],
  [
    'release-decides',
    '{ ...code, delivery: null } : code',
    "{ ...code, status: 'rejected', delivery: null } : code",
    'a user’s yes becomes a no when the device’s connection breaks',
  ],
]

export const deviceMutants: readonly Mutant[] = changed.map(([id, text, replacement, allows]) => {
  const tests = ['server/test/history/simulate.test.ts']
  return { id, file: 'server/src/core/device/code.ts', text, replacement, tests, allows }
})
