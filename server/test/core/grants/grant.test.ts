/** Rules of a grant. docs/interface/credentials.md, "Credentials". */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  accessTokenExpiry,
  expiresInSeconds,
  type Grant,
  isCollectable,
  isFirstIssue,
  isGrantId,
  isOver,
  isRepeatable,
  issueTime,
  isValid,
  type Presented,
  REFRESH_GRACE_MS,
  refresh,
  rotateKey,
  SAME_TOKEN_MS,
} from '../../../src/core/grants/grant.ts'
import { makeGrant, NOW } from '../../rig/records.ts'

const holder = { userDisabled: false, accountClosed: false, applicationDeleted: false }

/** Grants for which nothing is issued. */
const barred: [string, Partial<Grant>, typeof holder][] = [
  ['revoked', { revokedAt: NOW }, holder],
  ['of a disabled user', {}, { ...holder, userDisabled: true }],
  ['of a closed account', {}, { ...holder, accountClosed: true }],
  ['of a deleted application', {}, { ...holder, applicationDeleted: true }],
]
const HOUR = 3_600_000
const MINUTE = 60_000

describe('expires_in', () => {
  test.each([0, 1, 499, 999])(
    'is the whole lifetime in the answer of the moment of issue, %d ms into a second',
    (ms) => {
      const issuedAt = NOW + ms
      expect(expiresInSeconds(accessTokenExpiry(issuedAt, HOUR), issuedAt)).toBe(3600)
    },
  )

  test.each([
    [1_000, 3599],
    [20_000, 3580],
    [20_001, 3579],
    [HOUR - 1_000, 1],
    [HOUR - 999, 0],
    [HOUR, 0],
    [HOUR + MINUTE, 0],
  ])('%d ms later is the remaining time, rounded down: %d', (later, left) => {
    expect(expiresInSeconds(accessTokenExpiry(NOW, HOUR), NOW + later)).toBe(left)
  })

  test('never promises more than the token holds', () => {
    fc.assert(
      fc.property(fc.nat(100_000), fc.nat(2 * HOUR), (ms, later) => {
        const expiresAt = accessTokenExpiry(NOW + ms, HOUR)
        const now = NOW + ms + later
        const token = { is: 'access_token', expiresAt } as const
        const promised = expiresInSeconds(expiresAt, now) * 1000
        if (promised > 0) expect(isValid(makeGrant(), holder, token, now + promised - 1, 0)).toBe(true)
      }),
    )
  })
})

describe('the issue time', () => {
  test('is now, when nothing was issued yet', () => {
    for (const now of [0, NOW]) expect(issueTime(makeGrant(), now, HOUR)).toBe(now)
  })

  test.each([0, 1, SAME_TOKEN_MS])(
    'DC-20 of an answer given again %d ms later is the first one: the same access token',
    (later) => {
      expect(issueTime(makeGrant({ issuedAt: NOW }), NOW + later, HOUR)).toBe(NOW)
    },
  )

  test('of an answer repeated later than that is now: the full lifetime', () => {
    const later = NOW + SAME_TOKEN_MS + 1
    expect(issueTime(makeGrant({ issuedAt: NOW }), later, HOUR)).toBe(later)
  })

  test('of an answer whose access token has less than a second left is now', () => {
    const grant = makeGrant({ issuedAt: NOW })
    expect(issueTime(grant, NOW + MINUTE - 1_000, MINUTE)).toBe(NOW)
    expect(issueTime(grant, NOW + MINUTE - 999, MINUTE)).toBe(NOW + MINUTE - 999)
  })

  test('stays the first one when the clock of a new primary is a little behind', () => {
    expect(issueTime(makeGrant({ issuedAt: NOW }), NOW - 50, HOUR)).toBe(NOW)
  })
})

describe('repeating', () => {
  const sent = makeGrant({ issuedAt: NOW })

  test('a token set is repeated while its access token lives for another second, and not after that', () => {
    expect(isRepeatable(sent, NOW + MINUTE - 1_000, MINUTE)).toBe(true)
    expect(isRepeatable(sent, NOW + MINUTE - 999, MINUTE)).toBe(false)
    expect(isRepeatable(sent, NOW + MINUTE + 3_000, MINUTE)).toBe(false)
    expect(isRepeatable(makeGrant(), 0, MINUTE), 'never issued').toBe(false)
  })

  test('an access key can always be repeated: it does not expire', () => {
    expect(isRepeatable({ ...sent, variant: 'access_key' }, NOW + 10 * HOUR, MINUTE)).toBe(true)
  })
})

describe('collecting', () => {
  test('a live grant can be collected', () => {
    expect(isCollectable(makeGrant(), holder, NOW)).toBe(true)
  })

  test.each([...barred, ['of a test mode that is over', { testEndsAt: NOW }, holder] as const])(
    'DC-15 a grant that is %s cannot',
    (_name, given, its) => {
      expect(isCollectable(makeGrant(given), its, NOW)).toBe(false)
    },
  )
})

