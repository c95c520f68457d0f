/**
 * Passkeys (WebAuthn level 3): options for the browser, and verification of its responses. Responses are untrusted: the
 * exported functions return null instead of throwing.
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

/** Imported on first use: three hundred files that no command of the command line needs. */
const webAuthn = () => import('@simplewebauthn/server')

/** random 16 | expiry 6, bound to the purpose of the challenge. */
const challengeFormat: SignedText = { prefix: '', purpose: 'challenge', bodyBytes: 22 }

/** Also the timeout of the browser's prompt. */
const CHALLENGE_MS = 5 * 60 * 1000

/** `bound` names the purpose and the user or account: a response to another challenge is not accepted. */
export function createChallenge(keys: Keyset, bound: string, now: number): Buffer {
  const expiry = Buffer.alloc(6)
  expiry.writeUIntBE(Math.floor(now) + CHALLENGE_MS, 0, 6)
  return Buffer.from(sign(challengeFormat, keys.signing, Buffer.concat([randomBytes(16), expiry]), bound), 'base64url')
}

/** `digest` is stored until `expiresAt`, so that a challenge is accepted once. */
export type VerifiedChallenge = { readonly digest: Buffer; readonly expiresAt: number }

export function verifyChallenge(keys: Keyset, challenge: string, bound: string, now: number): VerifiedChallenge | null {
  const body = verify(challengeFormat, keys, challenge, bound)
  const expiresAt = body?.readUIntBE(16, 6) ?? 0
  return now < expiresAt ? { digest: hash('sha256', challenge, 'buffer'), expiresAt } : null
}

/** Identifies a passkey to the browser. */
export type PasskeyReference = { readonly id: string; readonly transports: readonly string[] }

/** Options of navigator.credentials.get. They name no passkey, so the browser offers all that it has for this host. */
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

/** EdDSA, ES256, RS256. Not the library's list, which depends on the version of Node. */
const ALGORITHMS = [-8, -7, -257]

/** Options of navigator.credentials.create: discoverable, with user verification, without attestation. */
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

/** `challengeOk` decides which challenges are accepted. */
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
    // The library takes the id from the authenticator data and does not compare it with the id in the response.
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
    // The library verifies with the given key, whichever passkey the response names.
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

/** The passkey and challenge that the response names, for the look-up. Not verified yet. */
export function assertionSubject(answer: string): { readonly credentialId: string; readonly challenge: string } | null {
  try {
    const { id, response } = readAnswer(answer)
    return { credentialId: id, challenge: clientDataOf(response).challenge }
  } catch {
    return null
  }
}

/** A response without attestation has one or two KiB. */
const MAX_ANSWER_BYTES = 8 * 1024

type Answer = { readonly id: string; readonly response: { readonly clientDataJSON: string } }

/** Throws on anything that a browser does not send. */
function readAnswer(text: string): Answer {
  if (Buffer.byteLength(text) > MAX_ANSWER_BYTES) throw new RangeError('the answer is too long')
  const answer = JSON.parse(text) as Answer
  if (decoded(answer.id).length === 0) throw new TypeError('there is no id')
  const { challenge, crossOrigin, topOrigin } = clientDataOf(answer.response)
  if (typeof challenge !== 'string') throw new TypeError('the challenge is no text')
  // Our pages are never framed. The library accepts a framed response that does not name the framing origin.
  if (crossOrigin || topOrigin !== undefined) throw new TypeError('the answer was given in a frame')
  return answer
}

function clientDataOf(response: Answer['response']): { challenge: string; crossOrigin?: unknown; topOrigin?: unknown } {
  return JSON.parse(decoded(response.clientDataJSON).toString())
}

/**
 * Accepts no attestation or self attestation; nothing else was requested. For other formats the library would fetch
 * URLs from certificates in the untrusted response.
 */
async function isPlainAttestation(attestationObject: string): Promise<boolean> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const attestation = decodeAttestationObject(Uint8Array.from(decoded(attestationObject)))
  const fmt = attestation.get('fmt')
  return fmt === 'none' || (fmt === 'packed' && attestation.get('attStmt').get('x5c') === undefined)
}

/** Canonical base64url only, so that the library cannot decode it differently. */
function decoded(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) throw new TypeError('the text is no base64url')
  return bytes
}
