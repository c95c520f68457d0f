/**
 * The state machine of a device code, row by row as in
 * docs/interface/device-flow.md, "Statuses and transitions", and its rules.
 */
import { describe, expect, test } from 'vitest'
import {
  accept,
  claim,
  confirm,
  type Delivery,
  type DeviceCode,
  type Entrant,
  isExpired,
  isForgotten,
  isOpen,
  KEPT_AFTER_EXPIRY_MS,
  LEASE_MS,
  type PollRequest,
  type PollStep,
  poll,
  REPEAT_MS,
  reject,
  release,
} from '../../../src/core/device/code.ts'
import { EXPIRES_AT, makeDeviceCode, NOW } from '../../rig/records.ts'

const accepted = makeDeviceCode({ status: 'accepted', claimedBy: 'usr_a', grantId: 'grant-1' })
const rejected = makeDeviceCode({ status: 'rejected', claimedBy: 'usr_a' })
const pending = makeDeviceCode()

const first: Entrant = { userId: 'usr_a', person: null, relation: 'colleague' }

function pollAt(code: DeviceCode, now: number, given: Partial<PollRequest> = {}): PollStep {
  return poll(code, { now, tooEarly: false, leaseId: 'lease-1', idempotencyKey: null, ...given })
}

/** The record after a poll with a final outcome. */
function leasedBy(code: DeviceCode, now: number, given: Partial<PollRequest> = {}): DeviceCode {
  const step = pollAt(code, now, given)
  if (step.answer !== 'deliver') throw new Error(`the poll was answered ${step.answer}`)
  return Object.freeze(step.next)
}

/** The lease that a poll holds on a record. */
function deliveryOf(code: DeviceCode): Delivery {
  if (!code.delivery) throw new Error('no poll holds the outcome')
  return code.delivery
}

/** A poll got its outcome and the answer was sent. */
function usedBy(code: DeviceCode, now: number, given: Partial<PollRequest> = {}): DeviceCode {
  const leased = leasedBy(code, now, given)
  return confirm(leased, deliveryOf(leased))
}

/** What the application reads: the six outcomes. */
function outcomeOf(step: PollStep): string {
  if (step.answer !== 'deliver' && step.answer !== 'repeat') return step.answer
  const { outcome } = step.delivery
  return outcome === 'accepted' ? 'accepted' : `auth_${outcome}`
}

/** Four stored statuses, five visible ones. */
function statusAt(code: DeviceCode, now: number): string {
  return code.status === 'pending' && isExpired(code, now) ? 'expired' : code.status
}

function decided(step: { answer: string; next?: DeviceCode }): DeviceCode {
  if (!step.next) throw new Error(`the step was answered ${step.answer}`)
  return step.next
}

