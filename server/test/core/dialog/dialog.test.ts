/** The state machine of a dialog, transition by transition. docs/interface/dialog.md. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  confirmExchange,
  type Dialog,
  type DialogStatus,
  decide,
  dialogStatus,
  type Exchange,
  type ExchangeStep,
  exchange,
  releaseExchange,
} from '../../../src/core/dialog/dialog.ts'
import { NOW } from '../../rig/records.ts'

const EXPIRES_AT = NOW + 600_000
const CODE_LIFETIME_MS = 60_000
const LEASE_MS = 10_000

/** Open; frozen, so that a step that mutates it throws. */
function makeDialog(given: Partial<Dialog> = {}): Dialog {
  return Object.freeze({
    id: '01958f00-0000-7000-8000-000000000002',
    applicationId: 'app_000000000000',
    redirectUri: 'https://app.example/callback',
    scopes: ['orders:read'],
    state: 'cart 4',
    codeChallenge: 'x'.repeat(43),
    expiresAt: EXPIRES_AT,
    decidedAt: null,
    userId: null,
    grantId: null,
    delivery: null,
    usedAt: null,
    ...given,
  })
}

/** Without waiting for the row's lock, unless the test says so. */
function makeExchange(given: Partial<Exchange> = {}): Exchange {
  const now = given.now ?? NOW + 1_000
  return {
    applicationId: 'app_000000000000',
    redirectUri: 'https://app.example/callback',
    proven: true,
    verifierMissing: false,
    leaseId: 'lease-2',
    idempotencyKey: null,
    arrivedAt: now,
    now,
    codeLifetimeMs: CODE_LIFETIME_MS,
    ...given,
  }
}

const yes = { decidedAt: NOW, userId: 'usr_000000000000', grantId: 'grant-1' }
const open = makeDialog()
const denied = makeDialog({ ...yes, grantId: null })
const allowed = makeDialog(yes)
const leased = makeDialog({ ...yes, delivery: { leaseId: 'lease-1', until: NOW + LEASE_MS, idempotencyKey: null } })
const used = makeDialog({ ...leased, usedAt: NOW + 500 })
const leasedByKey = makeDialog({
  ...yes,
  delivery: { leaseId: 'lease-1', until: NOW + LEASE_MS, idempotencyKey: 'key-1' },
})
const usedByKey = makeDialog({ ...leasedByKey, usedAt: NOW + 500 })
const burned = makeDialog({ ...yes, usedAt: NOW + 500 })

describe('the status', () => {
  test.each<[string, Dialog, number, DialogStatus]>([
    ['a new one', open, NOW, 'open'],
    ['a new one, to the last moment', open, EXPIRES_AT - 1, 'open'],
    ['one that nobody decided in time', open, EXPIRES_AT, 'expired'],
    ['a no', denied, NOW, 'denied'],
    ['a no, long after its time', denied, EXPIRES_AT * 2, 'denied'],
    ['a yes', allowed, NOW, 'allowed'],
    ['a yes, long after its time: the code has its own', allowed, EXPIRES_AT, 'allowed'],
    ['one whose exchange is being answered', leased, NOW, 'allowed'],
    ['one that was exchanged', used, NOW, 'used'],
    ['one that was burned', burned, NOW, 'used'],
  ])('%s', (_what, dialog, now, status) => {
    expect(dialogStatus(dialog, now)).toBe(status)
  })
})

describe('the decision', () => {
  test.each([
    ['yes', 'grant-9'],
    ['no', null],
  ])('%s is saved with user and time, and nothing else changes', (_what, grantId) => {
    const now = EXPIRES_AT - 1
    expect(decide(open, { userId: 'usr_9', grantId, now, codeLifetimeMs: CODE_LIFETIME_MS })).toEqual({
      answer: 'decided',
      next: { ...open, userId: 'usr_9', grantId, decidedAt: now },
    })
  })

  test.each<[DialogStatus, Dialog, number]>([
    ['expired', open, EXPIRES_AT],
    ['denied', denied, NOW],
    ['allowed', allowed, NOW],
    ['allowed', leased, NOW],
    ['used', used, NOW],
    ['used', burned, NOW],
  ])('DG-22: nobody else decides one that is %s', (status, dialog, now) => {
    expect(dialogStatus(dialog, now)).toBe(status)
    for (const grantId of ['grant-9', null]) {
      const given = { userId: 'usr_9', grantId, now, codeLifetimeMs: CODE_LIFETIME_MS }
      expect(decide(dialog, given)).toEqual({ answer: 'not_open' })
    }
  })

  test.each<[string, Dialog, string | null, number, 'repeated' | 'not_open']>([
    ['who allowed, allows again', allowed, 'grant-9', NOW + 59_999, 'repeated'],
    ['who denied, denies again', denied, null, NOW + 59_999, 'repeated'],
    ['who allowed, then denies', allowed, null, NOW, 'not_open'],
    ['who denied, then allows', denied, 'grant-9', NOW, 'not_open'],
    ['who allowed, allows again when the code is over', allowed, 'grant-9', NOW + 60_000, 'not_open'],
    ['who allowed, allows again while the code is being exchanged', leased, 'grant-9', NOW, 'not_open'],
    ['who allowed, allows again after the exchange', used, 'grant-9', NOW, 'not_open'],
    ['who allowed, allows again what was burned', burned, 'grant-9', NOW, 'not_open'],
  ])('DG-22: %s', (_what, dialog, grantId, now, answer) => {
    const given = { userId: yes.userId, grantId, now, codeLifetimeMs: CODE_LIFETIME_MS }
    expect(decide(dialog, given)).toEqual({ answer })
  })
})

