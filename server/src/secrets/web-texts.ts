/**
 * The texts of the web interface that verify themselves: session cookie, mailed link, half-finished sign-in, known browser,
 * code under decision, signed form. Like credentials, they are computed and never stored (secrets/credentials.ts).
 */
import { hash } from 'node:crypto'
import { uuidBytes, uuidFrom } from './device-code-text.ts'
import type { Keyset } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'
import { type SignedText, sign, verify } from './signed-text.ts'

/** session id 16, bound to the account's slug: a cookie that was carried to another account is as good as forged. */
const session: SignedText = { prefix: 'lkw_', purpose: 'session', bodyBytes: 16 }
/** link id 16, bound to the account's slug. */
const link: SignedText = { prefix: 'lkl_', purpose: 'link', bodyBytes: 16 }
/** browser id 16, bound to the user who signed in with it. */
const browser: SignedText = { prefix: 'lkb_', purpose: 'browser', bodyBytes: 16 }
/** user id 16 | moment 6 | mark of the password 8, bound to the account's slug. */
const secondStep: SignedText = { prefix: '', purpose: 'second-step', bodyBytes: 30 }
/** device code id 16 | expiry 6, bound to the user who entered the code. */
const decision: SignedText = { prefix: '', purpose: 'decision', bodyBytes: 22 }

export function signSession(keys: Keyset, id: string, slug: string): string {
  return sign(session, keys.signing, uuidBytes(id), slug)
}

export function verifySession(keys: Keyset, text: string, slug: string): string | null {
  return uuidOrNull(verify(session, keys, text, slug))
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

/** The password was right; the second factor is still to come. */
export type SecondStep = {
  readonly userId: string
  readonly at: number
  /** Which password it was: once it is changed, the step leads nowhere. */
  readonly passwordMark: string
}

export function signSecondStep(keys: Keyset, step: SecondStep, slug: string): string {
  const parts = [Buffer.from(step.userId), moment(step.at), Buffer.from(step.passwordMark, 'hex')]
  return sign(secondStep, keys.signing, Buffer.concat(parts), slug)
}

export function verifySecondStep(keys: Keyset, text: string, slug: string): SecondStep | null {
  const body = verify(secondStep, keys, text, slug)
  if (!body) return null
  const [userId, passwordMark] = [body.subarray(0, 16).toString(), body.subarray(22).toString('hex')]
  return { userId, at: body.readUIntBE(16, 6), passwordMark }
}

/** Tells one password's digest from another's, and nothing else about it. */
export function markPassword(digest: string): string {
  return hash('sha256', digest, 'hex').slice(0, 16)
}

export type DecisionReference = { readonly id: string; readonly expiresAt: number }

export function signDecision(keys: Keyset, place: DecisionReference, userId: string): string {
  return sign(decision, keys.signing, Buffer.concat([uuidBytes(place.id), moment(place.expiresAt)]), userId)
}

export function verifyDecision(keys: Keyset, text: string, userId: string): DecisionReference | null {
  const body = verify(decision, keys, text, userId)
  return body && { id: uuidFrom(body.subarray(0, 16)), expiresAt: body.readUIntBE(16, 6) }
}

/** Who a form was made for. The session's beginning, not its id, because that changes when the user proves themselves anew. */
export type FormHolder = { readonly userId: string; readonly sessionCreatedAt: number }

/** Ties a form to the session it was shown in, its action, and the values that must come back as they were shown. */
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

/** What counts failed sign-ins: not the address itself, and equal for addresses that exist and those that do not. */
export function digestAddress(keys: Keyset, accountId: string, email: string): Buffer {
  return mac(keys.signing.for.address, hash('sha256', JSON.stringify([accountId, email]), 'buffer'))
}

function moment(ms: number): Buffer {
  const bytes = Buffer.alloc(6)
  bytes.writeUIntBE(ms, 0, 6)
  return bytes
}

function uuidOrNull(body: Buffer | null): string | null {
  return body && uuidFrom(body)
}
