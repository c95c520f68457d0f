/** Passkeys: requests to the browser, and verification of its answers. WebAuthn level 3, sections 7.1 and 7.2. */
import { createHash } from 'node:crypto'
import { type RegistrationResponseJSON, verifyRegistrationResponse } from '@simplewebauthn/server'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import {
  assertionSubject,
  createChallenge,
  creationOptions,
  type PasskeyRecord,
  requestOptions,
  verifyAssertion,
  verifyChallenge,
  verifyRegistration,
} from '../../src/secrets/passkey.ts'
import { type Cbor, cbor, createSoftPasskey, type SoftPasskey } from '../rig/factors/soft-passkey.ts'

const [first, second] = [createKey(1), createKey(2)]
const keys = parseKeyset(first) as Keyset

const NOW = Date.parse('2026-03-01T12:00:00Z')
const MINUTES = 60_000
const rpId = 'acme.service.example'
const origin = 'https://acme.service.example'

const challenge = createChallenge(keys, 'passkey:usr_1', NOW)
const challengeText = challenge.toString('base64url')
const challengeOk = (text: string) => verifyChallenge(keys, text, 'passkey:usr_1', NOW) !== null

const creation = creationOptions({
  rpId,
  rpName: 'Acme',
  userId: 'usr_1',
  email: 'ann@acme.example',
  challenge,
  exclude: [{ id: 'AAAA', transports: ['usb'] }],
})
const request = requestOptions({ rpId, challenge })

const register = (answer: string) => verifyRegistration({ answer, origin, rpId, challengeOk })

/** A passkey that was registered a moment ago. */
async function makePasskey(given = {}): Promise<{ soft: SoftPasskey; passkey: PasskeyRecord }> {
  const soft = createSoftPasskey(given)
  return { soft, passkey: (await register(soft.create(creation, origin))) as PasskeyRecord }
}

type Answer = { id: string; rawId: string; type: string; response: Record<string, string> }

/** The answer, changed after it was signed. */
function changed(answer: string, change: (answer: Answer) => void): string {
  const parsed = JSON.parse(answer) as Answer
  change(parsed)
  return JSON.stringify(parsed)
}

/** Every bit of a field of the answer, flipped. */
function* flips(answer: string, field: string): Generator<string> {
  const bytes = Buffer.from((JSON.parse(answer) as Answer).response[field] ?? '', 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    if (field === 'signature' && isFrame(bytes, bit >> 3)) continue
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    yield changed(answer, ({ response }) => {
      response[field] = flipped.toString('base64url')
    })
  }
}

/** The library parses the DER of a signature loosely; its two numbers are verified. */
function isFrame(signature: Buffer, at: number): boolean {
  const secondFrame = 4 + (signature[3] ?? 0)
  return at < 4 || at === secondFrame || at === secondFrame + 1
}

describe('a challenge', () => {
  test('verifies for its purpose, for five minutes, and returns its id', () => {
    const opened = verifyChallenge(keys, challengeText, 'passkey:usr_1', NOW + 5 * MINUTES - 1)
    expect(opened).toEqual({
      digest: createHash('sha256').update(challengeText).digest(),
      expiresAt: NOW + 5 * MINUTES,
    })
    expect(verifyChallenge(keys, challengeText, 'passkey:usr_1', NOW + 5 * MINUTES)).toBeNull()
    expect(verifyChallenge(keys, challengeText, 'passkey:usr_2', NOW)).toBeNull()
    expect(verifyChallenge(keys, challengeText, 'sign-in:acme', NOW)).toBeNull()
  })

  test('is another one each time, also between two milliseconds', () => {
    const many = Array.from({ length: 1_000 }, () => createChallenge(keys, '', NOW + 0.5).toString('base64url'))
    expect(new Set(many).size).toBe(1_000)
    expect(verifyChallenge(keys, many[0] ?? '', '', NOW)?.expiresAt).toBe(NOW + 5 * MINUTES)
  })

  test('survives a key rotation, and ends with its own key', () => {
    expect(
      verifyChallenge(parseKeyset(`${second},${first}`) as Keyset, challengeText, 'passkey:usr_1', NOW),
    ).not.toBeNull()
    expect(verifyChallenge(parseKeyset(second) as Keyset, challengeText, 'passkey:usr_1', NOW)).toBeNull()
  })

  test('any flipped bit is refused, and so is another spelling', () => {
    for (let bit = 0; bit < challenge.length * 8; bit += 1) {
      const flipped = Buffer.from(challenge)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(challengeOk(flipped.toString('base64url'))).toBe(false)
    }
    for (const other of ['', `${challengeText}=`, `${challengeText}A`, ` ${challengeText}`])
      expect(challengeOk(other)).toBe(false)
  })
})

