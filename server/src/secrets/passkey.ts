/**
 * Passkeys (WebAuthn level 3): what a browser is asked, and whether its answer is genuine. Answers come from strangers:
 * whatever is in them, nothing here throws.
 */
import { hash, randomBytes } from 'node:crypto'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { Keyset } from './keyset.ts'
import { type SignedText, sign, verify } from './signed-text.ts'

/** Loaded by the first passkey: three hundred files that no command of the command line needs. */
const webAuthn = () => import('@simplewebauthn/server')

/** random 16 | expiry 6, bound to what the challenge is for. */
const challengeFormat: SignedText = { prefix: '', purpose: 'challenge', bodyBytes: 22 }

/** As long as a browser keeps asking. */
const CHALLENGE_MS = 5 * 60 * 1000

/** `bound` says what it is for, and for whom: an answer given elsewhere is worth nothing here. */
export function createChallenge(keys: Keyset, bound: string, now: number): Buffer {
  const expiry = Buffer.alloc(6)
  expiry.writeUIntBE(Math.floor(now) + CHALLENGE_MS, 0, 6)
  return Buffer.from(sign(challengeFormat, keys.signing, Buffer.concat([randomBytes(16), expiry]), bound), 'base64url')
}

/** `digest` is what to remember until `expiresAt`, so that the challenge is answered once. */
export type VerifiedChallenge = { readonly digest: Buffer; readonly expiresAt: number }

export function verifyChallenge(keys: Keyset, challenge: string, bound: string, now: number): VerifiedChallenge | null {
  const body = verify(challengeFormat, keys, challenge, bound)
  const expiresAt = body?.readUIntBE(16, 6) ?? 0
  return now < expiresAt ? { digest: hash('sha256', challenge, 'buffer'), expiresAt } : null
}

/** A passkey by which the browser may find it. */
export type PasskeyReference = { readonly id: string; readonly transports: readonly string[] }

/** For navigator.credentials.get. It names no passkey, so the browser offers every one that it has for this host. */
export function requestOptions(given: {
  readonly rpId: string
  readonly challenge: Buffer
}): PublicKeyCredentialRequestOptionsJSON {
  return {
    challenge: given.challenge.toString('base64url'),
    rpId: given.rpId,
    timeout: CHALLENGE_MS,
    userVerification: 'required',
  }
}

/** EdDSA, ES256, RS256. Not the library's own list, which depends on the Node that it happens to run on. */
const ALGORITHMS = [-8, -7, -257]

/** For navigator.credentials.create: discoverable, with a finger or a PIN, and no question about who built the device. */
export function creationOptions(given: {
  readonly rpId: string
  readonly rpName: string
  readonly userId: string
  readonly email: string
  readonly challenge: Buffer
  readonly exclude: readonly PasskeyReference[]
}): PublicKeyCredentialCreationOptionsJSON {
  return {
    challenge: given.challenge.toString('base64url'),
    rp: { id: given.rpId, name: given.rpName },
    user: { id: Buffer.from(given.userId).toString('base64url'), name: given.email, displayName: given.email },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ alg, type: 'public-key' })),
    timeout: CHALLENGE_MS,
    attestation: 'none',
    excludeCredentials: given.exclude.map(descriptor),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
  }
}

function descriptor({ id, transports }: PasskeyReference) {
  return { id, type: 'public-key' as const, transports: [...transports] }
}

export type PasskeyRecord = PasskeyReference & { readonly publicKey: Buffer; readonly counter: number }

/** Which challenges count is for the caller to say; what it says of the browser's has to be true. */
type Expected = { readonly origin: string; readonly rpId: string; readonly challengeOk: (challenge: string) => boolean }

const TRANSPORTS = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb']

/** WebAuthn, section 4, "Credential ID": at most 1023 bytes. */
const MAX_ID_BYTES = 1023

export async function verifyRegistration(given: Expected & { readonly answer: string }): Promise<PasskeyRecord | null> {
  try {
    const response = readAnswer(given.answer) as RegistrationResponseJSON
    if (!(await isPlainAttestation(response.response.attestationObject))) return null
    const { verifyRegistrationResponse } = await webAuthn()
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge: given.challengeOk,
      expectedOrigin: given.origin,
      expectedRPID: given.rpId,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    })
    if (!verified) return null
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential
    // The library takes the id from the authenticator's own data and does not look whether the answer names the same one.
    if (id !== response.id || Buffer.byteLength(id, 'base64url') > MAX_ID_BYTES) return null
    return {
      id,
      publicKey: Buffer.from(publicKey),
      counter,
      transports: TRANSPORTS.filter((each) => transports.includes(each)),
    }
  } catch {
    return null
  }
}

export async function verifyAssertion(
  given: Expected & { readonly answer: string; readonly passkey: PasskeyRecord },
): Promise<{ readonly counter: number } | null> {
  try {
    const response = readAnswer(given.answer) as AuthenticationResponseJSON
    // The library verifies with the key that it is given, whichever passkey the answer names.
    if (response.id !== given.passkey.id) return null
    const { verifyAuthenticationResponse } = await webAuthn()
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: given.challengeOk,
      expectedOrigin: given.origin,
      expectedRPID: given.rpId,
      requireUserVerification: true,
      credential: { ...given.passkey, publicKey: Uint8Array.from(given.passkey.publicKey), transports: [] },
    })
    return verified ? { counter: authenticationInfo.newCounter } : null
  } catch {
    return null
  }
}

/** Which passkey answers which challenge, by its own account: to know what to look up. Nothing is verified yet. */
export function assertionSubject(answer: string): { readonly credentialId: string; readonly challenge: string } | null {
  try {
    const { id, response } = readAnswer(answer)
    return { credentialId: id, challenge: clientDataOf(response).challenge }
  } catch {
    return null
  }
}

/** An answer without attestation has one or two KiB. */
const MAX_ANSWER_BYTES = 8 * 1024

type Answer = { readonly id: string; readonly response: { readonly clientDataJSON: string } }

/** Throws for everything that no browser sends. */
function readAnswer(text: string): Answer {
  if (Buffer.byteLength(text) > MAX_ANSWER_BYTES) throw new RangeError('the answer is too long')
  const answer = JSON.parse(text) as Answer
  if (decoded(answer.id).length === 0) throw new TypeError('there is no id')
  const { challenge, crossOrigin, topOrigin } = clientDataOf(answer.response)
  if (typeof challenge !== 'string') throw new TypeError('the challenge is no text')
  // Our pages are never framed. The library lets a framed answer pass that does not say by whom.
  if (crossOrigin || topOrigin !== undefined) throw new TypeError('the answer was given in a frame')
  return answer
}

function clientDataOf(response: Answer['response']): { challenge: string; crossOrigin?: unknown; topOrigin?: unknown } {
  return JSON.parse(decoded(response.clientDataJSON).toString())
}

/**
 * None at all, or the passkey's own signature. Nothing else was asked for; the library would follow certificates that a
 * stranger sent, to addresses that are written in them.
 */
async function isPlainAttestation(attestationObject: string): Promise<boolean> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const attestation = decodeAttestationObject(Uint8Array.from(decoded(attestationObject)))
  const fmt = attestation.get('fmt')
  return fmt === 'none' || (fmt === 'packed' && attestation.get('attStmt').get('x5c') === undefined)
}

/** One spelling only, so that the library cannot read another one than we do. */
function decoded(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) throw new TypeError('the text is no base64url')
  return bytes
}
