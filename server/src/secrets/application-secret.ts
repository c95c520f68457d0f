/**
 * Application secrets: 256 random bits, kept only as a keyed hash. A password hash would add nothing to that entropy and
 * would let anybody who knows an application id burn a core with polls (docs/decisions/0004-machine-secrets-are-keyed-hashes.md).
 */
import { randomBytes } from 'node:crypto'
import type { ApplicationSecret } from '../core/applications/application.ts'
import type { Keyset, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

const SECRET = /^lks_[A-Za-z0-9_-]{43}$/

export function createApplicationSecret(): string {
  return `lks_${randomBytes(32).toString('base64url')}`
}

/** Under the key that signs: what is stored of a new secret. */
export function digestApplicationSecret(keys: Keyset, secret: string): Buffer {
  return digestWith(keys.signing, secret)
}

/**
 * Which of an application's live secrets this is, or null. Takes the same steps for an unknown application (no secrets):
 * a digest is computed under every key of the set, so the answer's time does not tell which ids exist.
 */
export function matchApplicationSecret(
  keys: Keyset,
  live: readonly ApplicationSecret[],
  secret: string,
): ApplicationSecret | null {
  if (!SECRET.test(secret)) return null
  let found: ApplicationSecret | null = null
  for (const key of keys.byId.values()) {
    const digest = digestWith(key, secret)
    for (const candidate of live) {
      if (candidate.keyId === key.id && equalSecrets(digest, candidate.digest)) found = candidate
    }
  }
  return found
}

function digestWith(key: SigningKey, secret: string): Buffer {
  return mac(key.for['application-secret'], Buffer.from(secret))
}