describe('the request to the browser', () => {
  test('to make a passkey: resident, with user verification, without attestation, not twice', () => {
    expect(creation).toEqual({
      challenge: challengeText,
      rp: { id: rpId, name: 'Acme' },
      user: {
        id: Buffer.from('usr_1').toString('base64url'),
        name: 'ann@acme.example',
        displayName: 'ann@acme.example',
      },
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ alg, type: 'public-key' })),
      timeout: 300_000,
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      excludeCredentials: [{ id: 'AAAA', type: 'public-key', transports: ['usb'] }],
    })
  })

  test('to use one: any of this host', () => {
    expect(request).toEqual({ challenge: challengeText, rpId, timeout: 300_000, userVerification: 'required' })
  })
})

describe('registration', () => {
  test('keeps the id, the public key, the counter and the known transports', async () => {
    const { soft, passkey } = await makePasskey()
    expect(passkey).toEqual({
      id: soft.id,
      publicKey: expect.any(Buffer),
      counter: 1,
      transports: ['hybrid', 'internal'],
    })
    const strange = changed(soft.create(creation, origin), ({ response }) =>
      Object.assign(response, { transports: ['usb', '<b>', 7] }),
    )
    expect((await register(strange))?.transports).toEqual(['usb'])
    const silent = changed(soft.create(creation, origin), ({ response }) => void delete response.transports)
    expect((await register(silent))?.transports).toEqual([])
  })

  test('accepts self attestation with a valid signature', async () => {
    const soft = createSoftPasskey()
    expect((await register(soft.create(creation, origin, { attestation: 'self' })))?.id).toBe(soft.id)
    const statement = new Map<string, Cbor>(Object.entries({ alg: -7, sig: Buffer.alloc(70, 1) }))
    expect(await register(soft.create(creation, origin, { attestation: { fmt: 'packed', statement } }))).toBeNull()
  })

  test('does not accept attestation certificates, not even valid ones', async () => {
    const answer = createSoftPasskey().create(creation, origin, { attestation: 'certified' })
    const response = JSON.parse(answer) as RegistrationResponseJSON
    const sound = { response, expectedChallenge: challengeText, expectedOrigin: origin, supportedAlgorithmIDs: [-7] }
    expect((await verifyRegistrationResponse(sound)).verified, 'the case exists').toBe(true)
    expect(await register(answer)).toBeNull()
    for (const fmt of ['fido-u2f', 'tpm', 'apple', 'android-key', 'android-safetynet', 'x']) {
      const attestation = { fmt, statement: new Map([['x5c', [Buffer.alloc(10)]]]) }
      expect(await register(createSoftPasskey().create(creation, origin, { attestation }))).toBeNull()
    }
  })

  test('an attestation of another kind is refused before the library sees it', async () => {
    let asked = 0
    const ask = (attestation: { fmt: string; statement: Map<string, Cbor> } | 'none') =>
      verifyRegistration({
        answer: createSoftPasskey().create(creation, origin, { attestation }),
        origin,
        rpId,
        challengeOk: () => {
          asked += 1
          return true
        },
      })
    for (const fmt of ['android-safetynet', 'tpm', 'none ', 'packed2', '']) {
      expect(await ask({ fmt, statement: new Map([['ver', '1']]) })).toBeNull()
    }
    expect(asked).toBe(0)
    expect(await ask('none')).not.toBeNull()
    expect(asked, 'the library asks about the challenge').toBe(1)
  })

  test.each([
    ['of another site', { clientData: { origin: 'https://evil.service.example' } }],
    ['of the same host without encryption', { clientData: { origin: 'http://acme.service.example' } }],
    ['for another host', { rpId: 'service.example' }],
    ['to a request to use a passkey', { clientData: { type: 'webauthn.get' } }],
    [
      'to another challenge',
      { clientData: { challenge: createChallenge(keys, 'passkey:usr_2', NOW).toString('base64url') } },
    ],
    [
      'to an old challenge',
      { clientData: { challenge: createChallenge(keys, 'passkey:usr_1', NOW - 6 * MINUTES).toString('base64url') } },
    ],
    ['without anybody there', { userPresent: false }],
    ['without a finger or a PIN', { userVerified: false }],
    ['with an algorithm that was not offered', { algorithm: -65_535 }],
    ['in a frame', { clientData: { crossOrigin: true } }],
    ['in a frame of another site', { clientData: { crossOrigin: true, topOrigin: 'https://evil.example' } }],
    ['in a frame that hides', { clientData: { topOrigin: 'https://evil.example' } }],
  ])('refuses an answer %s', async (_name, wrongly) => {
    expect(await register(createSoftPasskey().create(creation, origin, wrongly))).toBeNull()
  })

  test('refuses an id that is not the passkey’s own, and one that is too long', async () => {
    const answer = createSoftPasskey().create(creation, origin)
    expect(await register(changed(answer, (parsed) => Object.assign(parsed, { id: 'AAAA', rawId: 'AAAA' })))).toBeNull()
    expect(await register(changed(answer, (parsed) => Object.assign(parsed, { rawId: 'AAAA' })))).toBeNull()
    expect(await register(changed(answer, (parsed) => Object.assign(parsed, { type: 'password' })))).toBeNull()
    expect(await register(createSoftPasskey({ idBytes: 1023 }).create(creation, origin))).not.toBeNull()
    expect(await register(createSoftPasskey({ idBytes: 1024 }).create(creation, origin))).toBeNull()
  })
})

