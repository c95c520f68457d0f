/**
 * Scopes: resolves what a request asks for, what a grant holds and what a credential may do.
 * docs/interface/credentials.md, "Scopes".
 */

import { echoed } from '../echoed.ts'

/** Parses a scope list: separated by commas, or by white space as other OAuth servers expect it. */
export function parseScope(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))]
}

export function formatScope(scopes: readonly string[]): string {
  return scopes.join(',')
}

/** A name that is safe in every list format and log line. */
export function isScopeName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_.:-]{0,63}$/.test(name)
}

/**
 * The one scope with a meaning here: a credential with it may know the e-mail address of its user (`GET /me`). The name
 * is that of OpenID Connect. It exists only if an operator adds it to the catalogue.
 */
export const EMAIL_SCOPE = 'email'

export type ScopePolicy = {
  readonly allowedScopes: readonly string[]
  readonly defaultScopes: readonly string[]
  readonly requiredScopes: readonly string[]
}

export type RequestedScopes =
  | { readonly answer: 'scopes'; readonly scopes: readonly string[] }
  | { readonly answer: 'not_allowed'; readonly names: readonly string[] }

/**
 * The requested scopes: the request's list, or the whole default set of the application when it names none. A default
 * set that cannot be granted in full is rejected like a list: narrowing it would grant something else than configured.
 */
export function resolveRequested(requested: string | null, policy: ScopePolicy): RequestedScopes {
  const asked = requested === null ? [] : parseScope(requested)
  const scopes = asked.length === 0 ? policy.defaultScopes : asked
  const refused = scopes.filter((name) => !policy.allowedScopes.includes(name))
  return refused.length > 0 ? { answer: 'not_allowed', names: refused } : { answer: 'scopes', scopes }
}

/** `allowed`: null if the application has not proved that it is itself. */
export function scopesNotAllowed(names: readonly string[], allowed: readonly string[] | null): string {
  const refused = `The scope is unknown or not allowed for this application: ${listed(names)}.`
  return allowed === null ? refused : `${refused} Allowed: ${listed(allowed)}.`
}

export function scopesNotGranted(names: readonly string[], granted: readonly string[]): string {
  return `The scope is more than was granted: ${listed(names)}. Granted: ${listed(granted)}.`
}

const MAX_LISTED = 10
const MAX_SHOWN_LENGTH = 64

function listed(names: readonly string[]): string {
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : ''
  return (
    (names
      .slice(0, MAX_LISTED)
      .map((name) => echoed(name, MAX_SHOWN_LENGTH))
      .join(', ') || 'none') + more
  )
}

export type Consent = {
  readonly granted: readonly string[]
  /** Requested, but not held by the user: shown, and left out. */
  readonly lacking: readonly string[]
  /** False when nothing would be granted, or when the user lacks a scope that the application requires. */
  readonly grantable: boolean
}

/** Requested ∩ allowed to the application ∩ held by the user: one rule for the page, the grant and the response. */
export function resolveConsent(requested: readonly string[], held: readonly string[], policy: ScopePolicy): Consent {
  const allowed = requested.filter((name) => policy.allowedScopes.includes(name))
  const granted = allowed.filter((name) => held.includes(name))
  const lacking = allowed.filter((name) => !held.includes(name))
  const requiredLacking = lacking.some((name) => policy.requiredScopes.includes(name))
  return { granted, lacking, grantable: !requiredLacking && (granted.length > 0 || requested.length === 0) }
}

/** The scopes of a credential now: granted ∩ held by the user ∩ allowed to the application. */
export function resolveEffective(
  granted: readonly string[],
  held: readonly string[],
  allowed: readonly string[],
): readonly string[] {
  return granted.filter((name) => held.includes(name) && allowed.includes(name))
}
