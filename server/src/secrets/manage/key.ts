/** Management keys: 256 random bits, stored only as a keyed hash, as application secrets are. */
import { randomBytes } from 'node:crypto'
import type { Keyset, SigningKey } from '../keyset.ts'
import { mac } from '../mac.ts'

const KEY = /^lkm_[A-Za-z0-9_-]{43}$/

export function createManagementKey(): string {
  return `lkm_${randomBytes(32).toString('base64url')}`
}

export type ManagementKeyDigest = { readonly keyId: number; readonly digest: Buffer }

/** The digest to store, under the signing key. */
export function digestManagementKey(keys: Keyset, text: string): ManagementKeyDigest {
  return digestWith(keys.signing, text)
}

/** The digests under every server key, of which the store knows at most one. Empty if the text is no management key. */
export function digestsOfManagementKey(keys: Keyset, text: string): readonly ManagementKeyDigest[] {
  return KEY.test(text) ? Array.from(keys.byId.values(), (key) => digestWith(key, text)) : []
}

function digestWith(key: SigningKey, text: string): ManagementKeyDigest {
  return { keyId: key.id, digest: mac(key.for['management-key'], Buffer.from(text)) }
}
