/** Application secrets: 256 random bits, stored only as a keyed hash. docs/interface.md, "Application credentials". */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type ApplicationSecret, MAX_LIVE_SECRETS } from '../../src/core/applications/application.ts'
import {
  createApplicationSecret,
  digestApplicationSecret,
  matchApplicationSecret,
} from '../../src/secrets/application-secret.ts'
import { createKey, type Keyset, parseKeyset, type SigningKey } from '../../src/secrets/keyset.ts'

const [first, second] = [createKey(1), createKey(2)]
const keys = parseKeyset(first) as Keyset
const rotated = parseKeyset(`${second},${first}`) as Keyset

/** As it is stored: the digest under the key that signed when it was made. */
function makeStored(id: string, secret: string, keyset: Keyset = keys): ApplicationSecret {
  return { id, keyId: keyset.signing.id, digest: digestApplicationSecret(keyset, secret) }
}

test('a secret is 256 random bits behind lks_, another one each time', () => {
  const secrets = Array.from({ length: 1_000 }, createApplicationSecret)
  for (const secret of secrets) expect(secret).toMatch(/^lks_[A-Za-z0-9_-]{43}$/)
  expect(new Set(secrets).size).toBe(1_000)
})

describe('the stored digest', () => {
  const secret = createApplicationSecret()

  test('TK-14 is keyed: without the server’s key it cannot be checked', () => {
    const { digest } = makeStored('sec_1', secret)
    expect(digest).toHaveLength(32)
    expect(digest).not.toEqual(createHash('sha256').update(secret).digest())
    expect(digest).not.toEqual(makeStored('sec_1', secret, parseKeyset(createKey(1)) as Keyset).digest)
  })
})

describe('matching', () => {
  const secrets = Array.from({ length: MAX_LIVE_SECRETS }, createApplicationSecret)
  const stored = secrets.map((secret, index) => makeStored(`sec_${index}`, secret))

  test('AP-22 each of three live secrets is accepted and identified', () => {
    expect(secrets.map((secret) => matchApplicationSecret(keys, stored, secret)?.id)).toEqual([
      'sec_0',
      'sec_1',
      'sec_2',
    ])
  })

  test('AP-22 a revoked secret is refused, the others stay valid', () => {
    const [revoked = '', ...living] = secrets
    const left = stored.slice(1)
    expect(matchApplicationSecret(keys, left, revoked)).toBeNull()
    for (const secret of living) expect(matchApplicationSecret(keys, left, secret)).not.toBeNull()
  })

  test('SC-03 secrets made under the old key and under the new one are accepted, in any order', () => {
    const newer = createApplicationSecret()
    const all = [...stored, makeStored('sec_new', newer, rotated)]
    for (const live of [all, [...all].reverse(), [all[0], all[3], all[1], all[2]] as ApplicationSecret[]]) {
      expect(matchApplicationSecret(rotated, live, newer)?.id).toBe('sec_new')
      expect(secrets.map((secret) => matchApplicationSecret(rotated, live, secret)?.id)).toEqual([
        'sec_0',
        'sec_1',
        'sec_2',
      ])
    }
  })

  test('a secret whose key was retired is refused, the others stay valid', () => {
    const newer = createApplicationSecret()
    const live = [...stored, makeStored('sec_new', newer, rotated)]
    const without = parseKeyset(second) as Keyset
    expect(matchApplicationSecret(without, live, newer)?.id).toBe('sec_new')
    for (const secret of secrets) expect(matchApplicationSecret(without, live, secret)).toBeNull()
  })

  test('an unknown application, which has no secrets, is refused with every secret', () => {
    expect(matchApplicationSecret(keys, [], secrets[0] ?? '')).toBeNull()
  })

  test('AP-20 an unknown application costs as many digests as a known one: one under every key', () => {
    let digests = 0
    const counted = (key: SigningKey): SigningKey => ({
      id: key.id,
      get for() {
        digests += 1
        return key.for
      },
    })
    const byId = new Map(Array.from(rotated.byId, ([id, key]) => [id, counted(key)]))
    const digestsOf = (live: readonly ApplicationSecret[], secret: string) => {
      digests = 0
      matchApplicationSecret({ signing: rotated.signing, byId }, live, secret)
      return digests
    }
    const known = secrets[0] ?? ''
    expect(digestsOf([], known), 'an unknown application').toBe(2)
    expect(digestsOf(stored, createApplicationSecret()), 'a wrong secret').toBe(2)
    expect(digestsOf(stored, known), 'the right one').toBe(2)
  })

  test('a digest under one key is not accepted as one under another', () => {
    const [secret = ''] = secrets
    const live = [{ id: 'sec_0', keyId: 2, digest: digestApplicationSecret(keys, secret) }]
    expect(matchApplicationSecret(rotated, live, secret)).toBeNull()
  })

  test.each(['', 'lks_', 'password', `lks_${'a'.repeat(42)}`, `xlks_${'a'.repeat(43)}`, `lks_${'a'.repeat(44)}`])(
    'what does not have the form of a secret is refused, even if its digest is stored: %j',
    (text) => {
      expect(matchApplicationSecret(keys, [makeStored('sec_0', text)], text)).toBeNull()
    },
  )

  test('an altered secret is refused', () => {
    const secret = secrets[0] ?? ''
    const alike = [
      '',
      secret.slice(4),
      secret.slice(0, -1),
      `${secret}A`,
      `${secret}\n`,
      ` ${secret}`,
      secret.toLowerCase(),
      secret.toUpperCase(),
      secret.replace('lks_', 'lka_'),
      secret.slice(0, -1) + (secret.endsWith('A') ? 'B' : 'A'),
      stored[0]?.digest.toString('base64url') ?? '',
      `lks_${stored[0]?.digest.toString('base64url')}`,
      'lks_'.repeat(10_000),
    ]
    expect(alike.filter((text) => matchApplicationSecret(keys, stored, text))).toEqual([])
  })
})