describe('a grant made in test mode', () => {
  const limits = { unusedMs: 30 * 24 * HOUR, maxMs: 365 * 24 * HOUR, accessTokenMs: HOUR }
  const token = makeGrant({ testEndsAt: NOW + HOUR, issuedAt: NOW })
  const key = { ...token, variant: 'access_key' } as const
  const after = NOW + HOUR

  test('works like any other until test mode ends', () => {
    expect(isValid(token, holder, { is: 'access_token', expiresAt: after }, after - 1, 0)).toBe(true)
    expect(isValid(key, holder, { is: 'access_key', generation: 1 }, after - 1, 0)).toBe(true)
    expect(refresh(token, holder, 1, after - 1, limits).answer).toBe('refreshed')
    expect(rotateKey(key, holder, 1, after - 1, 0).answer).toBe('rotated')
  })

  test('neither gives access nor is renewed afterwards, though nobody has revoked it', () => {
    expect(isValid(token, holder, { is: 'access_token', expiresAt: after + HOUR }, after, 0)).toBe(false)
    expect(isValid(key, holder, { is: 'access_key', generation: 1 }, after, 0)).toBe(false)
    expect(refresh(token, holder, 1, after, limits).answer).toBe('not_valid')
    expect(rotateKey(key, holder, 1, after, 0).answer).toBe('not_valid')
  })
})

describe('presenting', () => {
  const keyGrant = makeGrant({ variant: 'access_key', generation: 7, keyGeneration: 2 })
  const tokenGrant = makeGrant({ generation: 3, keyGeneration: 9 })
  const token: Presented = { is: 'access_token', expiresAt: NOW + 1 }
  const key: Presented = { is: 'access_key', generation: 2 }

  test('an access token is valid until its expiry', () => {
    expect(isValid(tokenGrant, holder, token, NOW, 0)).toBe(true)
    expect(isValid(tokenGrant, holder, token, NOW + 1, 0)).toBe(false)
  })

  test('an access key of the current key generation is valid at any time', () => {
    expect(isValid(keyGrant, holder, key, NOW + 1e12, 0)).toBe(true)
  })

  test.each<[string, typeof tokenGrant, Presented]>([
    ['an access key of the key generation before', keyGrant, { ...key, generation: 1 }],
    ['an access key with the generation of refresh tokens', keyGrant, { ...key, generation: 7 }],
    ['a refresh token', tokenGrant, { is: 'refresh_token', generation: 3 }],
    ['an access token of a grant for an access key', keyGrant, token],
    ['an access key of a grant for a token set', tokenGrant, { ...key, generation: 9 }],
  ])('%s is not', (_, grant, presented) => {
    expect(isValid(grant, holder, presented, NOW, 0)).toBe(false)
  })

  test.each(barred)('nothing of a grant that is %s is', (_, given, its) => {
    expect(isValid({ ...tokenGrant, ...given }, its, token, NOW, 0)).toBe(false)
    expect(isValid({ ...keyGrant, ...given }, its, key, NOW, 0)).toBe(false)
  })
})

const DAY = 24 * 60 * 60 * 1000

describe('the overlap of two access keys', () => {
  const replaced = makeGrant({ variant: 'access_key', keyGeneration: 5, keyRotatedAt: NOW })
  const valid = (generation: number, now: number, overlapMs: number) =>
    isValid(replaced, holder, { is: 'access_key', generation }, now, overlapMs)

  test.each([
    ['the living key at once', 5, NOW, DAY, true],
    ['the living key ever after', 5, NOW + 1_000 * DAY, DAY, true],
    ['its predecessor at once', 4, NOW, DAY, true],
    ['its predecessor until the last moment', 4, NOW + DAY - 1, DAY, true],
    ['its predecessor after the overlap', 4, NOW + DAY, DAY, false],
    ['its predecessor where there is no overlap', 4, NOW, 0, false],
    ['the one before that', 3, NOW, DAY, false],
    ['one that was never made', 6, NOW, DAY, false],
    ['the number nought', 0, NOW, DAY, false],
  ])('%s', (_what, generation, now, overlapMs, works) => {
    expect(valid(generation, now, overlapMs)).toBe(works)
  })

  test('a key that was never rotated has no predecessor', () => {
    const first = makeGrant({ variant: 'access_key', keyGeneration: 2, keyRotatedAt: null })
    for (const now of [0, NOW])
      expect(isValid(first, holder, { is: 'access_key', generation: 1 }, now, DAY)).toBe(false)
  })
})

