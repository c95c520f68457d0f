/** A grant: what an account user allowed an application to do, and what is computed from it. docs/interface.md, "Credentials". */
import type { Variant } from './device-code.ts'

export type Grant = {
  readonly id: string
  readonly accountId: string
  readonly userId: string
  readonly applicationId: string
  readonly variant: Variant
  readonly scopes: readonly string[]
  /** The signing key that makes this grant's credentials, so that a repeated answer is the same after a key change. */
  readonly keyId: number
  /** Which refresh token is the living one. */
  readonly generation: number
  readonly keyGeneration: number
  /** When the living credentials were first handed out; null until an application collected them. */
  readonly issuedAt: number | null
  readonly revokedAt: number | null
}

/**
 * An answer that has to be sent again within this time is the very same bytes. Later (the server died in the middle and the
 * device slept), the access token is stamped anew, because `expires_in` counts from the answer and must not lie by more.
 */
export const SAME_BYTES_MS = 60_000

export function issueTime(grant: Grant, now: number): number {
  return grant.issuedAt !== null && now - grant.issuedAt <= SAME_BYTES_MS ? grant.issuedAt : now
}

export type Holder = { readonly userDisabled: boolean; readonly applicationDeleted: boolean }

/** May this grant still be handed out? A suspended application still collects: suspension stops new grants only. */
export function isCollectable(grant: Grant, holder: Holder): boolean {
  return grant.revokedAt === null && !holder.userDisabled && !holder.applicationDeleted
}

/** An id from a form or an address may be anything; PostgreSQL is asked only for what can be one. */
export function isGrantId(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
}

/** A genuine credential, as it was presented. */
export type Presented =
  | { readonly is: 'access_token'; readonly generation: number; readonly expiresAt: number }
  | { readonly is: 'refresh_token' | 'access_key'; readonly generation: number }

/** Does this credential still stand for its grant? A suspended application's does: suspension stops new grants only. */
export function isValid(grant: Grant, holder: Holder, presented: Presented, now: number): boolean {
  if (!isCollectable(grant, holder)) return false
  switch (presented.is) {
    case 'access_token':
      return grant.variant === 'token_set' && presented.generation === grant.generation && now < presented.expiresAt
    case 'access_key':
      return grant.variant === 'access_key' && presented.generation === grant.keyGeneration
    // It renews access and does not give any.
    case 'refresh_token':
      return false
  }
}
