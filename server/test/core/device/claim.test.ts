/** Who may decide a device code: entering it, going on with it in another account, taking it over, releasing it. */
import { describe, expect, test } from 'vitest'
import {
  accept,
  claim,
  confirm,
  type DeviceCode,
  type Entrant,
  lossOf,
  type PollRequest,
  poll,
  reject,
  release,
  takeOver,
  unclaim,
} from '../../../src/core/device/code.ts'
import { EXPIRES_AT, makeDeviceCode, NOW } from '../../rig/records.ts'

const accepted = makeDeviceCode({ status: 'accepted', claimedBy: 'usr_a', grantId: 'grant-1' })
const rejected = makeDeviceCode({ status: 'rejected', claimedBy: 'usr_a' })
const pending = makeDeviceCode()

const entrant =
  (relation: Entrant['relation'], person: string | null = null) =>
  (userId: string): Entrant => ({ userId, person, relation })
const colleague = entrant('colleague')
const stranger = entrant('stranger')
const samePerson = entrant('same_person', 'person-1')

const pollAt = (code: DeviceCode, now: number, given: Partial<PollRequest> = {}) =>
  poll(code, { now, tooEarly: false, leaseId: 'lease-1', idempotencyKey: null, ...given })

/** A poll that delivers that the code expired. */
function expiring(code: DeviceCode, now: number, given: Partial<PollRequest> = {}) {
  const step = pollAt(code, now, given)
  if (step.answer !== 'deliver' || step.delivery.outcome !== 'expired') throw new Error(`it was ${step.answer}`)
  return { used: confirm(step.next, step.delivery), lost: release(step.next, step.delivery) }
}

function decided(step: { answer: string; next?: DeviceCode }): DeviceCode {
  if (!step.next) throw new Error(`the step was answered ${step.answer}`)
  return step.next
}

const claimed = Object.freeze(decided(claim(pending, colleague('usr_a'), NOW)))

test('the first user who enters the code claims it, and may enter it again', () => {
  expect(claimed).toEqual({ ...pending, claimedBy: 'usr_a' })
  expect(claim(claimed, colleague('usr_a'), NOW)).toEqual({ answer: 'claimed', next: claimed })
})

test('UC-13 a user of another account who enters the code closes it for everybody, the first one included', () => {
  const step = claim(claimed, stranger('usr_b'), NOW)
  expect(step).toEqual({
    answer: 'closed',
    next: { ...claimed, entryClosed: true, alsoEntered: 'another_account', closedBy: 'usr_b' },
  })
  const closed = Object.freeze(decided(step))
  for (const user of ['usr_a', 'usr_b', 'usr_c']) {
    for (const as of [colleague, stranger, samePerson]) {
      expect(claim(closed, as(user), NOW)).toEqual({ answer: 'not_open' })
      expect(takeOver(closed, as(user), NOW)).toEqual({ answer: 'not_open' })
    }
    expect(accept(closed, user, 'grant-1', NOW)).toEqual({ answer: 'not_open' })
    expect(reject(closed, user, NOW)).toEqual({ answer: 'not_open' })
  }
})

test('UC-13 the claimant and the user who closed the code are told so, nobody else is, also after it was delivered', () => {
  const closed = decided(claim(claimed, stranger('usr_b'), NOW))
  for (const code of [closed, expiring(closed, NOW).used]) {
    expect(['usr_a', 'usr_b', 'usr_c'].map((user) => lossOf(code, user))).toEqual([
      'entered_elsewhere',
      'entered_elsewhere',
      null,
    ])
  }
  const elapsed = expiring(claimed, EXPIRES_AT).used
  expect(['usr_a', 'usr_b'].map((user) => lossOf(elapsed, user))).toEqual([null, null])
})

test('UC-13 a closed code answers auth_expired at the next poll, early or not, and then invalid', () => {
  const closed = Object.freeze(decided(claim(claimed, stranger('usr_b'), NOW)))
  for (const tooEarly of [false, true]) {
    const { used, lost } = expiring(closed, NOW, { tooEarly })
    expect(pollAt(used, NOW)).toEqual({ answer: 'invalid' })
    expect(expiring(lost, NOW).used.status).toBe('used')
  }
})

describe('UC-24 the same person in another account', () => {
  const moved = Object.freeze(decided(claim(claimed, samePerson('usr_b'), NOW)))

  test('has the claim from then on, and the first user can neither grant nor reject', () => {
    expect(claim(claimed, samePerson('usr_b'), NOW).answer).toBe('moved')
    expect(moved).toEqual({ ...pending, claimedBy: 'usr_b', claimedAs: 'person-1', movedFrom: ['usr_a'] })
    expect(accept(moved, 'usr_a', 'grant-1', NOW)).toEqual({ answer: 'not_open' })
    expect(reject(moved, 'usr_a', NOW)).toEqual({ answer: 'not_open' })
    expect(accept(moved, 'usr_b', 'grant-1', NOW).answer).toBe('decided')
    expect(pollAt(moved, NOW)).toEqual({ answer: 'auth_pending' })
  })

  test('is told so, on the page of every account that the code left', () => {
    expect(['usr_a', 'usr_b', 'usr_c'].map((user) => lossOf(moved, user))).toEqual(['moved', null, null])
    const back = decided(claim(moved, samePerson('usr_a'), NOW))
    expect(back.movedFrom).toEqual(['usr_b'])
    expect(['usr_a', 'usr_b'].map((user) => lossOf(back, user))).toEqual([null, 'moved'])
    const third = decided(claim(back, samePerson('usr_c'), NOW))
    expect(['usr_a', 'usr_b', 'usr_c'].map((user) => lossOf(third, user))).toEqual(['moved', 'moved', null])
  })

  test('is still warned of a colleague who had entered the code, too', () => {
    const shared = decided(claim(claimed, colleague('usr_c'), NOW))
    expect(decided(claim(shared, samePerson('usr_b'), NOW)).alsoEntered).toBe('colleague')
  })

  test('a code remembers the last eight accounts that it left', () => {
    const users = Array.from({ length: 12 }, (_, index) => `usr_${index}`)
    const code = users.reduce((last, user) => decided(claim(last, samePerson(user), NOW)), claimed)
    expect(code.movedFrom).toEqual(users.slice(3, 11))
  })
})

