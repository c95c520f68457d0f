/**
 * Access tokens, refresh tokens and access keys: signing and verification. They are computed from a grant's secret and
 * never stored: the same grant and generation always yield the same text, so issuing it twice is harmless. They do not
 * contain the grant's id (docs/decisions/0032-a-grant-has-a-secret-and-a-public-id.md).
 */
import { accessTokenExpiry, type Grant } from '../core/grants/grant.ts'
import { uuidBytes, uuidFrom } from './device-code-text.ts'
import type { Keyset } from './keyset.ts'
import { createVerifiedCache } from './recent.ts'
import { type SignedText, sign, verify } from './signed-text.ts'

/** secret of the grant 16 | generation 4 | expiry 5 */
const accessToken: SignedText = { prefix: 'lka_', purpose: 'access-token', bodyBytes: 25, reserved: true }
/** secret of the grant 16 | generation 4 */
const refreshToken: SignedText = { prefix: 'lkr_', purpose: 'refresh-token', bodyBytes: 20, reserved: true }
/** secret of the grant 16 | key generation 4 */
const accessKey: SignedText = { prefix: 'lkk_', purpose: 'access-key', bodyBytes: 20, reserved: true }

/** The grant's key was removed from LATCHKEY_KEYS: its credentials are invalid, and no new ones are signed. */
export class RetiredKey extends Error {
  override readonly name = 'RetiredKey'
}

/** Separate from `Grant`, which is passed to pages and lists. */
export type GrantWithSecret = Grant & {
  /** 128 random bits, as PostgreSQL prints a uuid. */
  readonly secret: string
}

export type TokenSet = { readonly accessToken: string; readonly refreshToken: string }

/** `issuedAt` and `lifetimeMs` determine the expiry, to the whole second. */
export function makeTokenSet(keys: Keyset, grant: GrantWithSecret, issuedAt: number, lifetimeMs: number): TokenSet {
  const expiry = Buffer.alloc(5)
  expiry.writeUIntBE(accessTokenExpiry(issuedAt, lifetimeMs) / 1000, 0, 5)
  const key = keyOf(keys, grant)
  const body = reference(grant.secret, grant.generation)
  return {
    accessToken: sign(accessToken, key, Buffer.concat([body, expiry])),
    refreshToken: sign(refreshToken, key, body),
  }
}

export function makeAccessKey(keys: Keyset, grant: GrantWithSecret): string {
  return sign(accessKey, keyOf(keys, grant), reference(grant.secret, grant.keyGeneration))
}

export type VerifiedCredential =
  | {
      readonly is: 'access_token'
      readonly grantSecret: string
      readonly generation: number
      readonly expiresAt: number
    }
  | { readonly is: 'refresh_token' | 'access_key'; readonly grantSecret: string; readonly generation: number }

/** Verifies the signature only. The caller checks whether the grant is live and the generation current. */
export function verifyCredential(keys: Keyset, text: string): VerifiedCredential | null {
  const token = verify(accessToken, keys, text)
  if (token) return { is: 'access_token', ...readReference(token), expiresAt: token.readUIntBE(20, 5) * 1000 }
  const refresh = verify(refreshToken, keys, text)
  if (refresh) return { is: 'refresh_token', ...readReference(refresh) }
  const key = verify(accessKey, keys, text)
  return key ? { is: 'access_key', ...readReference(key) } : null
}

/** Cache size: the credentials in use in a busy hour; about 10 MB. Clients present the same credential repeatedly. */
const CACHE_SIZE = 25_000

export type CredentialVerifier = (text: string) => VerifiedCredential | null

/** `verifyCredential` with a cache. Forged credentials are never cached. */
export function createCredentialVerifier(keys: Keyset): CredentialVerifier {
  const cache = createVerifiedCache<VerifiedCredential>(CACHE_SIZE, keys)
  return (text) => {
    const known = cache.get(text)
    if (known) return known
    const verified = verifyCredential(keys, text)
    if (verified) cache.set(text, verified)
    return verified
  }
}

function keyOf(keys: Keyset, grant: Grant) {
  const key = keys.byId.get(grant.keyId)
  if (!key) throw new RetiredKey(`grant ${grant.id} was signed with key ${grant.keyId}, which is not in LATCHKEY_KEYS`)
  return key
}

function reference(secret: string, generation: number): Buffer {
  const body = Buffer.alloc(20)
  body.set(uuidBytes(secret))
  body.writeUInt32BE(generation, 16)
  return body
}

function readReference(body: Buffer): { grantSecret: string; generation: number } {
  return { grantSecret: uuidFrom(body.subarray(0, 16)), generation: body.readUInt32BE(16) }
}
