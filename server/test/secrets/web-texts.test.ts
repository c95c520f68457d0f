/** Signed texts of the web interface: their binding, and that nothing else is accepted. */
import { createHash, createHmac, hkdfSync, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import {
  digestAddress,
  digestSecondStep,
  isOutdatedSession,
  isSignedForm,
  markPassword,
  signBrowser,
  signChallenge,
  signDecision,
  signForm,
  signLink,
  signSecondStep,
  signSession,
  verifyBrowser,
  verifyChallenge,
  verifyDecision,
  verifyLink,
  verifySecondStep,
  verifySession,
} from '../../src/secrets/web-texts.ts'

const keysFrom = (...texts: string[]) => parseKeyset(texts.join(',')) as Keyset
const [one, two] = [createKey(1), createKey(2)]
const keys = keysFrom(one)
const id = randomUUID()

describe.each([
  ['a session', signSession, verifySession],
  ['a link', signLink, verifyLink],
  ['a browser', signBrowser, verifyBrowser],
] as const)('the text of %s', (_name, sign, open) => {
  const make = () => sign(keys, id, 'acme')

  test('verifies to its id, also after a key rotation', () => {
    const text = make()
    expect(open(keys, text, 'acme')).toBe(id)
    expect(open(keysFrom(two, one), text, 'acme')).toBe(id)
  })

  test('TN-02: verifies only for its own account or user', () => {
    const text = make()
    expect(open(keys, text, 'globex')).toBeNull()
    expect(open(keys, text, '')).toBeNull()
  })

  test('WB-04: is refused if altered, truncated or forged, or once its key is retired', () => {
    const text = make()
    for (let at = 0; at < text.length; at += 1) {
      const other = text[at] === 'A' ? 'B' : 'A'
      expect(open(keys, text.slice(0, at) + other + text.slice(at + 1), 'acme')).toBeNull()
    }
    for (const made of ['', text.slice(0, -1), `${text}A`, id, 'lkw_', `${text}=`]) {
      expect(open(keys, made, 'acme')).toBeNull()
    }
    expect(open(keysFrom(two), text, 'acme')).toBeNull()
  })

  test('is not accepted as another kind', () => {
    const others = [verifySession, verifyLink, verifyBrowser].filter((each) => each !== open)
    const bare = make().slice(4)
    for (const other of others) {
      expect(['lkw_', 'lkl_', 'lkb_'].map((prefix) => other(keys, prefix + bare, 'acme'))).toEqual([null, null, null])
    }
  })
})

test('an unfinished sign-in carries user and time, for this account and browser only', () => {
  const step = { userId: 'usr_k3v9m2x7q4tz', at: 1_772_366_400_123, passwordMark: '0123456789abcdef' }
  const text = signSecondStep(keys, step, 'acme', 'mark')
  const digest = createHash('sha256').update(text).digest()
  expect(verifySecondStep(keys, text, 'acme', 'mark')).toEqual({ ...step, digest })
  expect(verifySecondStep(keys, text, 'globex', 'mark')).toBeNull()
  expect(verifySecondStep(keys, text, 'acme', 'another')).toBeNull()
})

test('UC-22: a decision verifies only for the user who entered the code', () => {
  const place = { id, expiresAt: 1_772_366_400_123 }
  const text = signDecision(keys, place, 'usr_k3v9m2x7q4tz')
  expect(verifyDecision(keys, text, 'usr_k3v9m2x7q4tz')).toEqual(place)
  expect(verifyDecision(keys, text, 'usr_000000000000')).toBeNull()
})

describe('a signed form', () => {
  const holder = { userId: 'usr_k3v9m2x7q4tz', sessionCreatedAt: 1_772_366_400_123 }
  const token = signForm(keys, holder, '/applications/remove', { grant: id })

  test('is valid for its session, its action and its values, in any order', () => {
    expect(isSignedForm(keys, holder, '/applications/remove', { grant: id }, token)).toBe(true)
    const two = signForm(keys, holder, '/a', { one: '1', two: '2' })
    expect(isSignedForm(keys, holder, '/a', { two: '2', one: '1' }, two)).toBe(true)
    expect(isSignedForm(keysFrom(createKey(2), one), holder, '/applications/remove', { grant: id }, token)).toBe(true)
  })

  test('has the id of the key that signs, of one to three digits, and half a MAC', () => {
    for (const keyId of [1, 12, 255]) {
      const own = keysFrom(createKey(keyId))
      const made = signForm(own, holder, '/a', {})
      expect(made).toMatch(new RegExp(`^${keyId}\\.[A-Za-z0-9_-]{22}$`))
      expect(isSignedForm(own, holder, '/a', {}, made)).toBe(true)
    }
  })

  test('with three values is the same in any order', () => {
    const orders = ['abc', 'acb', 'bac', 'bca', 'cab', 'cba']
    const made = orders.map((names) =>
      signForm(keys, holder, '/a', Object.fromEntries(Array.from(names, (name) => [name, `value ${name}`]))),
    )
    expect(new Set(made).size).toBe(1)
  })

  test('is refused once its key is retired', () => {
    expect(isSignedForm(keysFrom(two), holder, '/applications/remove', { grant: id }, token)).toBe(false)
    expect(isSignedForm(keysFrom(createKey(1)), holder, '/applications/remove', { grant: id }, token)).toBe(false)
  })

  test.each([
    ['another user', { ...holder, userId: 'usr_000000000000' }, '/applications/remove', { grant: id }],
    ['another session', { ...holder, sessionCreatedAt: 1 }, '/applications/remove', { grant: id }],
    ['another action', holder, '/sign-out', { grant: id }],
    ['another value', holder, '/applications/remove', { grant: randomUUID() }],
    ['a value less', holder, '/applications/remove', {}],
    ['a value more', holder, '/applications/remove', { grant: id, user: 'x' }],
  ])('is refused for %s', (_what, by, action, bound) => {
    expect(isSignedForm(keys, by, action, bound as Record<string, string>, token)).toBe(false)
  })

  test('WB-02: a token cannot be forged or omitted', () => {
    for (const made of ['', '1.', '1', `${token}x`, token.slice(2), `2${token.slice(1)}`, 'undefined']) {
      expect(isSignedForm(keys, holder, '/applications/remove', { grant: id }, made)).toBe(false)
    }
  })
})

test('an e-mail address is counted by digest, separately for each account', () => {
  const digest = digestAddress(keys, 'acc_1', 'ann@acme.example')
  expect(digest).toHaveLength(32)
  expect(digestAddress(keys, 'acc_1', 'ann@acme.example')).toEqual(digest)
  expect(digestAddress(keys, 'acc_2', 'ann@acme.example')).not.toEqual(digest)
  expect(digest.toString('latin1')).not.toContain('ann')
})

test('a failed second step is counted by digest, for one user of one account, and never as an e-mail address', () => {
  const subKey = hkdfSync('sha256', Buffer.from(one.slice(2), 'base64url'), Buffer.alloc(0), 'latchkey/address', 32)
  const hmacOf = (...values: readonly string[]) =>
    createHmac('sha256', Buffer.from(subKey))
      .update(createHash('sha256').update(JSON.stringify(values)).digest())
      .digest()
  expect(digestSecondStep(keys, 'acc_1', 'usr_1')).toEqual(hmacOf('second step', 'acc_1', 'usr_1'))
  expect(digestAddress(keys, 'acc_1', 'usr_1')).toEqual(hmacOf('acc_1', 'usr_1'))
  const digests = [
    digestSecondStep(keys, 'acc_1', 'usr_1'),
    digestSecondStep(keys, 'acc_1', 'usr_2'),
    digestSecondStep(keys, 'acc_2', 'usr_1'),
    digestAddress(keys, 'acc_1', 'usr_1'),
    digestAddress(keys, 'acc_1', 'usr_2'),
  ]
  expect(new Set(digests.map((digest) => digest.toString('hex'))).size).toBe(digests.length)
})

test('a session is outdated when another key signs than the one it was signed with', () => {
  const [older, newer] = [createKey(200), createKey(201)]
  const text = signSession(keysFrom(older), id, 'acme')
  expect(isOutdatedSession(keysFrom(older, newer), text)).toBe(false)
  expect(isOutdatedSession(keysFrom(newer, older), text)).toBe(true)
})

test('the mark of a password is 8 bytes in hex, and differs by digest', () => {
  expect(markPassword('$argon2id$1')).toBe(createHash('sha256').update('$argon2id$1').digest('hex').slice(0, 16))
  expect(markPassword('$argon2id$1')).not.toBe(markPassword('$argon2id$2'))
})

describe('a challenge to the host service', () => {
  const at = 1_772_366_400_123

  test.each([null, 0, 300, 4_294_967_294])('carries its time and a maximum age of %s', (maxAgeSeconds) => {
    const text = signChallenge(keys, { at, maxAgeSeconds }, 'acme', 'mark')
    expect(verifyChallenge(keys, text, 'acme', 'mark')).toEqual({ at, maxAgeSeconds })
    expect(verifyChallenge(keysFrom(two, one), text, 'acme', 'mark')).toEqual({ at, maxAgeSeconds })
  })

  test('is another one each time', () => {
    const made = Array.from({ length: 100 }, () => signChallenge(keys, { at, maxAgeSeconds: null }, 'acme', 'mark'))
    expect(new Set(made).size).toBe(100)
  })

  test('verifies only for its account and browser, and unaltered', () => {
    const text = signChallenge(keys, { at, maxAgeSeconds: 300 }, 'acme', 'mark')
    expect(verifyChallenge(keys, text, 'globex', 'mark')).toBeNull()
    expect(verifyChallenge(keys, text, 'acme', 'another')).toBeNull()
    expect(verifyChallenge(keys, text, 'acme\nmark', '')).toBeNull()
    expect(verifyChallenge(keys, text.slice(1), 'acme', 'mark')).toBeNull()
    expect(verifyChallenge(keysFrom(two), text, 'acme', 'mark')).toBeNull()
  })
})

test('an unfinished sign-in and a decision are refused once their key is retired', () => {
  const step = { userId: 'usr_k3v9m2x7q4tz', at: 1, passwordMark: '0123456789abcdef' }
  const [signIn, decision] = [
    signSecondStep(keys, step, 'acme', 'mark'),
    signDecision(keys, { id, expiresAt: 1 }, 'usr'),
  ]
  expect(verifySecondStep(keysFrom(two), signIn, 'acme', 'mark')).toBeNull()
  expect(verifyDecision(keysFrom(two), decision, 'usr')).toBeNull()
})