describe('an assertion', () => {
  const assert = (passkey: PasskeyRecord, answer: string) =>
    verifyAssertion({ answer, origin, rpId, challengeOk, passkey })

  test('names its passkey and challenge, and is verified', async () => {
    const { soft, passkey } = await makePasskey()
    const answer = soft.get(request, origin)
    expect(assertionSubject(answer)).toEqual({ credentialId: soft.id, challenge: challengeText })
    expect(await assert(passkey, answer)).toEqual({ counter: 2 })
  })

  test('refuses any flipped bit of what the browser or the passkey said, and of the signature', async () => {
    const { soft, passkey } = await makePasskey()
    const answer = soft.get(request, origin)
    for (const field of ['clientDataJSON', 'authenticatorData', 'signature']) {
      for (const flipped of flips(answer, field)) expect(await assert(passkey, flipped)).toBeNull()
    }
  })

  test.each([
    ['of another site', { clientData: { origin: 'https://evil.service.example' } }],
    ['of the same host on another port', { clientData: { origin: 'https://acme.service.example:8443' } }],
    ['for another host', { rpId: 'service.example' }],
    ['to a request to make a passkey', { clientData: { type: 'webauthn.create' } }],
    [
      'to another challenge',
      { clientData: { challenge: createChallenge(keys, 'sign-in:acme', NOW).toString('base64url') } },
    ],
    ['without anybody there', { userPresent: false }],
    ['without a finger or a PIN', { userVerified: false }],
    ['in a frame', { clientData: { crossOrigin: true } }],
    ['in a frame of another site', { clientData: { crossOrigin: true, topOrigin: 'https://evil.example' } }],
    ['of a copy, whose counter fell behind', { counter: 1 }],
  ])('refuses an answer %s', async (_name, wrongly) => {
    const { soft, passkey } = await makePasskey()
    expect(await assert(passkey, soft.get(request, origin, wrongly))).toBeNull()
    expect(await assert(passkey, soft.get(request, origin))).not.toBeNull()
  })

  test('accepts a passkey without a counter, as synced ones are', async () => {
    const { soft, passkey } = await makePasskey({ counts: false })
    for (let time = 0; time < 2; time += 1)
      expect(await assert(passkey, soft.get(request, origin))).toEqual({ counter: 0 })
  })

  test('refuses the answer of one passkey for another, whatever id it names', async () => {
    const [ann, bob] = [await makePasskey(), await makePasskey()]
    const answer = ann.soft.get(request, origin)
    expect(await assert(bob.passkey, answer)).toBeNull()
    expect(
      await assert(
        bob.passkey,
        changed(answer, (parsed) => Object.assign(parsed, { id: bob.soft.id, rawId: bob.soft.id })),
      ),
    ).toBeNull()
    expect(
      await assert({ ...ann.passkey, id: bob.soft.id }, answer),
      'the id it names is not the one looked up',
    ).toBeNull()
    expect(await assert(ann.passkey, answer)).not.toBeNull()
  })

  test.each([
    ['whose challenge is no text', { clientData: { challenge: 7 } }],
    ['without a challenge', { clientData: { challenge: undefined } }],
    ['in a frame', { clientData: { crossOrigin: true } }],
    ['in a frame of another site', { clientData: { topOrigin: 'https://evil.example' } }],
    ['in a frame without a name', { clientData: { topOrigin: '' } }],
  ])('names nothing in an answer %s', (_name, wrongly) => {
    expect(assertionSubject(createSoftPasskey().get(request, origin, wrongly))).toBeNull()
  })

  test('names nothing in an answer with an empty id', () => {
    const answer = createSoftPasskey().get(request, origin)
    expect(assertionSubject(changed(answer, (parsed) => Object.assign(parsed, { id: '', rawId: '' })))).toBeNull()
  })

  test('refuses ambiguous encodings', async () => {
    const { soft, passkey } = await makePasskey()
    const answer = soft.get(request, origin)
    for (const extra of ['=', '==', '\n', ' ', '.', '*']) {
      const other = changed(answer, ({ response }) =>
        Object.assign(response, { clientDataJSON: response.clientDataJSON + extra }),
      )
      expect(await assert(passkey, other)).toBeNull()
      expect(assertionSubject(other)).toBeNull()
    }
  })
})