describe('the transition table', () => {
  const claimed = makeDeviceCode({ claimedBy: 'usr_a' })
  const starts: Record<string, { code: DeviceCode; now: number }> = {
    pending: { code: claimed, now: NOW },
    accepted: { code: accepted, now: NOW },
    rejected: { code: rejected, now: NOW },
    expired: { code: pending, now: EXPIRES_AT },
    used: { code: usedBy(accepted, NOW), now: NOW },
  }

  type Moved = { code: DeviceCode; now: number; answered: string | null }
  const polled = (code: DeviceCode, now: number, given: Partial<PollRequest> = {}): Moved => {
    const step = pollAt(code, now, given)
    // A final outcome is used when its response was sent.
    const after = step.answer === 'deliver' ? confirm(step.next, step.delivery) : code
    return { code: after, now, answered: outcomeOf(step) }
  }
  const triggers: Record<string, (code: DeviceCode, now: number) => Moved> = {
    'poll at the interval': (code, now) => polled(code, now),
    'poll faster than the interval': (code, now) => polled(code, now, { tooEarly: true }),
    'the user grants': (code, now) => ({ code: decided(accept(code, 'usr_a', 'grant-1', now)), now, answered: null }),
    'the user rejects': (code, now) => ({ code: decided(reject(code, 'usr_a', now)), now, answered: null }),
    'expires_in seconds elapse': (code) => ({ code, now: EXPIRES_AT, answered: null }),
  }

  // The first row, a code request making a pending code, needs storage and is tested with the endpoints.
  const TABLE = `
    | from     | trigger                       | to       | answer        | next poll     |
    | pending  | poll at the interval          | pending  | auth_pending  | auth_pending  |
    | pending  | poll faster than the interval | pending  | slow_down     | auth_pending  |
    | pending  | the user grants               | accepted |               | accepted      |
    | pending  | the user rejects              | rejected |               | auth_rejected |
    | pending  | expires_in seconds elapse     | expired  |               | auth_expired  |
    | accepted | poll at the interval          | used     | accepted      | invalid       |
    | rejected | poll at the interval          | used     | auth_rejected | invalid       |
    | expired  | poll at the interval          | used     | auth_expired  | invalid       |
    | used     | poll at the interval          | used     | invalid       | invalid       |
    | accepted | poll faster than the interval | used     | accepted      | invalid       |
    | rejected | poll faster than the interval | used     | auth_rejected | invalid       |
    | expired  | poll faster than the interval | used     | auth_expired  | invalid       |
    | used     | poll faster than the interval | used     | invalid       | invalid       |
  `
  const rows = TABLE.trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, from = '', trigger = '', to = '', answer = '', next = '']) => ({ from, trigger, to, answer, next }))

  test.each(rows)('$from, $trigger: becomes $to and answers "$answer"; the next poll $next', (row) => {
    const start = starts[row.from]
    if (!start) throw new Error(`no such status: ${row.from}`)
    const moved = triggers[row.trigger]?.(start.code, start.now)
    if (!moved) throw new Error(`no such trigger: ${row.trigger}`)
    expect(statusAt(moved.code, moved.now)).toBe(row.to)
    expect(moved.answered).toBe(row.answer === '' ? null : row.answer)
    expect(outcomeOf(pollAt(moved.code, moved.now))).toBe(row.next)
  })

  test.each(['accepted', 'rejected', 'expired', 'used'])(
    'DC-06 %s: neither the device code nor the user code is active, so nothing can be entered or decided',
    (from) => {
      const { code, now } = starts[from] ?? { code: pending, now: NOW }
      const entered = { ...code, claimedBy: 'usr_a' }
      expect(isOpen(entered, now)).toBe(false)
      expect(claim(entered, first, now)).toEqual({ answer: 'not_open' })
      expect(accept(entered, 'usr_a', 'grant-2', now)).toEqual({ answer: 'not_open' })
      expect(reject(entered, 'usr_a', now)).toEqual({ answer: 'not_open' })
    },
  )

  test('DC-10 a thousand polls while pending are a thousand times auth_pending', () => {
    const answers = Array.from({ length: 1_000 }, () => outcomeOf(pollAt(pending, NOW)))
    expect(new Set(answers)).toEqual(new Set(['auth_pending']))
  })
})

