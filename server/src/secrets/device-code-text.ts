/**
 * Device code as the application holds it: `lkd_`, self-verifying, with everything a poll needs before a look-up. The
 * MAC covers the application id, so a code of another application fails like a forged one.
 */
import type { Variant } from '../core/device/code.ts'
import type { Keyset } from './keyset.ts'
import { createVerifiedCache } from './recent.ts'
import { type SignedText, sign, verify } from './signed-text.ts'

export type DeviceCodeText = {
  readonly id: string
  readonly applicationId: string
  readonly variant: Variant
  readonly expiresAt: number
  /** The interval that was returned with this code, regardless of later configuration. */
  readonly intervalSeconds: number
}

/**
 * id 16 | variant and interval 2 | expiry 6, bound to the application. Of the two bytes, the lowest bit of the first is
 * the variant and the other fifteen are the interval.
 */
const kind: SignedText = { prefix: 'lkd_', purpose: 'device-code', bodyBytes: 24, reserved: true }

const variants: readonly Variant[] = ['token_set', 'access_key']

export function signDeviceCode(keys: Keyset, code: DeviceCodeText): string {
  const body = Buffer.alloc(kind.bodyBytes)
  body.set(uuidBytes(code.id))
  body.writeUInt8(variants.indexOf(code.variant) | ((code.intervalSeconds >> 8) << 1), 16)
  body.writeUInt8(code.intervalSeconds & 255, 17)
  body.writeUIntBE(code.expiresAt, 18, 6)
  return sign(kind, keys.signing, body, code.applicationId)
}

export function verifyDeviceCode(keys: Keyset, text: string, applicationId: string): DeviceCodeText | null {
  const body = verify(kind, keys, text, applicationId)
  if (!body) return null
  return {
    id: uuidFrom(body.subarray(0, 16)),
    applicationId,
    variant: variants[body.readUInt8(16) & 1] ?? 'token_set',
    intervalSeconds: ((body.readUInt8(16) >> 1) << 8) | body.readUInt8(17),
    expiresAt: body.readUIntBE(18, 6),
  }
}

/**
 * Cache size per process: some fifty thousand devices that poll every few seconds; about 15 MB.
 * docs/decisions/0005-hmac-of-the-platform-with-prepared-keys.md
 */
const CACHE_SIZE = 25_000

export type DeviceCodeVerifier = (text: string, applicationId: string) => DeviceCodeText | null

/** `verifyDeviceCode` with a cache. Forged codes are never cached. */
export function createDeviceCodeVerifier(keys: Keyset): DeviceCodeVerifier {
  const cache = createVerifiedCache<DeviceCodeText>(CACHE_SIZE, keys)
  return (text, applicationId) => {
    const known = cache.get(text)
    if (known?.applicationId === applicationId) return known
    const verified = verifyDeviceCode(keys, text, applicationId)
    if (verified) cache.set(text, verified)
    return verified
  }
}

/** Spelled as PostgreSQL prints a uuid, so that an id is the same string everywhere. */
export function uuidFrom(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export function uuidBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}