describe('hostile answers', () => {
  const { soft, registered } = {
    soft: createSoftPasskey(),
    registered: { id: 'AAAA', publicKey: Buffer.of(0xa0), counter: 0, transports: [] },
  }

  async function expectRefused(answer: string): Promise<void> {
    expect(assertionSubject(answer)).toBeNull()
    expect(await register(answer)).toBeNull()
    expect(await verifyAssertion({ answer, origin, rpId, challengeOk: () => true, passkey: registered })).toBeNull()
  }

  test.each([
    '',
    '{',
    'null',
    '7',
    '"x"',
    '[]',
    '{}',
    '{"id":"AAAA"}',
    '{"id":7,"response":{}}',
    '{"id":"AAAA","response":null}',
  ])('%s is refused without throwing', expectRefused)

  test('no JSON throws', async () => {
    await fc.assert(fc.asyncProperty(fc.json(), expectRefused), { numRuns: 200 })
  })

  test('no value of a field throws', async () => {
    const fields = 'id rawId type response clientDataJSON attestationObject authenticatorData signature'.split(' ')
    const answers = [soft.create(creation, origin), soft.get(request, origin)]
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...fields),
        fc.constantFrom(...answers),
        fc.jsonValue(),
        async (field, answer, value) => {
          const hostile = changed(answer, (parsed) =>
            Object.assign(field in parsed ? parsed : parsed.response, { [field]: value }),
          )
          assertionSubject(hostile)
          await register(hostile)
          await verifyAssertion({ answer: hostile, origin, rpId, challengeOk: () => true, passkey: registered })
        },
      ),
      { numRuns: 500 },
    )
  })

  test('no attestation bytes throw', async () => {
    const answer = soft.create(creation, origin)
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom(
        Buffer.alloc(3_000, 0x81),
        Buffer.alloc(3_000, 0xd8),
        Buffer.from('bb7fffffffffffffff', 'hex'),
        cbor(new Map([['fmt', 'none']])),
      ),
    )
    await fc.assert(
      fc.asyncProperty(bytes, async (attestation) => {
        const attestationObject = Buffer.from(attestation).toString('base64url')
        expect(
          await register(changed(answer, ({ response }) => Object.assign(response, { attestationObject }))),
        ).toBeNull()
      }),
      { numRuns: 300 },
    )
  })

  test('an answer of more than 8 KiB is not parsed', async () => {
    const { soft: own, passkey } = await makePasskey()
    const answer = own.get(request, origin)
    // Counted in bytes: é has two.
    const padded = (bytes: number) => `${answer.slice(0, -1)},"x":"éé${'x'.repeat(bytes - answer.length - 11)}"}`
    expect(Buffer.byteLength(padded(8_192))).toBe(8_192)
    expect(assertionSubject(padded(8_192))).not.toBeNull()
    expect(assertionSubject(padded(8_193))).toBeNull()
    expect(await verifyAssertion({ answer: padded(8_193), origin, rpId, challengeOk, passkey })).toBeNull()
    expect(await verifyAssertion({ answer: padded(8_192), origin, rpId, challengeOk, passkey })).not.toBeNull()
  })
})