describe('refreshing', () => {
  const limits = { unusedMs: 60 * DAY, maxMs: 365 * DAY, accessTokenMs: HOUR }
  const grant = makeGrant({ generation: 4, usedGeneration: 4, issuedAt: NOW })
  const lost = { ...grant, usedGeneration: 3 }
  const step = (generation: number, after: number, of = grant) => refresh(of, holder, generation, NOW + after, limits)

  test('the current generation leads to the next, issued now, and changes nothing else', () => {
    expect(step(4, 5_000)).toEqual({
      answer: 'refreshed',
      next: { ...grant, generation: 5, issuedAt: NOW + 5_000 },
    })
  })

  test.each([
    ['TK-04: the immediate predecessor, at once', 3, 0, 'repeated'],
    ['TK-04: the immediate predecessor, at the end of the grace', 3, REFRESH_GRACE_MS, 'repeated'],
    ['TK-04: the immediate predecessor, after the grace', 3, REFRESH_GRACE_MS + 1, 'reused'],
    ['the immediate predecessor, by the clock of a new primary that is a little behind', 3, -50, 'repeated'],
    ['TK-03: the one before that, at once', 2, 0, 'reused'],
    ['the first one', 1, 0, 'reused'],
    ['one from the future: the database was restored from a backup', 5, 0, 'not_valid'],
  ])('%s', (_what, generation, after, answer) => {
    expect(step(generation, after)).toEqual({ answer })
  })

  test.each([
    ['TK-04: its answer, after the grace', 3, REFRESH_GRACE_MS + 1, 'repeated'],
    ['TK-04: its answer, while the access token is valid', 3, HOUR - 1_000, 'repeated'],
    ['TK-03: the one before that, at once', 2, 0, 'reused'],
  ])('while no token of the successor was used: %s', (_what, generation, after, answer) => {
    expect(step(generation, after, lost)).toEqual({ answer })
  })

  test.each([HOUR, HOUR - 999, DAY, 59 * DAY])(
    'TK-04: while no token of the successor was used, an expired access token is replaced: after %i ms',
    (after) => {
      expect(step(3, after, lost)).toEqual({ answer: 'reissued', next: { ...lost, issuedAt: NOW + after } })
    },
  )

  test('TK-07: nothing is refreshed, repeated or reported as reuse after the end', () => {
    for (const generation of [1, 3, 4]) expect(step(generation, 60 * DAY)).toEqual({ answer: 'not_valid' })
  })

  test('a grant that was never issued cannot be refreshed', () => {
    expect(step(1, 0, makeGrant())).toEqual({ answer: 'not_valid' })
  })

  test('a grant for an access key has no refresh token', () => {
    expect(step(4, 0, { ...grant, variant: 'access_key' })).toEqual({ answer: 'not_valid' })
  })

  test.each(barred)('nothing of a grant that is %s', (_what, given, its) => {
    for (const generation of [2, 3, 4]) {
      expect(refresh({ ...grant, ...given }, its, generation, NOW, limits)).toEqual({ answer: 'not_valid' })
    }
  })

  test.each([
    ['a moment before it was unused for too long', NOW, NOW, 60 * DAY - 1, false],
    ['unused for too long', NOW, NOW, 60 * DAY, true],
    ['a moment before it is as old as a yes may grow', NOW, NOW + 364 * DAY, 365 * DAY - 1, false],
    ['as old as a yes may grow, though refreshed a day ago', NOW, NOW + 364 * DAY, 365 * DAY, true],
    ['never handed out, at any time', NOW, null, -NOW, true],
  ])('TK-07: has it ended: %s', (_what, createdAt, issuedAt, after, over) => {
    expect(isOver(makeGrant({ createdAt, issuedAt }), NOW + after, limits)).toBe(over)
  })

  /** Any generation is presented at any time. */
  const presentations = fc.array(
    fc.record({
      back: fc.integer({ min: -1, max: 4 }),
      wait: fc.constantFrom(0, 1, 29_999, 30_000, 30_001, HOUR, DAY),
      used: fc.boolean(),
    }),
    { minLength: 1, maxLength: 60 },
  )

  function live(history: { back: number; wait: number; used: boolean }[]) {
    let [now, of]: [number, Grant] = [NOW, makeGrant({ generation: 1, issuedAt: NOW })]
    return history.map(({ back, wait, used }) => {
      now += wait
      if (used) of = { ...of, usedGeneration: of.generation }
      const [before, presented] = [of, Math.max(1, of.generation - back)]
      const made = refresh(before, holder, presented, now, limits)
      if ('next' in made) of = made.next
      if (made.answer === 'reused') of = { ...of, revokedAt: now }
      return { before, after: of, presented, now, made }
    })
  }

  test('TK-01: in any history a generation has at most one successor, the next number, and one valid access token at a time', () => {
    fc.assert(
      fc.property(presentations, (history) => {
        const successors = new Map<number, number | null>()
        for (const { before, after, presented, now, made } of live(history)) {
          if (made.answer === 'reused' || made.answer === 'not_valid') continue
          const given = 'next' in made ? made.next : before
          expect(given.generation).toBe(presented + 1)
          expect(after.generation).toBe(given.generation)
          expect(isRepeatable(given, now, limits.accessTokenMs)).toBe(true)
          const known = successors.get(presented)
          if (made.answer === 'reissued') expect(now - (known ?? 0)).toBeGreaterThan(HOUR - 1_000)
          else expect(known ?? given.issuedAt).toBe(given.issuedAt)
          successors.set(presented, given.issuedAt)
        }
      }),
    )
  })

  test('TK-02: in any history only the previous generation is repeated, until its successor is used or the grace period ends; any other old one is reuse', () => {
    fc.assert(
      fc.property(presentations, (history) => {
        for (const { before, after, presented, now, made } of live(history)) {
          if (before.revokedAt !== null || isOver(before, now, limits)) {
            expect(made).toEqual({ answer: 'not_valid' })
          } else if (presented < before.generation) {
            const recent = now - (before.issuedAt ?? 0) <= REFRESH_GRACE_MS
            const unused = before.usedGeneration < before.generation
            const answered = presented === before.generation - 1 && (recent || unused)
            expect(made.answer === 'reused').toBe(!answered)
            expect(after.revokedAt !== null).toBe(!answered)
          }
        }
      }),
    )
  })
})

