/**
 * User code of a device code: computed from its id with a server key, so that no table contains it
 * (docs/history.md#0042). A typed code is found by its keyed digest.
 */
import { checkDigit } from '../core/device/user-code.ts'
import { uuidBytes } from './device-code-text.ts'
import type { Keyset, SigningKey } from './keyset.ts'
import { mac } from './mac.ts'

/** With 128 bits, the remainder is uniform even for the longest code: the bias is below one in 10^24. */
const NUMBER_BYTES = 16

export function computeUserCode(key: SigningKey, deviceCodeId: string, randomDigits: number): string {
  const hex = mac(key.for['user-code'], uuidBytes(deviceCodeId)).toString('hex', 0, NUMBER_BYTES)
  const digits = (BigInt(`0x${hex}`) % 10n ** BigInt(randomDigits)).toString().padStart(randomDigits, '0')
  return digits + checkDigit(digits)
}

/** What a row has instead of its user code. */
export type StoredUserCode = {
  readonly id: string
  readonly keyId: number
  /** Length of the user code, with its check digit. */
  readonly userCodeDigits: number
}

/** Null if the key is retired: the device code is not accepted any more either. */
export function userCodeOf(keys: Keyset, { id, keyId, userCodeDigits }: StoredUserCode): string | null {
  const key = keys.byId.get(keyId)
  return key ? computeUserCode(key, id, userCodeDigits - 1) : null
}

const DIGEST_BYTES = 16

/**
 * Digests of a user code under every key, the one that signs first: a live code may have been made with an older key,
 * or with a newer one by a process that was restarted before this one.
 */
export function digestUserCode(keys: Keyset, userCode: string): readonly Buffer[] {
  const message = Buffer.from(userCode)
  return Array.from(keys.byId.values(), (key) => mac(key.for['user-code-digest'], message).subarray(0, DIGEST_BYTES))
}