describe('expiry', () => {
  test('DC-07 a decision whose time was read before the expiry is refused after a poll answered auth_expired', () => {
    const leased = leasedBy(makeDeviceCode({ claimedBy: 'usr_a' }), EXPIRES_AT)
    // Also when that answer was lost: another poll may hold it.
    for (const code of [leased, release(leased, deliveryOf(leased))]) {
      expect(accept(code, 'usr_a', 'grant-1', EXPIRES_AT - 1).answer).toBe('not_open')
      expect(reject(code, 'usr_a', EXPIRES_AT - 1).answer).toBe('not_open')
    }
  })

  test('DC-07 in the last millisecond before expiry the user may still decide and a poll is pending', () => {
    const claimed = makeDeviceCode({ claimedBy: 'usr_a' })
    expect(accept(claimed, 'usr_a', 'grant-1', EXPIRES_AT - 1).answer).toBe('decided')
    expect(reject(claimed, 'usr_a', EXPIRES_AT - 1).answer).toBe('decided')
    expect(claim(claimed, first, EXPIRES_AT - 1).answer).toBe('claimed')
    expect(pollAt(claimed, EXPIRES_AT - 1)).toEqual({ answer: 'auth_pending' })
  })

  test('DC-07 at the millisecond of expiry no decision is possible and the poll answers auth_expired', () => {
    const claimed = makeDeviceCode({ claimedBy: 'usr_a' })
    expect(accept(claimed, 'usr_a', 'grant-1', EXPIRES_AT)).toEqual({ answer: 'not_open' })
    expect(reject(claimed, 'usr_a', EXPIRES_AT)).toEqual({ answer: 'not_open' })
    expect(claim(claimed, first, EXPIRES_AT)).toEqual({ answer: 'not_open' })
    expect(outcomeOf(pollAt(claimed, EXPIRES_AT))).toBe('auth_expired')
  })

  test('an outcome decided in time is delivered however late it is collected', () => {
    expect(outcomeOf(pollAt(accepted, EXPIRES_AT + KEPT_AFTER_EXPIRY_MS - 1))).toBe('accepted')
    expect(outcomeOf(pollAt(rejected, EXPIRES_AT + KEPT_AFTER_EXPIRY_MS - 1))).toBe('auth_rejected')
  })

  test('a code is forgotten 24 hours after its expiry, to the millisecond', () => {
    const day = 24 * 60 * 60 * 1000
    expect(isForgotten(pending, EXPIRES_AT + day - 1)).toBe(false)
    expect(isForgotten(pending, EXPIRES_AT + day)).toBe(true)
  })
})

describe('delivery', () => {
  const finals = [
    { name: 'accepted', code: accepted, now: NOW },
    { name: 'rejected', code: rejected, now: NOW },
    { name: 'expired', code: pending, now: EXPIRES_AT },
  ] as const

  test.each(finals)('$name: the code is not used before the answer was sent', ({ name, code, now }) => {
    const leased = leasedBy(code, now)
    expect(leased.status).toBe(code.status)
    expect(leased.entryClosed, 'after it expired, nobody decides any more').toBe(name === 'expired')
    expect(leased.delivery).toEqual({
      leaseId: 'lease-1',
      until: now + LEASE_MS,
      outcome: name,
      idempotencyKey: null,
    })
    expect(confirm(leased, deliveryOf(leased))).toEqual({ ...leased, status: 'used' })
  })

  test.each(finals)('DC-01 $name: of parallel polls one delivers, the others wait for it', (final) => {
    const leased = leasedBy(final.code, final.now)
    const others = Array.from({ length: 63 }, (_, index) => pollAt(leased, final.now, { leaseId: `other-${index}` }))
    expect(others).toEqual(others.map(() => ({ answer: 'being_delivered' })))
  })

  test('a lease excludes others for ten seconds; after it the next poll gets the same outcome', () => {
    const leased = leasedBy(accepted, NOW)
    expect(pollAt(leased, NOW + 9_999, { leaseId: 'lease-2' })).toEqual({ answer: 'being_delivered' })
    const taken = leasedBy(leased, NOW + 10_000, { leaseId: 'lease-2' })
    expect(taken.delivery).toMatchObject({ leaseId: 'lease-2', until: NOW + 20_000, outcome: 'accepted' })
  })

  test('DC-20 if the client disconnected, the next poll gets the outcome at once', () => {
    const leased = leasedBy(accepted, NOW)
    const released = release(leased, deliveryOf(leased))
    expect(released).toEqual(accepted)
    expect(outcomeOf(pollAt(released, NOW, { leaseId: 'lease-2' }))).toBe('accepted')
  })

  test('a lease that was taken over releases nothing, but a sent answer counts', () => {
    const leased = leasedBy(accepted, NOW)
    const taken = leasedBy(leased, NOW + LEASE_MS, { leaseId: 'lease-2' })
    expect(release(taken, deliveryOf(leased))).toBe(taken)
    expect(confirm(taken, deliveryOf(leased)).status).toBe('used')
    // The second client disconnected: nobody gets the answer that the first one has.
    const freed = release(taken, deliveryOf(taken))
    expect(outcomeOf(pollAt(confirm(freed, deliveryOf(leased)), NOW + 2 * LEASE_MS))).toBe('invalid')
  })

  test('a poll with the key of one that is being answered frees nothing when its client disconnects', () => {
    const first = leasedBy(accepted, NOW, { idempotencyKey: 'key-1' })
    const second = leasedBy(first, NOW, { leaseId: 'lease-2', idempotencyKey: 'key-1' })
    const after = release(second, deliveryOf(second))
    expect(pollAt(after, NOW, { leaseId: 'lease-3' })).toEqual({ answer: 'being_delivered' })
    expect(outcomeOf(pollAt(after, NOW, { leaseId: 'lease-3', idempotencyKey: 'key-1' }))).toBe('accepted')
  })

  test('an expired lease that was not taken over still confirms: its answer was sent', () => {
    const leased = leasedBy(accepted, NOW)
    expect(outcomeOf(pollAt(confirm(leased, deliveryOf(leased)), NOW + 2 * LEASE_MS))).toBe('invalid')
  })

  test('a code without a lease, or a used one, can be neither released nor used again', () => {
    const leased = leasedBy(accepted, NOW)
    const used = confirm(leased, deliveryOf(leased))
    for (const code of [pending, accepted, rejected, used]) expect(release(code, deliveryOf(leased))).toBe(code)
    expect(confirm(used, { ...deliveryOf(leased), leaseId: 'lease-2', idempotencyKey: 'late' })).toBe(used)
  })
})

