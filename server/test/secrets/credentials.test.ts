/** Access tokens, refresh tokens and access keys. docs/interface/credentials.md, "Credentials". */
import { describe, expect, test } from 'vitest'
import {
  createApplicationSecret,
  digestApplicationSecret,
  matchApplicationSecret,
} from '../../src/secrets/application-secret.ts'
import {
  createCredentialVerifier,
  makeAccessKey,
  makeTokenSet,
  RetiredKey,
  verifyCredential,
} from '../../src/secrets/credentials.ts'
import { signDeviceCode, verifyDeviceCode } from '../../src/secrets/device-code-text.ts'
import { createKey, dropKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { createDeviceCodeId, createGrantId, createGrantSecret } from '../../src/secrets/random.ts'
import { makeGrant, NOW } from '../rig/records.ts'

const [first, second] = [createKey(1), createKey(2)]
const keys = parseKeyset(first) as Keyset
const rotated = parseKeyset(`${second},${first}`) as Keyset

const HOUR = 3_600_000

const grant = makeGrant({ id: createGrantId(), secret: createGrantSecret() })
const { accessToken, refreshToken } = makeTokenSet(keys, grant, NOW, HOUR)
const accessKey = makeAccessKey(keys, grant)

describe('verifying', () => {
  test('an access token carries grant, generation and expiry', () => {
    const text = makeTokenSet(keys, makeGrant({ secret: grant.secret, generation: 7 }), NOW, HOUR).accessToken
    expect(verifyCredential(keys, text)).toEqual({
      is: 'access_token',
      grantSecret: grant.secret,
      generation: 7,
      expiresAt: NOW + HOUR,
    })
  })

  test('a refresh token and an access key carry grant and generation', () => {
    const later = makeGrant({ secret: grant.secret, generation: 4_294_967_295, keyGeneration: 3 })
    const refresh = makeTokenSet(keys, later, NOW, HOUR).refreshToken
    expect(verifyCredential(keys, refresh)).toEqual({
      is: 'refresh_token',
      grantSecret: grant.secret,
      generation: 4_294_967_295,
    })
    expect(verifyCredential(keys, makeAccessKey(keys, later))).toEqual({
      is: 'access_key',
      grantSecret: grant.secret,
      generation: 3,
    })
  })

  test('expiry is kept to the whole second, never earlier than promised', () => {
    const { accessToken: text } = makeTokenSet(keys, grant, NOW + 1, HOUR)
    expect(verifyCredential(keys, text)).toMatchObject({ expiresAt: NOW + HOUR + 1_000 })
  })

  test('each has the prefix of its kind and characters that need no escape', () => {
    expect(accessToken).toMatch(/^lka_0000[A-Za-z0-9_-]{56}$/)
    expect(refreshToken).toMatch(/^lkr_0000[A-Za-z0-9_-]{50}$/)
    expect(accessKey).toMatch(/^lkk_0000[A-Za-z0-9_-]{50}$/)
  })

  test.each([
    ['an access token', accessToken],
    ['a refresh token', refreshToken],
    ['an access key', accessKey],
  ])('any flipped bit of %s is refused', (_name, text) => {
    const bytes = Buffer.from(text.slice(8), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(verifyCredential(keys, text.slice(0, 8) + flipped.toString('base64url'))).toBeNull()
    }
  })
})

describe('the same grant gives the same text', () => {
  test('DC-20 every time, also after a key rotation', () => {
    expect(makeTokenSet(keys, { ...grant }, NOW, HOUR)).toEqual({ accessToken, refreshToken })
    expect(makeTokenSet(rotated, grant, NOW, HOUR)).toEqual({ accessToken, refreshToken })
    expect(makeAccessKey(rotated, grant)).toBe(accessKey)
  })

  test('within a second the access token is the same, in the next it is not; the refresh token is', () => {
    expect(makeTokenSet(keys, grant, NOW - 999, HOUR)).toEqual({ accessToken, refreshToken })
    const later = makeTokenSet(keys, grant, NOW + 1, HOUR)
    expect(later.accessToken).not.toBe(accessToken)
    expect(later.refreshToken).toBe(refreshToken)
  })

  test('another grant, generation or key gives another one', () => {
    const others = [makeGrant(), { ...grant, generation: 2, keyGeneration: 2 }, { ...grant, keyId: 2 }]
    for (const other of others) {
      const tokens = makeTokenSet(rotated, other, NOW, HOUR)
      expect(tokens.accessToken).not.toBe(accessToken)
      expect(tokens.refreshToken).not.toBe(refreshToken)
      expect(makeAccessKey(rotated, other)).not.toBe(accessKey)
    }
  })
})

describe('a retired key', () => {
  const without = parseKeyset(second) as Keyset

  test('verifies nothing that it signed', () => {
    for (const text of [accessToken, refreshToken, accessKey]) {
      expect(verifyCredential(rotated, text)).not.toBeNull()
      expect(verifyCredential(without, text)).toBeNull()
    }
  })

  test('signs nothing new: its grants have no credentials any more', () => {
    expect(() => makeTokenSet(without, grant, NOW, HOUR)).toThrow(RetiredKey)
    expect(() => makeAccessKey(without, grant)).toThrow(RetiredKey)
  })

  test('is named in the error, with the grant', () => {
    const error = new RegExp(`${grant.id}.* key 1\\b.*LATCHKEY_KEYS`)
    expect(() => makeAccessKey(without, grant)).toThrow(error)
    expect(new RetiredKey('x').name).toBe('RetiredKey')
  })
})

describe('type confusion', () => {
  const application = 'app_000000000000'
  const secret = createApplicationSecret()
  const digest = digestApplicationSecret(keys, secret) as Buffer
  const id = createDeviceCodeId(NOW)
  const deviceCode = signDeviceCode(keys, {
    id,
    applicationId: application,
    variant: 'token_set',
    expiresAt: NOW,
    intervalSeconds: 5,
  })
  const texts = {
    access_token: accessToken,
    refresh_token: refreshToken,
    access_key: accessKey,
    device_code: deviceCode,
    secret,
  }
  type Kind = keyof typeof texts
  const kinds = Object.keys(texts) as Kind[]
  const takenFor: Record<Kind, (text: string) => boolean> = {
    access_token: (text) => verifyCredential(keys, text)?.is === 'access_token',
    refresh_token: (text) => verifyCredential(keys, text)?.is === 'refresh_token',
    access_key: (text) => verifyCredential(keys, text)?.is === 'access_key',
    device_code: (text) => verifyDeviceCode(keys, text, application) !== null,
    secret: (text) => matchApplicationSecret(keys, [{ id: 'sec_1', keyId: 1, digest }], text) !== null,
  }
  const pairs = kinds.flatMap((given) => kinds.map((route) => ({ given, route })))

  test.each(pairs)('TK-12 $given presented as $route', ({ given, route }) => {
    expect(takenFor[route](texts[given])).toBe(given === route)
  })

  test.each(pairs.filter(({ given, route }) => given !== route))(
    'TK-12 $given with the prefix of $route opens nowhere',
    ({ given, route }) => {
      const disguised = texts[route].slice(0, 4) + texts[given].slice(4)
      expect(kinds.filter((kind) => takenFor[kind](disguised))).toEqual([])
    },
  )
})

describe('with a cache', () => {
  const texts = [accessToken, refreshToken, accessKey]

  test('what is verified is the same, the first time and later', () => {
    const verifyCached = createCredentialVerifier(keys)
    for (let time = 0; time < 3; time += 1) {
      expect(texts.map(verifyCached)).toEqual(texts.map((text) => verifyCredential(keys, text)))
      expect(verifyCached(`${accessToken}A`)).toBeNull()
    }
  })

  test('a credential is not verified again', () => {
    const verifyCached = createCredentialVerifier(keys)
    for (const text of texts) expect(verifyCached(text)).toBe(verifyCached(text))
  })

  test('a flood of forged credentials does not push out a genuine one', () => {
    const verifyCached = createCredentialVerifier(keys)
    const before = verifyCached(accessToken)
    for (let forged = 0; forged < 50_001; forged += 1) {
      if (verifyCached(`lka_${forged}`) !== null) throw new Error('a forged credential was accepted')
    }
    expect(verifyCached(accessToken)).toBe(before)
  })

  test('a credential ends with its key', () => {
    const both = parseKeyset(`${second},${first}`) as Keyset
    const verifyCached = createCredentialVerifier(both)
    expect(verifyCached(accessToken)).not.toBeNull()
    dropKey(both, 1)
    expect(texts.map(verifyCached)).toEqual([null, null, null])
  })
})
