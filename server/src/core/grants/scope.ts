/** Scopes: what may be asked for, and what a grant then holds. docs/interface.md, "Scopes". */

/** A scope list on the wire: commas, and whitespace for the clients that learned it elsewhere. */
export function parseScope(text: string): readonly string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))]
}

export function formatScope(scopes: readonly string[]): string {
  return scopes.join(',')
}

/** A name that survives every list separator and every log line. */
export function isScopeName(name: string): boolean {
  return /^[a-z0-9][a-z0-9_.:-]{0,63}$/.test(name)
}

export type ScopePolicy = {
  readonly allowedScopes: readonly string[]
  readonly defaultScopes: readonly string[]
  readonly requiredScopes: readonly string[]
}

export type RequestedScopes =
  | { readonly answer: 'scopes'; readonly scopes: readonly string[] }
  | { readonly answer: 'not_allowed'; readonly names: readonly string[] }

/**
 * What a request asks for: its own list, or the application's default set, whole, when it names none. A default set that
 * cannot be granted is refused like a list that cannot: narrowing it would grant something else than what was configured.
 */
export function resolveRequested(requested: string | null, policy: ScopePolicy): RequestedScopes {
  const asked = requested === null ? [] : parseScope(requested)
  const scopes = asked.length === 0 ? policy.defaultScopes : asked
  const refused = scopes.filter((name) => !policy.allowedScopes.includes(name))
  return refused.length > 0 ? { answer: 'not_allowed', names: refused } : { answer: 'scopes', scopes }
}

export type Consent = {
  /** What the grant will hold. */
  readonly granted: readonly string[]
  /** Asked for, but the user lacks it: shown, and left out. */
  readonly lacking: readonly string[]
  /** False when nothing would be granted, or a scope that the application cannot work without is lacking. */
  readonly grantable: boolean
}

/** Requested ∩ still allowed to the application ∩ held by the user: one rule for the page, the grant and the answer. */
export function resolveConsent(requested: readonly string[], held: readonly string[], policy: ScopePolicy): Consent {
  const allowed = requested.filter((name) => policy.allowedScopes.includes(name))
  const granted = allowed.filter((name) => held.includes(name))
  const lacking = allowed.filter((name) => !held.includes(name))
  const requiredLacking = lacking.some((name) => policy.requiredScopes.includes(name))
  return { granted, lacking, grantable: !requiredLacking && (granted.length > 0 || requested.length === 0) }
}

/** What a credential may do at this moment: granted ∩ what the user still holds ∩ what the application is still allowed. */
export function resolveEffective(
  granted: readonly string[],
  held: readonly string[],
  allowed: readonly string[],
): readonly string[] {
  return granted.filter((name) => held.includes(name) && allowed.includes(name))
}
