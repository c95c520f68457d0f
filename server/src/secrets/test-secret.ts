/**
 * Test secrets: 256 random bits that decide codes in test mode. Stored as a keyed hash, as application secrets are, under
 * a sub-key of their own: neither can stand in for the other.
 */
import { randomBytes } from 'node:crypto'
import type { TestSecretDigest } from '../core/applications/test-mode.ts'
import type { Keyset } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

const SECRET = /^lkt_[A-Za-z0-9_-]{43}$/

export function createTestSecret(): string {
  return `lkt_${randomBytes(32).toString('base64url')}`
}

/** The stored digest of a new secret, under the signing key. */
export function digestTestSecret({ signing }: Keyset, secret: string): TestSecretDigest {
  return { keyId: signing.id, digest: mac(signing.for['test-secret'], Buffer.from(secret)) }
}

/** Takes the same steps without a stored digest, so that the response time does not reveal that test mode is off. */
export function isTestSecret(keys: Keyset, stored: TestSecretDigest | null, secret: string): boolean {
  if (!SECRET.test(secret)) return false
  const key = stored ? keys.byId.get(stored.keyId) : keys.signing
  const digest = mac((key ?? keys.signing).for['test-secret'], Buffer.from(secret))
  return equalSecrets(digest, stored?.digest ?? NO_DIGEST) && stored !== null && key !== undefined
}

const NO_DIGEST = Buffer.alloc(32)