describe('repetition with an Idempotency-Key', () => {
  const used = usedBy(accepted, NOW, { idempotencyKey: 'key-1' })

  test.each([0, 5_000, REPEAT_MS - 1])(
    '%d ms after the poll took the outcome, the same key gets it again and changes nothing',
    (later) => {
      expect(pollAt(used, NOW + later, { leaseId: 'lease-2', idempotencyKey: 'key-1' })).toEqual({
        answer: 'repeat',
        delivery: used.delivery,
      })
    },
  )

  test.each([
    ['accepted', accepted, NOW],
    ['rejected', rejected, NOW],
    ['expired', pending, EXPIRES_AT],
  ])('ten minutes after the poll took the outcome %s, the same key gets invalid', (_name, code, now) => {
    const sent = usedBy(code, now, { idempotencyKey: 'key-1' })
    expect(pollAt(sent, now + 600_000 - 1, { idempotencyKey: 'key-1' }).answer).toBe('repeat')
    expect(pollAt(sent, now + 600_000, { idempotencyKey: 'key-1' })).toEqual({ answer: 'invalid' })
  })

  test.each(['key-2', null])('DC-05 after the answer was sent, the key %s gets invalid', (idempotencyKey) => {
    expect(pollAt(used, NOW + 5_000, { idempotencyKey })).toEqual({ answer: 'invalid' })
  })

  test('a used code that remembers no outcome has none to repeat', () => {
    const forgotten = makeDeviceCode({ status: 'used' })
    expect(pollAt(forgotten, NOW, { idempotencyKey: 'key-1' })).toEqual({ answer: 'invalid' })
  })

  test('a poll without a key repeats no other, not even one without a key', () => {
    const leased = leasedBy(accepted, NOW)
    expect(pollAt(leased, NOW, { leaseId: 'lease-2' })).toEqual({ answer: 'being_delivered' })
    expect(pollAt(confirm(leased, deliveryOf(leased)), NOW)).toEqual({ answer: 'invalid' })
  })

  test('while the first answer is on its way, the same key takes the delivery over and another key waits', () => {
    const leased = leasedBy(accepted, NOW, { idempotencyKey: 'key-1' })
    const again = leasedBy(leased, NOW + 1_000, { leaseId: 'lease-2', idempotencyKey: 'key-1' })
    expect(again.delivery).toMatchObject({ leaseId: 'lease-2', until: NOW + 1_000 + LEASE_MS })
    expect(pollAt(leased, NOW + 1_000, { leaseId: 'lease-3', idempotencyKey: 'key-2' })).toEqual({
      answer: 'being_delivered',
    })
  })
})
