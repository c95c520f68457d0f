/**
 * Grant: what a user allowed an application to do, with the rules for issuing, refreshing and rotating its credentials.
 * docs/interface/credentials.md, "Credentials".
 */
import type { Variant } from '../device/code.ts'

export type Grant = {
  /** Public id: used in pages, logs, webhooks and exports. Not part of any credential. */
  readonly id: string
  readonly accountId: string
  readonly userId: string
  readonly applicationId: string
  readonly variant: Variant
  readonly scopes: readonly string[]
  /** Key that signs the current credentials, so that a repeated response is the same after a key rotation. */
  readonly keyId: number
  readonly createdAt: number
  /** Generation of the current refresh token. */
  readonly generation: number
  /** Newest generation whose access token was accepted; saved within a second. Starts at 1, the first generation. */
  readonly usedGeneration: number
  readonly keyGeneration: number
  /** When the current credentials were first issued; null until an application collected them. */
  readonly issuedAt: number | null
  readonly keyRotatedAt: number | null
  readonly revokedAt: number | null
  /** When a grant made in test mode ends at the latest; null for a grant made by a person. */
  readonly testEndsAt: number | null
}

/**
 * Expiry of an access token issued at this moment. The token carries whole seconds; rounding up keeps the first
 * `expires_in` at the full lifetime.
 */
export function accessTokenExpiry(issuedAt: number, lifetimeMs: number): number {
  return Math.ceil((issuedAt + lifetimeMs) / 1000) * 1000
}

/** `expires_in`: remaining whole seconds of an access token, rounded down; 0 when it has expired or is about to. */
export function expiresInSeconds(expiresAt: number, now: number): number {
  return Math.max(0, Math.floor((expiresAt - now) / 1000))
}

/**
 * A response that was not sent carries the same access token when it is retried within this time. Later (the server
 * crashed and the device slept), the application gets an access token with a full lifetime.
 */
export const SAME_TOKEN_MS = 60_000

/** Issue time of the access token in a response that has not been sent yet. An expired token is never issued again. */
export function issueTime(grant: Grant, now: number, lifetimeMs: number): number {
  const { issuedAt } = grant
  if (issuedAt === null || now - issuedAt > SAME_TOKEN_MS) return now
  return expiresInSeconds(accessTokenExpiry(issuedAt, lifetimeMs), now) > 0 ? issuedAt : now
}

/**
 * Whether a sent response may be repeated: not a token set whose access token has expired. Access keys do not expire.
 */
export function isRepeatable(grant: Grant, now: number, lifetimeMs: number): boolean {
  if (grant.variant === 'access_key') return true
  return grant.issuedAt !== null && expiresInSeconds(accessTokenExpiry(grant.issuedAt, lifetimeMs), now) > 0
}

export type Holder = {
  readonly userDisabled: boolean
  readonly accountClosed: boolean
  readonly applicationDeleted: boolean
}

/**
 * Whether the grant's credentials may be issued. Suspended applications still collect: suspension stops new grants
 * only.
 */
export function isCollectable(grant: Grant, holder: Holder, now: number): boolean {
  const { userDisabled, accountClosed, applicationDeleted } = holder
  if (userDisabled || accountClosed || applicationDeleted) return false
  return grant.revokedAt === null && !isTestOver(grant, now)
}

/** Decided by time: the background job that revokes the grants of an ended test mode may be late. */
function isTestOver({ testEndsAt }: Grant, now: number): boolean {
  return testEndsAt !== null && now >= testEndsAt
}

/** The code delivers only the first credentials. After a refresh or rotation the application evidently has them. */
export function isFirstIssue(grant: Grant): boolean {
  return grant.generation === 1 && grant.keyGeneration === 1
}

/** Syntax check of untrusted input before a query. */
export function isGrantId(text: string): boolean {
  return /^grt_[0-9a-z]{20}$/.test(text)
}

/** A credential with a valid signature, as presented. */
export type Presented =
  | { readonly is: 'access_token'; readonly expiresAt: number }
  | { readonly is: 'refresh_token' | 'access_key'; readonly generation: number }

/**
 * Whether a credential gives access now. A suspended application's does: suspension stops new grants only. An access
 * token is valid until its own expiry, even after a refresh
 * (docs/history.md#0016).
 */
