/** Properties of a device code in random histories. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  accept,
  claim,
  confirm,
  type Delivery,
  type DeviceCode,
  type Entrant,
  isClosed,
  isExpired,
  LEASE_MS,
  type PollStep,
  poll,
  reject,
  release,
  takeOver,
} from '../../src/core/device/code.ts'
import { EXPIRES_AT, makeDeviceCode, NOW } from '../rig/records.ts'

/** a and b are colleagues, a and d one person. */
const ACCOUNTS: Readonly<Record<string, string>> = { usr_a: 'acc_1', usr_b: 'acc_1', usr_c: 'acc_2', usr_d: 'acc_3' }
const PEOPLE: Readonly<Record<string, string>> = { usr_a: 'ann', usr_b: 'ben', usr_c: 'cem', usr_d: 'ann' }
const user = fc.constantFrom('usr_a', 'usr_a', 'usr_b', 'usr_c', 'usr_d')
const key = fc.constantFrom(null, 'key-1', 'key-2')
/** Which of the leases handed out so far, counted from the newest. */
const back = fc.nat(2)

const event = fc.oneof(
  fc.record({ does: fc.constant('poll' as const), key, tooEarly: fc.boolean() }),
  fc.record({ does: fc.constant('confirm' as const), back }),
  fc.record({ does: fc.constant('release' as const), back }),
  fc.record({
    does: fc.constantFrom(
      'claim' as const,
      'claim' as const,
      'take_over' as const,
      'accept' as const,
      'reject' as const,
    ),
    user,
  }),
  fc.record({ does: fc.constant('wait' as const), ms: fc.constantFrom(1, 5_000, 10_000, 899_999, 900_000) }),
)
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never

/** One step of a history: the event, and the code before and after it. */
type Moment = {
  readonly event: Event
  readonly now: number
  readonly before: DeviceCode
  readonly after: DeviceCode
  readonly step: PollStep | null
  readonly leaseId: string | null
}

function live(events: readonly Event[]): Moment[] {
  let now = NOW
  let code = makeDeviceCode({ variant: 'access_key', scopes: [], state: '' })
  const leases: Delivery[] = []
  return events.map((event, index) => {
    const before = code
    let step: PollStep | null = null
    let leaseId: string | null = null
    switch (event.does) {
      case 'wait':
        now += event.ms
        break
      case 'poll':
        leaseId = `lease-${index}`
        step = poll(code, { now, tooEarly: event.tooEarly, leaseId, idempotencyKey: event.key })
        if (step.answer === 'deliver') {
          leases.unshift(step.delivery)
          code = step.next
        }
        break
      case 'confirm':
      case 'release': {
        const delivery = leases[event.back]
        if (!delivery) break
        leaseId = delivery.leaseId
        code = (event.does === 'confirm' ? confirm : release)(code, delivery)
        break
      }
      default: {
        const decision = {
          claim: () => claim(code, entrant(event.user, code), now),
          take_over: () => takeOver(code, entrant(event.user, code), now),
          accept: () => accept(code, event.user, `grant-${index}`, now),
          reject: () => reject(code, event.user, now),
        }[event.does]()
        if ('next' in decision) code = decision.next
      }
    }
    Object.freeze(code)
    return { event, now, before, after: code, step, leaseId }
  })
}

function entrant(userId: string, { claimedBy }: DeviceCode): Entrant {
  const person = PEOPLE[userId] ?? null
  if (ACCOUNTS[claimedBy ?? ''] === ACCOUNTS[userId]) return { userId, person, relation: 'colleague' }
  return { userId, person, relation: PEOPLE[claimedBy ?? ''] === person ? 'same_person' : 'stranger' }
}

/** Half of the histories begin with a user who entered the code; otherwise few would be decided. */
const history = fc
  .tuple(fc.boolean(), fc.array(event, { maxLength: 40 }))
  .map(([entered, events]) => live(entered ? [{ does: 'claim', user: 'usr_a' }, ...events] : events))

function holds(check: (moments: readonly Moment[]) => void): void {
  fc.assert(fc.property(history, check), { numRuns: 2_000 })
}

function isDecision({ before, after }: Moment): boolean {
  return before.status === 'pending' && (after.status === 'accepted' || after.status === 'rejected')
}

test('every transition of a code is in the transition table', () => {
  const moves = ['pending accepted', 'pending rejected', 'pending used', 'accepted used', 'rejected used']
  holds((moments) => {
    for (const { before, after, now } of moments) {
      if (before.status === after.status) continue
      expect(moves).toContain(`${before.status} ${after.status}`)
      if (before.status === 'pending' && after.status === 'used')
        expect(isExpired(before, now) || isClosed(before)).toBe(true)
    }
  })
})

test('DC-06 a code has one final outcome: no history delivers two different ones', () => {
  holds((moments) => {
    const outcomes = moments.flatMap(({ step }) => (step && 'delivery' in step ? [step.delivery.outcome] : []))
    expect(new Set(outcomes).size).toBeLessThanOrEqual(1)
  })
})

test('DC-05 once used, a code answers invalid for ever, except for ten minutes to the key that it was delivered to', () => {
  holds((moments) => {
    for (const { before, after, step, event, now } of moments) {
      if (before.status !== 'used') continue
      expect(after).toBe(before)
      if (!step || event.does !== 'poll') continue
      const repeated = event.key !== null && event.key === before.delivery?.idempotencyKey
      const inTime = now < (before.delivery?.until ?? 0) - LEASE_MS + 600_000
      expect(step.answer).toBe(repeated && inTime ? 'repeat' : 'invalid')
    }
  })
})