describe('UC-25 a colleague who takes the code over', () => {
  const shared = Object.freeze(decided(claim(claimed, colleague('usr_b'), NOW)))
  const taken = Object.freeze(decided(takeOver(shared, entrant('colleague', 'person-2')('usr_b'), NOW)))

  test('decides from then on, and the first user cannot any more and is told so', () => {
    expect(taken).toEqual({ ...shared, claimedBy: 'usr_b', claimedAs: 'person-2', takenFrom: 'usr_a' })
    expect(accept(taken, 'usr_a', 'grant-1', NOW)).toEqual({ answer: 'not_open' })
    expect(reject(taken, 'usr_a', NOW)).toEqual({ answer: 'not_open' })
    expect(['usr_a', 'usr_b', 'usr_c'].map((user) => lossOf(taken, user))).toEqual(['taken_over', null, null])
    expect(decided(accept(taken, 'usr_b', 'grant-1', NOW)).alsoEntered).toBe('colleague')
  })

  test('can do so once per code, also after it was released or moved', () => {
    const released = decided(unclaim(taken, 'usr_b', NOW))
    const again = decided(claim(released, colleague('usr_c'), NOW))
    const elsewhere = decided(claim(taken, samePerson('usr_d'), NOW))
    for (const code of [taken, again, elsewhere]) {
      for (const user of ['usr_a', 'usr_x']) {
        expect(takeOver(code, colleague(user), NOW)).toEqual({ answer: 'not_open' })
      }
    }
    expect(claim(taken, colleague('usr_a'), NOW).answer).toBe('taken')
  })

  test('is of the account of the claimant, and takes over from somebody', () => {
    for (const as of [stranger, samePerson]) {
      expect(takeOver(claimed, as('usr_b'), NOW)).toEqual({ answer: 'not_open' })
    }
    expect(takeOver(claimed, colleague('usr_a'), NOW)).toEqual({ answer: 'not_open' })
    expect(takeOver(pending, colleague('usr_b'), NOW)).toEqual({ answer: 'not_open' })
    for (const code of [accepted, rejected]) {
      expect(takeOver(code, colleague('usr_b'), NOW)).toEqual({ answer: 'not_open' })
    }
    expect(takeOver(claimed, colleague('usr_b'), EXPIRES_AT)).toEqual({ answer: 'not_open' })
  })
})

test('UC-06 a colleague who enters the code is recorded, and the claim stays: the first user decides', () => {
  const step = claim(claimed, colleague('usr_b'), NOW)
  expect(step).toEqual({ answer: 'taken', next: { ...claimed, alsoEntered: 'colleague' } })
  const shared = Object.freeze(decided(step))
  expect(claim(shared, colleague('usr_a'), NOW)).toEqual({ answer: 'claimed', next: shared })
  expect(accept(shared, 'usr_b', 'grant-1', NOW)).toEqual({ answer: 'not_open' })
  expect(decided(accept(shared, 'usr_a', 'grant-1', NOW))).toMatchObject({ status: 'accepted', claimedBy: 'usr_a' })
  expect(decided(reject(shared, 'usr_a', NOW))).toMatchObject({ status: 'rejected', claimedBy: 'usr_a' })
  expect(decided(claim(shared, stranger('usr_c'), NOW))).toMatchObject({ alsoEntered: 'another_account' })
})

test('UC-06 a released code is as if it had not been entered', () => {
  const shared = decided(claim(claimed, colleague('usr_b'), NOW))
  expect(decided(unclaim(shared, 'usr_a', NOW))).toEqual(pending)
  expect(unclaim(shared, 'usr_b', NOW)).toEqual({ answer: 'not_open' })
  expect(unclaim(pending, 'usr_a', NOW)).toEqual({ answer: 'not_open' })
})

test('a code that is decided, closed or expired keeps its claim', () => {
  const closed = decided(claim(claimed, stranger('usr_b'), NOW))
  for (const code of [accepted, rejected, closed]) expect(unclaim(code, 'usr_a', NOW)).toEqual({ answer: 'not_open' })
  expect(unclaim(claimed, 'usr_a', EXPIRES_AT)).toEqual({ answer: 'not_open' })
  expect(unclaim(claimed, 'usr_a', EXPIRES_AT - 1).answer).toBe('decided')
})

test('UC-05 only the user who entered the code decides', () => {
  for (const [code, user] of [[pending, 'usr_a'] as const, [claimed, 'usr_b'] as const]) {
    expect(accept(code, user, 'grant-1', NOW)).toEqual({ answer: 'not_open' })
    expect(reject(code, user, NOW)).toEqual({ answer: 'not_open' })
  }
})

test('granting saves the grant, rejecting none', () => {
  expect(decided(accept(claimed, 'usr_a', 'grant-1', NOW))).toEqual({
    ...claimed,
    status: 'accepted',
    grantId: 'grant-1',
  })
  expect(decided(reject(claimed, 'usr_a', NOW))).toEqual({ ...claimed, status: 'rejected' })
})