export function isValid(grant: Grant, holder: Holder, presented: Presented, now: number, overlapMs: number): boolean {
  if (!isCollectable(grant, holder, now)) return false
  switch (presented.is) {
    case 'access_token':
      return grant.variant === 'token_set' && now < presented.expiresAt
    case 'access_key':
      return grant.variant === 'access_key' && isLivingKey(grant, presented.generation, now, overlapMs)
    // A refresh token renews access and does not give any.
    case 'refresh_token':
      return false
  }
}

function isLivingKey(grant: Grant, generation: number, now: number, overlapMs: number): boolean {
  return generation === grant.keyGeneration || isReplacedKey(grant, generation, now, overlapMs)
}

/** Whether this is the previous key within the overlap, while both are valid. */
function isReplacedKey(grant: Grant, generation: number, now: number, overlapMs: number): boolean {
  const { keyGeneration, keyRotatedAt } = grant
  return generation === keyGeneration - 1 && keyRotatedAt !== null && now < keyRotatedAt + overlapMs
}

/**
 * For this long at least, the previous refresh token returns the set that replaced it: processes that share a token set
 * present the same token at the same time, and one of them may already use the answer.
 */
export const REFRESH_GRACE_MS = 30_000

export type RefreshLimits = {
  /** From one refresh to the next. */
  readonly unusedMs: number
  /** From the user's decision, regardless of refreshes. */
  readonly maxMs: number
  readonly accessTokenMs: number
}

export type RefreshStep =
  | { readonly answer: 'refreshed'; readonly next: Grant }
  /** Return the same two tokens, with their remaining lifetime. */
  | { readonly answer: 'repeated' }
  /** The same refresh token again, with a new access token: the one of the lost answer has expired. */
  | { readonly answer: 'reissued'; readonly next: Grant }
  /** A refresh token whose successor was used: a copy is in use. */
  | { readonly answer: 'reused' }
  | { readonly answer: 'not_valid' }

/** Handles a refresh token of this generation. docs/interface/credentials.md, "Refresh". */
export function refresh(
  grant: Grant,
  holder: Holder,
  generation: number,
  now: number,
  limits: RefreshLimits,
): RefreshStep {
  if (grant.variant !== 'token_set' || !isCollectable(grant, holder, now) || isOver(grant, now, limits)) {
    return { answer: 'not_valid' }
  }
  if (generation === grant.generation) {
    return { answer: 'refreshed', next: { ...grant, generation: generation + 1, issuedAt: now } }
  }
  // Newer than the stored generation: the database was restored from a backup. Not a replay.
  if (generation > grant.generation) return { answer: 'not_valid' }
  if (generation < grant.generation - 1 || isSuccessorUsed(grant, now)) return { answer: 'reused' }
  if (isRepeatable(grant, now, limits.accessTokenMs)) return { answer: 'repeated' }
  return { answer: 'reissued', next: { ...grant, issuedAt: now } }
}

/**
 * Whether the current token set is known to have arrived. While it is not, the answer that carried it may be lost, and
 * the previous refresh token is the newest that the application has
 * (docs/decisions/0044-a-refresh-is-answered-until-its-successor-is-used.md).
 */
function isSuccessorUsed({ generation, usedGeneration, issuedAt }: Grant, now: number): boolean {
  return usedGeneration >= generation && (issuedAt === null || now - issuedAt > REFRESH_GRACE_MS)
}

/** Whether the refresh token expired unused, or the grant reached its maximum age. */
export function isOver(
  grant: Grant,
  now: number,
  { unusedMs, maxMs }: Pick<RefreshLimits, 'unusedMs' | 'maxMs'>,
): boolean {
  return grant.issuedAt === null || now >= grant.issuedAt + unusedMs || now >= grant.createdAt + maxMs
}

export type RotateStep =
  | { readonly answer: 'rotated'; readonly next: Grant }
  /** The previous key within the overlap: the application lost the response and gets it again. */
  | { readonly answer: 'repeated' }
  | { readonly answer: 'not_valid' }

/** Rotates the access key of this key generation. docs/interface/credentials.md, "Access keys". */
export function rotateKey(
  grant: Grant,
  holder: Holder,
  generation: number,
  now: number,
  overlapMs: number,
): RotateStep {
  if (grant.variant !== 'access_key' || !isCollectable(grant, holder, now)) return { answer: 'not_valid' }
  if (generation === grant.keyGeneration) {
    return { answer: 'rotated', next: { ...grant, keyGeneration: generation + 1, keyRotatedAt: now } }
  }
  return { answer: isReplacedKey(grant, generation, now, overlapMs) ? 'repeated' : 'not_valid' }
}