test('DC-01 two polls never hold the same outcome at once, unless one repeats the other', () => {
  holds((moments) => {
    for (const { before, step, event, now } of moments) {
      if (step?.answer !== 'deliver' || event.does !== 'poll' || !before.delivery) continue
      const repeats = event.key !== null && before.delivery.idempotencyKey === event.key
      expect(repeats || now >= before.delivery.until).toBe(true)
    }
  })
})

test('a sent answer makes the code used; one that was not sent frees it only for the lease that holds it, without a key', () => {
  holds((moments) => {
    for (const { event, before, after, leaseId } of moments) {
      if (event.does !== 'confirm' && event.does !== 'release') continue
      const holding = before.delivery?.leaseId === leaseId
      if (leaseId === null || before.status === 'used') expect(after).toBe(before)
      else if (event.does === 'confirm') expect([after.status, after.delivery?.leaseId]).toEqual(['used', leaseId])
      else if (holding && before.delivery?.idempotencyKey === null) expect(after).toEqual({ ...before, delivery: null })
      else expect(after).toBe(before)
    }
  })
})

test('slow_down and auth_pending are answered only while the code is pending, not expired and not closed', () => {
  holds((moments) => {
    for (const { before, step, event, now } of moments) {
      if (!step || event.does !== 'poll') continue
      const waiting = before.status === 'pending' && now < EXPIRES_AT && !isClosed(before)
      const word = event.tooEarly ? 'slow_down' : 'auth_pending'
      expect(step.answer === word).toBe(waiting)
      expect(['slow_down', 'auth_pending'].includes(step.answer)).toBe(waiting)
    }
  })
})

test('UC-05 a code is decided once, in time, by the user who has the claim, and only if no other person of another account entered it', () => {
  holds((moments) => {
    const decisions = moments.filter(isDecision)
    expect(decisions.length).toBeLessThanOrEqual(1)
    for (const decision of decisions) {
      const entered = moments
        .slice(0, moments.indexOf(decision))
        .filter(
          ({ event, before, after }) => event.does === 'claim' || (event.does === 'take_over' && before !== after),
        )
      const users = new Set(entered.map(({ event }) => ('user' in event ? event.user : '')))
      const { before, event, now } = decision
      expect('user' in event && event.user).toBe(before.claimedBy)
      expect(users).toContain(before.claimedBy)
      // Colleagues of the account in which the code was when they entered it: the user is warned of them.
      const strangers = [...users].filter((each) => ACCOUNTS[each] !== ACCOUNTS[before.claimedBy ?? ''])
      const others = strangers.filter((each) => !before.movedFrom.includes(each))
      for (const each of others) {
        expect(before.movedFrom.map((left) => ACCOUNTS[left])).toContain(ACCOUNTS[each])
        expect(before.alsoEntered).toBe('colleague')
      }
      expect(now).toBeLessThan(EXPIRES_AT)
    }
  })
})

test('UC-06 a claim is passed on only to the same person, or once to a colleague who entered the code', () => {
  holds((moments) => {
    const passed = moments.filter(({ before, after }) => ![null, after.claimedBy].includes(before.claimedBy))
    const taken = passed.filter(({ event }) => event.does === 'take_over')
    expect(taken.length).toBeLessThanOrEqual(1)
    for (const { before, after } of taken) {
      expect(ACCOUNTS[after.claimedBy ?? '']).toBe(ACCOUNTS[before.claimedBy ?? ''])
      expect(after).toEqual({
        ...before,
        claimedBy: after.claimedBy,
        claimedAs: after.claimedAs,
        takenFrom: before.claimedBy,
        alsoEntered: 'colleague',
      })
    }
    for (const { before, after, event } of passed) {
      if (event.does !== 'take_over') expect(PEOPLE[after.claimedBy ?? '']).toBe(PEOPLE[before.claimedBy ?? ''])
    }
  })
})

test('UC-06 a closed code never opens again', () => {
  holds((moments) => {
    for (const { before, after } of moments) if (before.entryClosed) expect(after.entryClosed).toBe(true)
  })
})

test('a code has a grant exactly when it was accepted', () => {
  holds((moments) => {
    const accepted = moments.some((moment) => isDecision(moment) && moment.after.status === 'accepted')
    const last = moments.at(-1)?.after
    expect((last?.grantId ?? null) !== null).toBe(accepted)
  })
})

test('DC-07 at any moment, either the grant succeeds or the poll says auth_expired, never both', () => {
  fc.assert(
    fc.property(fc.integer({ min: -5, max: 5 }), (offset) => {
      const now = EXPIRES_AT + offset
      const [moment] = live([{ does: 'claim', user: 'usr_a' }])
      const code = moment?.after as DeviceCode
      const granted = accept(code, 'usr_a', 'grant-1', now).answer === 'decided'
      const step = poll(code, { now, tooEarly: false, leaseId: 'lease-1', idempotencyKey: null })
      expect(granted).toBe(step.answer === 'auth_pending')
    }),
  )
})

test('the histories reach every status', () => {
  const seen = new Set(fc.sample(history, 2_000).flatMap((moments) => moments.map(({ after }) => after.status)))
  expect([...seen].sort()).toEqual(['accepted', 'pending', 'rejected', 'used'])
})
