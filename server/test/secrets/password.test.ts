/** Passwords are stored as argon2id digests, and checked one at a time. */
import { createHook } from 'node:async_hooks'
import { verify } from '@node-rs/argon2'
import { describe, expect, test } from 'vitest'
import { createPasswords, digestPassword, type Passwords, PasswordsBusy } from '../../src/secrets/password.ts'

test('a digest is argon2id with 19 MiB and two passes, salted, and matches its password only', async () => {
  const [digest, again] = await Promise.all([
    digestPassword('correct horse battery'),
    digestPassword('correct horse battery'),
  ])
  expect(digest).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(again).not.toBe(digest)
  expect(await verify(digest, 'correct horse battery')).toBe(true)
  expect(await verify(digest, 'correct horse batterY')).toBe(false)
})

describe('matching', () => {
  const passwords = createPasswords()

  test('a password matches its own digest, the command line’s too, and no other', async () => {
    for (const digest of [
      await passwords.digest('correct horse battery'),
      await digestPassword('correct horse battery'),
    ]) {
      expect(await passwords.matches(digest, 'correct horse battery')).toBe(true)
      expect(await passwords.matches(digest, 'correct horse batterY')).toBe(false)
      expect(await passwords.matches(digest, '')).toBe(false)
    }
  })

  test('a password matches in every Unicode composition', async () => {
    const digest = await passwords.digest('Crème brûlée ﬁne')
    expect(await passwords.matches(digest, 'Crème brûlée ﬁne'.normalize('NFD'))).toBe(true)
    expect(await passwords.matches(digest, 'Crème brûlée fine')).toBe(true)
    expect(await passwords.matches(digest, 'Creme brulee fine')).toBe(false)
  })

  test('256 characters of any script are accepted; one more is never digested', async () => {
    const longest = '🔑'.repeat(256)
    const digest = await passwords.digest(longest)
    expect(await passwords.matches(digest, longest)).toBe(true)
    expect(await passwords.matches(digest, `${longest}🔑`)).toBe(false)
    expect(await passwords.matches(await digestPassword('x'), 'x'.repeat(100_000))).toBe(false)
    await expect(passwords.digest(`${longest}🔑`)).rejects.toThrow(RangeError)
    await expect(digestPassword('ﷺ'.repeat(20)), 'counted as it is digested').rejects.toThrow(RangeError)
  })

  test('WB-08 the password of an unknown user never matches, and takes as long as a wrong one', async () => {
    const digest = await passwords.digest('correct horse battery')
    const took = { somebody: [] as number[], nobody: [] as number[] }
    for (let round = 0; round < 25; round += 1) {
      for (const [who, of] of [
        ['somebody', digest],
        ['nobody', null],
      ] as const) {
        const before = performance.now()
        expect(await passwords.matches(of, 'wrong horse battery')).toBe(false)
        took[who].push(performance.now() - before)
      }
    }
    // The fastest of each: other load only adds time. Without a digest it would take a thousandth.
    const ratio = Math.min(...took.nobody) / Math.min(...took.somebody)
    expect(ratio).toBeGreaterThan(0.5)
    expect(ratio).toBeLessThan(2)
  })
})

describe('WB-09 under a flood', () => {
  /** Maximum number of concurrent digests in Node while `act` ran. The library names its native work `undefined`. */
  async function mostAtOnce(act: () => Promise<unknown>): Promise<number> {
    const underWay = new Set<number>()
    let max = 0
    const hook = createHook({
      init: (id, type) => {
        if (type !== 'undefined') return
        underWay.add(id)
        max = Math.max(max, underWay.size)
      },
      before: (id) => underWay.delete(id),
    }).enable()
    await act().finally(() => hook.disable())
    return max
  }

  test('passwords are checked one at a time', async () => {
    const passwords = createPasswords()
    const digest = await passwords.digest('correct horse battery')
    const flood = () => Promise.all(Array.from({ length: 8 }, () => passwords.matches(digest, 'wrong')))
    expect(await mostAtOnce(flood)).toBe(1)
    const unbounded = () => Promise.all(Array.from({ length: 8 }, () => verify(digest, 'wrong')))
    expect(await mostAtOnce(unbounded), 'the test has the power to see it').toBeGreaterThan(1)
  })

  const flood = (passwords: Passwords, digest: string, known: boolean) =>
    Array.from({ length: 200 }, (_, index) =>
      passwords
        .matches(index % 2 ? digest : null, 'correct horse battery', known)
        .catch((error) => (error instanceof PasswordsBusy ? 'busy' : error)),
    )

  test('25 unknown browsers are queued, the rest are shed at once, and then there is room again', async () => {
    const passwords = createPasswords()
    const digest = await passwords.digest('correct horse battery')
    const asked = flood(passwords, digest, false)
    let checked = 0
    const count = () => {
      checked += 1
    }
    for (const each of asked.slice(0, 26)) each.then(count)
    const checkedBefore = asked.at(-1)?.then(() => checked)
    const outcomes = await Promise.all(asked)
    expect(outcomes.slice(0, 26)).toEqual(Array.from({ length: 26 }, (_, index) => index % 2 === 1))
    expect(new Set(outcomes.slice(26))).toEqual(new Set(['busy']))
    expect(await checkedBefore, 'passwords that were checked before the last one was turned away').toBe(0)
    expect(await passwords.matches(digest, 'correct horse battery')).toBe(true)
  })

  test('25 known browsers are queued, however many unknown ones wait', async () => {
    const passwords = createPasswords()
    const digest = await passwords.digest('correct horse battery')
    const strangers = flood(passwords, digest, false)
    const known = await Promise.all(flood(passwords, digest, true))
    expect(known.filter((outcome) => outcome !== 'busy')).toHaveLength(25)
    expect((await Promise.all(strangers)).filter((outcome) => outcome !== 'busy')).toHaveLength(26)
  })

  test('an invalid digest does not block the queue', async () => {
    const passwords = createPasswords({ maxWaiting: 2 })
    const broken = Array.from({ length: 3 }, () => passwords.matches('not a digest', 'x').catch(() => 'failed'))
    expect(await Promise.all(broken)).toEqual(['failed', 'failed', 'failed'])
    expect(await passwords.matches(await passwords.digest('x'), 'x')).toBe(true)
  })
})
