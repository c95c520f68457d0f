/**
 * Signed texts of the web interface: session cookie, mailed link, half-finished sign-in, sign-in at the host service, known
 * browser, code under decision, signed form. Like credentials, they are computed and never stored (secrets/credentials.ts).
 */
import { hash, randomUUID } from 'node:crypto'
import { uuidBytes, uuidFrom } from './device-code-text.ts'
import type { Keyset, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'
import { keyIdOf, type SignedText, sign, verify } from './signed-text.ts'

/** session id 16, bound to the account's slug: at another account the cookie fails like a forged one. */
const session: SignedText = { prefix: 'lkw_', purpose: 'session', bodyBytes: 16 }
/** link id 16, bound to the account's slug. */
const link: SignedText = { prefix: 'lkl_', purpose: 'link', bodyBytes: 16 }
/** browser id 16, bound to the user who signed in with it. */
const browser: SignedText = { prefix: 'lkb_', purpose: 'browser', bodyBytes: 16 }
/** user id 16 | time 6 | mark of the password 8, bound to the account's slug and to the browser. */
const secondStep: SignedText = { prefix: '', purpose: 'second-step', bodyBytes: 30 }
/** random 16 | time 6 | maximum age 4, bound to the account's slug and to the browser. */
const challenge: SignedText = { prefix: '', purpose: 'hand-over', bodyBytes: 26 }
/** device code id 16 | expiry 6, bound to the user who entered the code. */
const decision: SignedText = { prefix: '', purpose: 'decision', bodyBytes: 22 }

export function signSession(keys: Keyset, id: string, slug: string): string {
  return sign(session, keys.signing, uuidBytes(id), slug)
}

export function verifySession(keys: Keyset, text: string, slug: string): string | null {
  return uuidOrNull(verify(session, keys, text, slug))
}

/** Whether another key signs now than the one that signed this verified cookie. */
export function isOutdatedSession(keys: Keyset, text: string): boolean {
  return keyIdOf(session, text) !== keys.signing.id
}

export function signLink(keys: Keyset, id: string, slug: string): string {
  return sign(link, keys.signing, uuidBytes(id), slug)
}

export function verifyLink(keys: Keyset, text: string, slug: string): string | null {
  return uuidOrNull(verify(link, keys, text, slug))
}

export function signBrowser(keys: Keyset, id: string, userId: string): string {
  return sign(browser, keys.signing, uuidBytes(id), userId)
}

export function verifyBrowser(keys: Keyset, text: string, userId: string): string | null {
  return uuidOrNull(verify(browser, keys, text, userId))
}

/** Sign-in with a verified password that still needs the second factor. */
export type SecondStep = {
  readonly userId: string
  readonly at: number
  /** Identifies the verified password: a change of password invalidates the step. */
  readonly passwordMark: string
}

export function signSecondStep(keys: Keyset, step: SecondStep, slug: string, browserMark: string): string {
  const parts = [Buffer.from(step.userId), timeBytes(step.at), Buffer.from(step.passwordMark, 'hex')]
  return sign(secondStep, keys.signing, Buffer.concat(parts), `${slug}\n${browserMark}`)
}

export function verifySecondStep(
  keys: Keyset,
  text: string,
  slug: string,
  browserMark: string,
): (SecondStep & { readonly digest: Buffer }) | null {
  const body = verify(secondStep, keys, text, `${slug}\n${browserMark}`)
  if (!body) return null
  const [userId, passwordMark] = [body.subarray(0, 16).toString(), body.subarray(22).toString('hex')]
  return { userId, at: body.readUIntBE(16, 6), passwordMark, digest: hash('sha256', text, 'buffer') }
}

/** Distinguishes the digests of two passwords, and reveals nothing else. */
export function markPassword(digest: string): string {
  return hash('sha256', digest, 'hex').slice(0, 16)
}

/** Sent to the host service, which returns it in its statement. */
export type Challenge = {
  readonly at: number
  /** How old the sign-in there may be; null: any age. */
  readonly maxAgeSeconds: number | null
}

const ANY_AGE = 0xff_ff_ff_ff

export function signChallenge(
  keys: Keyset,
  { at, maxAgeSeconds }: Challenge,
  slug: string,
  browserMark: string,
): string {
  const age = Buffer.alloc(4)
  age.writeUInt32BE(maxAgeSeconds ?? ANY_AGE)
  return sign(
    challenge,
    keys.signing,
    Buffer.concat([uuidBytes(randomUUID()), timeBytes(at), age]),
    `${slug}\n${browserMark}`,
  )
}

export function verifyChallenge(keys: Keyset, text: string, slug: string, browserMark: string): Challenge | null {
  const body = verify(challenge, keys, text, `${slug}\n${browserMark}`)
  if (!body) return null
  const age = body.readUInt32BE(22)
  return { at: body.readUIntBE(16, 6), maxAgeSeconds: age === ANY_AGE ? null : age }
}

export type DecisionReference = { readonly id: string; readonly expiresAt: number }

export function signDecision(keys: Keyset, place: DecisionReference, userId: string): string {
  return sign(decision, keys.signing, Buffer.concat([uuidBytes(place.id), timeBytes(place.expiresAt)]), userId)
}

export function verifyDecision(keys: Keyset, text: string, userId: string): DecisionReference | null {
  const body = verify(decision, keys, text, userId)
  return body && { id: uuidFrom(body.subarray(0, 16)), expiresAt: body.readUIntBE(16, 6) }
}

/**
 * The user and session of a form. Uses the session's start, not its id, which changes when the user reauthenticates.
 */
export type FormHolder = { readonly userId: string; readonly sessionCreatedAt: number }

/** Binds a form to the session it was shown in, its action, and the values that must come back unchanged. */
export function signForm(
  keys: Keyset,
  holder: FormHolder,
  action: string,
  bound: Readonly<Record<string, string>>,
): string {
  return formTag(keys, keys.signing.id, holder, action, bound)
}

export function isSignedForm(
  keys: Keyset,
  holder: FormHolder,
  action: string,
  bound: Readonly<Record<string, string>>,
  token: string,
): boolean {
  const keyId = Number(token.split('.', 1)[0])
  return (
    keys.byId.has(keyId) && equalSecrets(Buffer.from(formTag(keys, keyId, holder, action, bound)), Buffer.from(token))
  )
}

function formTag(
  keys: Keyset,
  keyId: number,
  { userId, sessionCreatedAt }: FormHolder,
  action: string,
  bound: Readonly<Record<string, string>>,
): string {
  const values = Object.entries(bound).sort(([a], [b]) => (a < b ? -1 : 1))
  const content = hash('sha256', JSON.stringify([userId, sessionCreatedAt, action, values]), 'buffer')
  const key = keys.byId.get(keyId) ?? keys.signing
  return `${keyId}.${mac(key.for.form, content).subarray(0, 16).toString('base64url')}`
}

/**
 * Key for counting failed sign-ins: does not contain the e-mail address, and is computed alike whether it exists or
 * not.
 */
export function digestAddress(keys: Keyset, accountId: string, email: string): Buffer {
  return mac(keys.signing.for.address, hash('sha256', JSON.stringify([accountId, email]), 'buffer'))
}

/** The same for second steps. Hashes three values instead of two, so it never equals the key of an e-mail address. */
export function digestSecondStep(keys: Keyset, accountId: string, userId: string): Buffer {
  return mac(keys.signing.for.address, hash('sha256', JSON.stringify(['second step', accountId, userId]), 'buffer'))
}

/**
 * The person as whom a user signed in (core/sign-in/person.ts), for sessions and device codes, which do not need to contain an
 * e-mail address. Another text than `digestAddress` hashes: there, the id of an account is the first value.
 */
export function digestPerson(keys: Keyset, person: string): string {
  return personDigest(keys.signing, person)
}

/** Under any key: the digest may be older than the key that signs now. */
export function isPerson({ byId }: Keyset, digest: string | null, person: string): boolean {
  return [...byId.values()].some((key) => personDigest(key, person) === digest)
}

function personDigest(key: SigningKey, person: string): string {
  return mac(key.for.address, hash('sha256', JSON.stringify(['person', person]), 'buffer')).toString('hex')
}

function timeBytes(ms: number): Buffer {
  const bytes = Buffer.alloc(6)
  bytes.writeUIntBE(ms, 0, 6)
  return bytes
}

function uuidOrNull(body: Buffer | null): string | null {
  return body && uuidFrom(body)
}
