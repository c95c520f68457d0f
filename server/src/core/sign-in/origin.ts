/**
 * Where the users of an account come from, and what Latchkey does for them itself.
 * docs/decisions/0046-users-of-the-host-service.md, docs/history.md#0047.
 */
import type { ProviderState } from '../provider/provider.ts'

/**
 * `own`: signs in at Latchkey. `host`: signs in at the host service, which hands the sign-in over. `provider`: signs in
 * at the account's identity provider.
 */
export type Origin = 'own' | 'host' | 'provider'

/**
 * Longest session of a user who signs in elsewhere: who was removed there has to sign in again after this time, also if
 * nobody tells Latchkey.
 */
export const ELSEWHERE_SESSION_MS = 12 * 60 * 60 * 1000

/**
 * `confirmation`: authenticating again for a sensitive action. `roles`: administrators choose them. `reset`:
 * administrators send a link that replaces how the user signs in.
 */
export type SignInPart =
  | 'password'
  | 'passkey'
  | 'second_factor'
  | 'recovery'
  | 'invitation'
  | 'confirmation'
  | 'roles'
  | 'reset'

const PARTS: Readonly<Record<Origin, readonly SignInPart[]>> = {
  own: ['password', 'passkey', 'second_factor', 'recovery', 'invitation', 'confirmation', 'roles', 'reset'],
  host: [],
  provider: ['roles', 'reset'],
}

/** Whether Latchkey does this for users of the origin; otherwise it is done where they come from. */
export function appliesTo(origin: Origin, part: SignInPart): boolean {
  return PARTS[origin].includes(part)
}

/** What decides how users sign in to an account. */
export type SignInRule = {
  /** It is the operators' account. */
  readonly operators: boolean
  /** A host service is configured. */
  readonly handOver: boolean
  readonly provider: ProviderState
}

/** Users of the operators' account are its own: a host service or a provider could make operators. */
export function allowedOrigins({ operators, handOver, provider }: SignInRule): readonly Origin[] {
  if (operators) return ['own']
  if (handOver) return ['host']
  return provider === 'off' ? ['own'] : ['own', 'provider']
}

/** The origin of users created before they first sign in. Users of an identity provider appear when they do. */
export function originOfNewUsers({ operators, handOver }: Omit<SignInRule, 'provider'>): Origin {
  return handOver && !operators ? 'host' : 'own'
}

/** If the account requires its provider, own users may sign in only with `breakGlass` (emergency access). */
export function maySignIn(
  rule: SignInRule,
  { origin, breakGlass }: { readonly origin: Origin; readonly breakGlass: boolean },
): boolean {
  if (!allowedOrigins(rule).includes(origin)) return false
  return origin !== 'own' || rule.operators || rule.provider !== 'required' || breakGlass
}
