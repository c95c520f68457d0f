/**
 * Recovery codes: each replaces a lost passkey or authenticator once, together with the password. Stored only as keyed
 * digests; 50 random bits, and guesses are counted like those of authenticator codes.
 */
import { asciiDigit } from '../core/device/user-code.ts'
import { MAX_TYPED_CODE, nfkc } from '../core/nfkc.ts'
import type { Keyset, SigningKey } from './keyset.ts'
import { mac } from './mac.ts'
import { randomText } from './random.ts'

const CODES = 10

/** As shown: `k3v9m-2x7q4`. */
export function createRecoveryCodes(): readonly string[] {
  return Array.from({ length: CODES }, () => `${randomText(5)}-${randomText(5)}`)
}

/** The digest to store, under the signing key. */
export function digestRecoveryCode(keys: Keyset, userId: string, code: string): Buffer {
  return digestWith(keys.signing, userId, readCode(code))
}

/** The digests that a typed code may have, one for each key; none if it does not have the form of a code. */
export function recoveryCodeDigests(keys: Keyset, userId: string, typed: string): readonly Buffer[] {
  const code = readCode(typed)
  if (!/^[0-9a-hjkmnp-tv-z]{10}$/.test(code)) return []
  return Array.from(keys.byId.values(), (key) => digestWith(key, userId, code))
}

function digestWith(key: SigningKey, userId: string, code: string): Buffer {
  return mac(key.for['recovery-code'], Buffer.from(`${userId} ${code}`))
}

/** Any case, spaces and dashes, other scripts' digits; o is read as 0, i and l as 1, which the codes do not contain. */
function readCode(typed: string): string {
  const compact = nfkc(typed, MAX_TYPED_CODE)
    .replace(/[\s\p{Pd}\p{Cf}]/gu, '')
    .toLowerCase()
  const digits = Array.from(compact, (character) => asciiDigit(character) ?? character).join('')
  return digits.replaceAll('o', '0').replace(/[il]/g, '1')
}
