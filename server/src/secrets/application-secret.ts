/**
 * Application secrets: 256 random bits, stored only as a keyed hash. A password hash would add nothing to that entropy,
 * and would let anyone who knows an application id occupy a core with polls
 * (docs/decisions/0004-machine-secrets-are-keyed-hashes.md).
 */
import { randomBytes } from 'node:crypto'
import type { ApplicationSecret } from '../core/applications/application.ts'
import type { Keyset, SigningKey } from './keyset.ts'
import { equalSecrets, mac } from './mac.ts'

const SECRET = /^lks_[A-Za-z0-9_-]{43}$/

export function createApplicationSecret(): string {
  return `lks_${randomBytes(32).toString('base64url')}`
}

/** The digest to store, under the signing key. */
export function digestApplicationSecret(keys: Keyset, secret: string): Buffer {
  return digestWith(keys.signing, secret)
}

/** Compared for an application without secrets. No secret has this digest. */
const NO_DIGEST = Buffer.alloc(32)

/**
 * The live secret that matches, or null. Takes the same steps for an unknown application (no secrets): a digest is
 * computed under every key and compared once, so the response time does not reveal which ids exist.
 */
export function matchApplicationSecret(
  keys: Keyset,
  live: readonly ApplicationSecret[],
  secret: string,
): ApplicationSecret | null {
  if (!SECRET.test(secret)) return null
  const candidates = live.length > 0 ? live : [{ id: '', keyId: keys.signing.id, digest: NO_DIGEST }]
  let found: ApplicationSecret | null = null
  for (const key of keys.byId.values()) {
    const digest = digestWith(key, secret)
    for (const candidate of candidates) {
      if (candidate.keyId === key.id && equalSecrets(digest, candidate.digest)) found = candidate
    }
  }
  return found
}

function digestWith(key: SigningKey, secret: string): Buffer {
  return mac(key.for['application-secret'], Buffer.from(secret))
}
