/** Passwords are stored as argon2id digests, and checked one at a time. */
import { createHook } from 'node:async_hooks'
import { verify } from '@node-rs/argon2'
import { describe, expect, test } from 'vitest'
import { createPasswords, digestPassword, type Passwords } from '../../src/secrets/password.ts'
import { PasswordsBusy, type Stranger } from '../../src/secrets/password-queue.ts'

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

const HOME = { accountId: 'acc', network: 'home' }

describe('matching', () => {
  const passwords = createPasswords().known(HOME)

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
    await expect(digestPassword(`${longest}🔑`)).rejects.toThrow(/password is too long/)
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
    const passwords = createPasswords().known(HOME)
    const digest = await passwords.digest('correct horse battery')
    const flood = () => Promise.all(Array.from({ length: 8 }, () => passwords.matches(digest, 'wrong')))
    expect(await mostAtOnce(flood)).toBe(1)
    const unbounded = () => Promise.all(Array.from({ length: 8 }, () => verify(digest, 'wrong')))
    expect(await mostAtOnce(unbounded), 'the test has the power to see it').toBeGreaterThan(1)
  })

  type Asked = Promise<boolean | 'busy'>
  const busy = (error: unknown): 'busy' => {
    if (error instanceof PasswordsBusy) return 'busy'
    throw error
  }
  const ask = (passwords: Passwords, digest: string | null, stranger: Stranger): Asked =>
    passwords.strangerInTurn(stranger, (matches) => matches(digest, 'correct horse battery')).catch(busy)
  const askKnown = (passwords: Passwords, digest: string | null, accountId: string, network: string): Asked =>
    passwords.known({ accountId, network }).matches(digest, 'correct horse battery').catch(busy)
  const from = (network: string, deferredRank: number | null = null) => ({ network, accountId: 'acc', deferredRank })
  const flood = (passwords: Passwords, digest: string) =>
    Array.from({ length: 200 }, (_, index) => ask(passwords, index % 2 ? digest : null, from(`network ${index}`)))

  test('25 unknown browsers are queued, the rest are shed at once, and then there is room again', async () => {
    const passwords = createPasswords()
    const digest = await digestPassword('correct horse battery')
    const asked = flood(passwords, digest)
    let checked = 0
    const count = () => {
      checked += 1
    }
    for (const each of asked.slice(0, 26)) void each.then(count)
    const checkedBefore = asked.at(-1)?.then(() => checked)
    const outcomes = await Promise.all(asked)
    expect(outcomes.slice(0, 26)).toEqual(Array.from({ length: 26 }, (_, index) => index % 2 === 1))
    expect(new Set(outcomes.slice(26))).toEqual(new Set(['busy']))
    expect(await checkedBefore, 'passwords that were checked before the last one was turned away').toBe(0)
    expect(await askKnown(passwords, digest, 'acc', 'home')).toBe(true)
  })

  test('50 known browsers are queued, however many unknown ones wait', async () => {
    const passwords = createPasswords()
    const digest = await digestPassword('correct horse battery')
    const strangers = flood(passwords, digest)
    const known = await Promise.all(
      Array.from({ length: 200 }, (_, index) => askKnown(passwords, digest, `account ${index}`, `network ${index}`)),
    )
    expect(known.filter((outcome) => outcome !== 'busy')).toHaveLength(50)
    expect((await Promise.all(strangers)).filter((outcome) => outcome !== 'busy')).toHaveLength(26)
  })

  test.each([
    [
      'one account, from many networks',
      'other account',
      (index: number): [string, string] => ['acc', `network ${index}`],
    ],
    ['one account, from one network', 'acc', (): [string, string] => ['acc', 'crowded']],
    [
      'many accounts, from one network',
      'other account',
      (index: number): [string, string] => [`account ${index}`, 'crowded'],
    ],
  ])('200 known browsers of %s, turn no other known browser away', async (_, account, crowd) => {
    const passwords = createPasswords()
    const digest = await digestPassword('correct horse battery')
    let done = 0
    const asked = Array.from({ length: 200 }, (_, index) => {
      const [accountId, network] = crowd(index)
      return askKnown(passwords, null, accountId, network).then((outcome) => {
        if (outcome !== 'busy') done += 1
        return outcome
      })
    })
    expect(await askKnown(passwords, digest, account, 'quiet')).toBe(true)
    expect(done, 'checked before').toBeLessThanOrEqual(account === 'acc' || crowd(0)[0] === 'acc' ? 3 : 50)
    expect((await Promise.all(asked)).filter((outcome) => outcome !== 'busy')).toHaveLength(50)
  })

  test('WB-07 forty at once from one network turn nobody else away, and whoever comes from another is next', async () => {
    const passwords = createPasswords()
    const digest = await digestPassword('correct horse battery')
    let done = 0
    const asked = Array.from({ length: 40 }, () =>
      ask(passwords, null, from('crowded')).then((outcome) => {
        if (outcome !== 'busy') done += 1
        return outcome
      }),
    )
    const other = await ask(passwords, digest, from('quiet'))
    expect([other, done <= 3]).toEqual([true, true])
    const outcomes = await Promise.all(asked)
    expect(
      outcomes.filter((outcome) => outcome === 'busy'),
      'the newest of them make room',
    ).toHaveLength(15)
  })

  test('WB-07 of those who have their answer, whose network failed least comes first, behind everybody else', async () => {
    const passwords = createPasswords()
    const order: string[] = []
    const asked = (name: string, stranger: Stranger) => ask(passwords, null, stranger).then(() => order.push(name))
    const askedKnown = (name: string) => askKnown(passwords, null, 'acc', 'home').then(() => order.push(name))
    await Promise.all([
      askedKnown('running'),
      asked('stranger whose turn it is', from('z', 9)),
      asked('failed before', from('a', 7)),
      asked('later', from('b', 0)),
      asked('later, second of its network', from('b', 0)),
      asked('later, other network', from('c', 0)),
      asked('stranger', from('d')),
      askedKnown('known'),
    ])
    expect(order).toEqual([
      'running',
      'known',
      'stranger whose turn it is',
      'stranger',
      'later',
      'later, other network',
      'later, second of its network',
      'failed before',
    ])
  })

  test('an invalid digest does not block the queue', async () => {
    const passwords = createPasswords({ maxWaiting: 2 }).known(HOME)
    const broken = Array.from({ length: 3 }, () => passwords.matches('not a digest', 'x').catch(() => 'failed'))
    expect(await Promise.all(broken)).toEqual(['failed', 'failed', 'failed'])
    expect(await passwords.matches(await passwords.digest('x'), 'x')).toBe(true)
  })
})