describe('rotating an access key', () => {
  const grant = makeGrant({ variant: 'access_key', keyGeneration: 3, keyRotatedAt: NOW })
  const step = (generation: number, after: number, overlapMs = DAY) =>
    rotateKey(grant, holder, generation, NOW + after, overlapMs)

  test('the current key leads to the next, and is its predecessor from now on', () => {
    expect(step(3, 7)).toEqual({ answer: 'rotated', next: { ...grant, keyGeneration: 4, keyRotatedAt: NOW + 7 } })
  })

  test.each([
    ['its predecessor, while both work, gets the same successor again', 2, DAY - 1, DAY, 'repeated'],
    ['its predecessor, later, gets nothing', 2, DAY, DAY, 'not_valid'],
    ['its predecessor, where there is no overlap, gets nothing', 2, 0, 0, 'not_valid'],
    ['the one before that gets nothing, and takes nothing with it', 1, 0, DAY, 'not_valid'],
    ['one that was never made gets nothing', 4, 0, DAY, 'not_valid'],
  ])('%s', (_what, generation, after, overlapMs, answer) => {
    expect(step(generation, after, overlapMs)).toEqual({ answer })
  })

  test.each(barred)('nothing of a grant that is %s', (_what, given, its) => {
    for (const generation of [2, 3]) {
      expect(rotateKey({ ...grant, ...given }, its, generation, NOW, DAY)).toEqual({ answer: 'not_valid' })
    }
  })

  test('a grant for a token set has no access key', () => {
    expect(rotateKey({ ...grant, variant: 'token_set' }, holder, 3, NOW, DAY)).toEqual({ answer: 'not_valid' })
  })

  test('at most two keys are valid at a time: the newest and its predecessor', () => {
    const history = fc.array(fc.record({ back: fc.nat(3), wait: fc.constantFrom(0, 1, DAY - 1, DAY) }), {
      maxLength: 40,
    })
    fc.assert(
      fc.property(history, (presented) => {
        let [now, of]: [number, Grant] = [NOW, makeGrant({ variant: 'access_key' })]
        for (const { back, wait } of presented) {
          now += wait
          const made = rotateKey(of, holder, Math.max(1, of.keyGeneration - back), now, DAY)
          if (made.answer === 'rotated') of = made.next
          const works = Array.from({ length: of.keyGeneration + 1 }, (_, each) => each + 1).filter((generation) =>
            isValid(of, holder, { is: 'access_key', generation }, now, DAY),
          )
          expect([[of.keyGeneration], [of.keyGeneration - 1, of.keyGeneration]]).toContainEqual(works)
        }
      }),
    )
  })
})

test.each([
  [{}, true],
  [{ generation: 2 }, false],
  [{ keyGeneration: 2 }, false],
])('a grant never refreshed or rotated is a first issue: %o', (given, first) => {
  expect(isFirstIssue(makeGrant(given))).toBe(first)
})

test('a grant id is grt_ and 20 characters', () => {
  expect(isGrantId(makeGrant().id)).toBe(true)
  const { id, secret } = makeGrant()
  for (const text of ['', 'x', id.toUpperCase(), `${id}\n`, `${id}0`, ` ${id}`, id.slice(0, -1), secret, "'; --"]) {
    expect(isGrantId(text), text).toBe(false)
  }
})
