/** A grant: what an account user allowed an application to do, and what is computed from it. docs/interface.md, "Credentials". */
import type { Variant } from '../device/code.ts'

export type Grant = {
  /** Public: pages, logs, webhooks and exports name the grant by it. No part of a credential. */
  readonly id: string
  readonly accountId: string
  readonly userId: string
  readonly applicationId: string
  readonly variant: Variant
  readonly scopes: readonly string[]
  /** The signing key that makes this grant's credentials, so that a repeated answer is the same after a key change. */
  readonly keyId: number
  readonly createdAt: number
  /** Which refresh token is the living one. */
  readonly generation: number
  readonly keyGeneration: number
  /** When the living credentials were first handed out; null until an application collected them. */
  readonly issuedAt: number | null
  /** When the access key was last replaced. */
  readonly keyRotatedAt: number | null
  readonly revokedAt: number | null
}

/**
 * When an access token that is issued at this moment expires. The token carries whole seconds; rounding up keeps the first
 * `expires_in` at the full lifetime.
 */
export function accessTokenExpiry(issuedAt: number, lifetimeMs: number): number {
  return Math.ceil((issuedAt + lifetimeMs) / 1000) * 1000
}

/** `expires_in`: the whole seconds that an access token has left, rounded down; 0 when it is dead or as good as dead. */
export function expiresInSeconds(expiresAt: number, now: number): number {
  return Math.max(0, Math.floor((expiresAt - now) / 1000))
}

/**
 * An answer that was not sent carries the same access token when it is given again within this time. Later (the server died
 * in the middle and the device slept), the application gets an access token with a full lifetime.
 */
export const SAME_TOKEN_MS = 60_000

/** From when on the access token of an answer counts that has not been sent yet. A dead token is never given again. */
export function issueTime(grant: Grant, now: number, lifetimeMs: number): number {
  const { issuedAt } = grant
  if (issuedAt === null || now - issuedAt > SAME_TOKEN_MS) return now
  return expiresInSeconds(accessTokenExpiry(issuedAt, lifetimeMs), now) > 0 ? issuedAt : now
}

/** May an answer that was sent be repeated? Not a token set whose access token has died meanwhile. An access key does not die. */
export function isRepeatable(grant: Grant, now: number, lifetimeMs: number): boolean {
  if (grant.variant === 'access_key') return true
  return grant.issuedAt !== null && expiresInSeconds(accessTokenExpiry(grant.issuedAt, lifetimeMs), now) > 0
}

export type Holder = { readonly userDisabled: boolean; readonly applicationDeleted: boolean }

/** May this grant still be handed out? A suspended application still collects: suspension stops new grants only. */
export function isCollectable(grant: Grant, holder: Holder): boolean {
  return grant.revokedAt === null && !holder.userDisabled && !holder.applicationDeleted
}

/** Only what was never renewed is handed out by the code that led to it: afterwards the application has had it. */
export function isFirstIssue(grant: Grant): boolean {
  return grant.generation === 1 && grant.keyGeneration === 1
}

/** An id from a form or an address may be anything; PostgreSQL is asked only for what can be one. */
export function isGrantId(text: string): boolean {
  return /^grt_[0-9a-z]{20}$/.test(text)
}

/** A genuine credential, as it was presented. */
export type Presented =
  | { readonly is: 'access_token'; readonly expiresAt: number }
  | { readonly is: 'refresh_token' | 'access_key'; readonly generation: number }

/**
 * Does this credential still stand for its grant? A suspended application's does: suspension stops new grants only. An access
 * token lives until its own expiry, whatever was renewed meanwhile (docs/decisions/0016-an-access-token-outlives-its-refresh.md).
 */
export function isValid(grant: Grant, holder: Holder, presented: Presented, now: number, overlapMs: number): boolean {
  if (!isCollectable(grant, holder)) return false
  switch (presented.is) {
    case 'access_token':
      return grant.variant === 'token_set' && now < presented.expiresAt
    case 'access_key':
      return grant.variant === 'access_key' && isLivingKey(grant, presented.generation, now, overlapMs)
    // It renews access and does not give any.
    case 'refresh_token':
      return false
  }
}

function isLivingKey(grant: Grant, generation: number, now: number, overlapMs: number): boolean {
  return generation === grant.keyGeneration || isReplacedKey(grant, generation, now, overlapMs)
}

/** The predecessor of the living key, while both work. */
function isReplacedKey(grant: Grant, generation: number, now: number, overlapMs: number): boolean {
  const { keyGeneration, keyRotatedAt } = grant
  return generation === keyGeneration - 1 && keyRotatedAt !== null && now < keyRotatedAt + overlapMs
}

/**
 * For so long the immediate predecessor of a refresh token gets the set that replaced it: its application may not have heard
 * the answer. Long enough to try again after a lost connection; after it, two hold what one was given.
 */
export const REFRESH_GRACE_MS = 30_000

export type RefreshLimits = {
  /** From one refresh to the next. */
  readonly unusedMs: number
  /** From the user's yes, however often it was renewed. */
  readonly maxMs: number
}

export type RefreshStep =
  | { readonly answer: 'refreshed'; readonly next: Grant }
  /** The same two tokens again, with what is left of them. */
  | { readonly answer: 'repeated' }
  /** An old refresh token: somebody kept a copy. */
  | { readonly answer: 'reused' }
  | { readonly answer: 'not_valid' }

/** A refresh token of this generation is presented. docs/interface.md, "Refresh". */
export function refresh(
  grant: Grant,
  holder: Holder,
  generation: number,
  now: number,
  limits: RefreshLimits,
): RefreshStep {
  if (grant.variant !== 'token_set' || !isCollectable(grant, holder) || isOver(grant, now, limits)) {
    return { answer: 'not_valid' }
  }
  if (generation === grant.generation) {
    return { answer: 'refreshed', next: { ...grant, generation: generation + 1, issuedAt: now } }
  }
  // Newer than anything we know of: a database that was restored from a backup. Nobody is to blame.
  if (generation > grant.generation) return { answer: 'not_valid' }
  const recent = grant.issuedAt !== null && now - grant.issuedAt <= REFRESH_GRACE_MS
  return { answer: recent && generation === grant.generation - 1 ? 'repeated' : 'reused' }
}

/** Unused for too long, or as old as a yes may grow. */
export function isOver(grant: Grant, now: number, { unusedMs, maxMs }: RefreshLimits): boolean {
  return grant.issuedAt === null || now >= grant.issuedAt + unusedMs || now >= grant.createdAt + maxMs
}

export type RotateStep =
  | { readonly answer: 'rotated'; readonly next: Grant }
  /** The predecessor, while both work: its application did not hear the answer, and gets it again. */
  | { readonly answer: 'repeated' }
  | { readonly answer: 'not_valid' }

/** The access key of this key generation asks for its successor. docs/interface.md, "Access keys". */
export function rotateKey(
  grant: Grant,
  holder: Holder,
  generation: number,
  now: number,
  overlapMs: number,
): RotateStep {
  if (grant.variant !== 'access_key' || !isCollectable(grant, holder)) return { answer: 'not_valid' }
  if (generation === grant.keyGeneration) {
    return { answer: 'rotated', next: { ...grant, keyGeneration: generation + 1, keyRotatedAt: now } }
  }
  return { answer: isReplacedKey(grant, generation, now, overlapMs) ? 'repeated' : 'not_valid' }
}