describe('the exchange', () => {
  const deliver = (dialog: Dialog, at: number, idempotencyKey: string | null = null): ExchangeStep => ({
    answer: 'deliver',
    next: { ...dialog, delivery: { leaseId: 'lease-2', until: at + LEASE_MS, idempotencyKey } },
  })
  const burn = (dialog: Dialog): ExchangeStep => ({ answer: 'burn', next: { ...dialog, usedAt: expect.any(Number) } })
  const nothing: ExchangeStep = { answer: 'not_valid' }
  const waits: ExchangeStep = { answer: 'being_delivered' }
  const replayed: ExchangeStep = { answer: 'replayed' }
  const repeat: ExchangeStep = { answer: 'repeat' }
  const missing: ExchangeStep = { answer: 'verifier_missing' }
  const forgotten = { proven: false, verifierMissing: true }
  const byKey = { idempotencyKey: 'key-1' }
  const after = (ms: number) => ({ now: NOW + ms })

  test.each<[string, Dialog, Partial<Exchange>, ExchangeStep]>([
    ['of one that is open', open, {}, nothing],
    ['of one that expired', open, { now: EXPIRES_AT }, nothing],
    ['of one that was denied', denied, {}, nothing],
    ['of one that was allowed', allowed, after(0), deliver(allowed, NOW)],
    ['in the last moment', allowed, after(59_999), deliver(allowed, NOW + 59_999)],
    ['DG-09: too late', allowed, after(60_000), burn(allowed)],
    ['DG-10: by another application', allowed, { applicationId: 'app_other' }, burn(allowed)],
    ['DG-10: with another redirect address', allowed, { redirectUri: 'https://app.example/callback/' }, burn(allowed)],
    ['DG-10: with the wrong verifier', allowed, { proven: false }, burn(allowed)],
    ['DG-11: without the verifier', allowed, forgotten, missing],
    ['DG-11: without the verifier, too late', allowed, { ...forgotten, ...after(60_000) }, burn(allowed)],
    [
      'DG-11: without the verifier, by another application',
      allowed,
      { ...forgotten, applicationId: 'x' },
      burn(allowed),
    ],
    ['DG-11: without the verifier, with another address', allowed, { ...forgotten, redirectUri: 'x' }, burn(allowed)],
    ['DG-11: without the verifier, while another is being answered', leased, forgotten, nothing],
    ['DG-11: without the verifier, after that', leased, { ...forgotten, ...after(20_000) }, missing],
    ['DG-11: without the verifier, of one that was exchanged', used, forgotten, nothing],
    ['while another is being answered', leased, {}, waits],
    ['while another is being answered, with the wrong verifier', leased, { proven: false }, nothing],
    ['while another is being answered, to the last moment', leased, after(9_999), waits],
    ['after another was not heard of again', leased, after(10_000), deliver(leased, NOW + 10_000)],
    ['after that, but too late', leased, after(60_000), nothing],
    ['after that, with the wrong verifier', leased, { ...after(20_000), proven: false }, nothing],
    ['after that, by another application', leased, { ...after(20_000), applicationId: 'app_other' }, nothing],
    ['DG-08: of one that was exchanged', used, {}, replayed],
    ['of one that was exchanged, a day later', used, after(86_400_000), replayed],
    ['of one that was exchanged, by another application', used, { applicationId: 'app_other' }, nothing],
    ['of one that was exchanged, with another redirect address', used, { redirectUri: 'https://x.example/' }, nothing],
    ['of one that was exchanged, with the wrong verifier', used, { proven: false }, nothing],
    ['DG-08: that came in before the answer was sent, and waited', used, { arrivedAt: NOW + 500 }, nothing],
    ['of one that was burned', burned, {}, replayed],
    ['of one that was burned, with a key', burned, byKey, replayed],
    ['with a key', allowed, { ...byKey, ...after(0) }, deliver(allowed, NOW, 'key-1')],
    ['with the key of the one being answered', leasedByKey, byKey, deliver(leasedByKey, NOW + 1_000, 'key-1')],
    ['with another key than the one being answered', leasedByKey, { idempotencyKey: 'key-2' }, waits],
    ['with the key of the one that was answered', usedByKey, byKey, repeat],
    ['with that key, after ten minutes', usedByKey, { ...byKey, ...after(600_000 - 1) }, repeat],
    ['with that key, later', usedByKey, { ...byKey, ...after(600_000) }, replayed],
    ['with another key than the one that was answered', usedByKey, { idempotencyKey: 'key-2' }, replayed],
    ['without the key of the one that was answered', usedByKey, {}, replayed],
    ['with that key, by another application', usedByKey, { ...byKey, applicationId: 'app_other' }, nothing],
    ['with that key, and the wrong verifier', usedByKey, { ...byKey, proven: false }, nothing],
    ['without a key, of one that had none', used, { idempotencyKey: null }, replayed],
  ])('%s', (_what, dialog, given, step) => {
    expect(exchange(dialog, makeExchange(given))).toEqual(step)
  })

  test('is used once its answer was sent, by the holder of the lease only', () => {
    expect(confirmExchange(leased, 'lease-1', NOW + 500)).toEqual(used)
    expect(confirmExchange(leased, 'lease-0', NOW)).toBe(leased)
    expect(confirmExchange(allowed, 'lease-1', NOW)).toBe(allowed)
    expect(confirmExchange(used, 'lease-1', NOW + 900), 'its time stays the first').toBe(used)
  })

  test('is released at once when its client disconnected, and never after it was used', () => {
    expect(releaseExchange(leased, 'lease-1')).toEqual(allowed)
    expect(releaseExchange(leased, 'lease-0')).toBe(leased)
    expect(releaseExchange(allowed, 'lease-1')).toBe(allowed)
    expect(releaseExchange(used, 'lease-1')).toBe(used)
  })
})

