/**
 * TOTP second factor (RFC 6238: SHA-1, six digits, thirty seconds, as every authenticator app supports it). Its secret
 * is not stored: it is computed from the authenticator's id under a server key.
 */
import { HOTP, Secret, TOTP } from 'otpauth'
import { asciiDigit } from '../core/device/user-code.ts'
import { MAX_TYPED_CODE, nfkc } from '../core/nfkc.ts'
import { uuidBytes, uuidFrom } from './device-code-text.ts'
import type { Keyset } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'
import { type SignedText, sign, verify } from './signed-text.ts'

/** Length of SHA-1's output (RFC 4226, section 4, R6). */
const SECRET_BYTES = 20
const STEP_MS = 30_000

export type AuthenticatorReference = { readonly id: string; readonly keyId: number }

/** Null when its key was removed from LATCHKEY_KEYS: everything made with that key is invalid. */
export function authenticatorSecret(keys: Keyset, { id, keyId }: AuthenticatorReference): Buffer | null {
  const key = keys.byId.get(keyId)
  return key ? mac(key.for.authenticator, uuidBytes(id)).subarray(0, SECRET_BYTES) : null
}

/** Content of the QR code. Apps split account and user at a colon, so the account's name must not contain one. */
export function authenticatorUri(secret: Buffer, accountName: string, email: string): string {
  const issuer = accountName.replaceAll(':', ' ')
  return new TOTP({ secret: otpSecret(secret), issuer, label: email }).toString()
}

/** For manual entry: base32 in groups of four. */
export function secretText(secret: Buffer): string {
  return otpSecret(secret).base32.replace(/.{4}(?=.)/g, '$& ')
}

/**
 * The time step of the code, or null. The code of the step before is accepted, for slow typing, and no other (ASVS 5,
 * 6.5.5). A step that is not after `lastStep` is rejected, because a code works once (RFC 6238, section 5.2).
 */
export function checkAuthenticatorCode(secret: Buffer, typed: string, now: number, lastStep: number): number | null {
  const code = Buffer.from(readDigits(typed))
  const current = Math.floor(now / STEP_MS)
  let accepted: number | null = null
  for (const counter of [current - 1, current]) {
    const right = Buffer.from(HOTP.generate({ secret: otpSecret(secret), counter }))
    if (equalSecrets(code, right) && counter > lastStep) accepted = counter
  }
  return accepted
}

/** Apps show codes in groups, and keyboards of other scripts have their own digits. */
function readDigits(typed: string): string {
  const compact = nfkc(typed, MAX_TYPED_CODE).replace(/[\s\p{Pd}\p{Cf}]/gu, '')
  return Array.from(compact, (character) => asciiDigit(character) ?? character).join('')
}

/** id 16 | key id 1, bound to the user who sets it up. */
const setup: SignedText = { prefix: '', purpose: 'authenticator-setup', bodyBytes: 17 }

/**
 * Reference to an authenticator during setup. It is stored only after its first valid code; until then the form carries
 * it.
 */
export function signSetup(keys: Keyset, { id, keyId, userId }: AuthenticatorReference & { userId: string }): string {
  return sign(setup, keys.signing, Buffer.concat([uuidBytes(id), Buffer.of(keyId)]), userId)
}

export function verifySetup(keys: Keyset, text: string, userId: string): AuthenticatorReference | null {
  const body = verify(setup, keys, text, userId)
  return body && { id: uuidFrom(body.subarray(0, 16)), keyId: body.readUInt8(16) }
}

/** Copies: the library keeps the whole ArrayBuffer behind the given bytes. */
function otpSecret(secret: Buffer): Secret {
  return new Secret({ buffer: Uint8Array.from(secret).buffer })
}