/** Properties of a dialog in random histories. */
describe('in any history', () => {
  const event = fc.oneof(
    fc.record({
      does: fc.constant('exchange' as const),
      wrong: fc.constantFrom(null, null, 'applicationId', 'redirectUri', 'proven'),
    }),
    fc.record({ does: fc.constant('settle' as const), sent: fc.boolean(), back: fc.nat(2) }),
    fc.record({ does: fc.constant('decide' as const), yes: fc.boolean() }),
    fc.record({ does: fc.constant('wait' as const), ms: fc.constantFrom(1, 9_999, 10_000, 60_000, 599_999) }),
  )
  type Event = typeof event extends fc.Arbitrary<infer T> ? T : never

  function live(events: readonly Event[]) {
    let [now, dialog] = [NOW, open]
    const leases: string[] = []
    return events.map((each, index) => {
      const before = dialog
      let step: ExchangeStep | null = null
      if (each.does === 'wait') now += each.ms
      else if (each.does === 'decide') {
        const grantId = each.yes ? `grant-${index}` : null
        const decided = decide(dialog, { userId: 'usr_1', grantId, now, codeLifetimeMs: CODE_LIFETIME_MS })
        if (decided.answer === 'decided') dialog = decided.next
      } else if (each.does === 'exchange') {
        const wrong = each.wrong === null ? {} : { [each.wrong]: each.wrong === 'proven' ? false : 'another' }
        step = exchange(dialog, makeExchange({ ...wrong, leaseId: `lease-${index}`, now }))
        if ('next' in step) dialog = step.next
        if (step.answer === 'deliver') leases.unshift(`lease-${index}`)
      } else {
        dialog = (each.sent ? confirmExchange : releaseExchange)(dialog, leases[each.back] ?? 'none', now)
      }
      Object.freeze(dialog)
      return { each, now, before, after: dialog, step }
    })
  }

  const histories = fc.array(event, { minLength: 1, maxLength: 40 })

  test('it is decided at most once, and what is used stays used', () => {
    fc.assert(
      fc.property(histories, (events) => {
        for (const { before, after } of live(events)) {
          if (before.decidedAt !== null) {
            expect([after.decidedAt, after.grantId, after.userId]).toEqual([
              before.decidedAt,
              before.grantId,
              before.userId,
            ])
          }
          if (before.usedAt !== null) expect(after).toBe(before)
        }
      }),
    )
  })

  test('it delivers only a grant, in time, to its own application, under one lease, and never after it was used', () => {
    fc.assert(
      fc.property(histories, (events) => {
        for (const { each, now, before, step } of live(events)) {
          if (step?.answer !== 'deliver') continue
          expect(each).toMatchObject({ does: 'exchange', wrong: null })
          expect([before.usedAt, before.grantId]).toEqual([null, expect.any(String)])
          expect(now).toBeLessThan((before.decidedAt ?? 0) + CODE_LIFETIME_MS)
          expect(now).toBeGreaterThanOrEqual(before.delivery?.until ?? 0)
        }
      }),
    )
  })

  test('it is invalidated only while no client can hold its tokens', () => {
    fc.assert(
      fc.property(histories, (events) => {
        for (const { before, step } of live(events)) {
          if (step?.answer === 'burn') expect([before.usedAt, before.delivery]).toEqual([null, null])
        }
      }),
    )
  })
})
