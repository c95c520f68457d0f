/**
 * When a user needs a second factor: a passkey, which counts as both, or an authenticator besides the password.
 * docs/history.md#0037.
 */

/** Time to set one up: nobody is locked out by surprise. */
const GRACE_MS = 7 * 24 * 60 * 60 * 1000

export type SecondFactorPolicy = 'optional' | 'required'

export type SecondFactorFacts = {
  /** Null: the user is not an administrator. */
  readonly administratorSince: number | null
  /** When the user was created. */
  readonly joinedAt: number
  /** Since when the account requires a second factor of all users; null: it does not. */
  readonly requiredAt: number | null
  /** The user has a passkey or an authenticator. */
  readonly enrolled: boolean
}

/**
 * From when on the user needs a second factor; null: never. The operators' account always requires one, and of operators
 * (its administrators) without a grace period.
 */
export function secondFactorDeadline(facts: SecondFactorFacts, operators: boolean): number | null {
  const { administratorSince, joinedAt } = facts
  if (operators && administratorSince !== null) return administratorSince
  const requiredAt = operators ? joinedAt : facts.requiredAt
  const starts = [
    ...(administratorSince === null ? [] : [administratorSince]),
    ...(requiredAt === null ? [] : [Math.max(requiredAt, joinedAt)]),
  ]
  return starts.length === 0 ? null : Math.min(...starts) + GRACE_MS
}

/** Whether the user needs a second factor now. */
export function needsSecondFactor(facts: SecondFactorFacts, operators: boolean, now: number): boolean {
  const deadline = secondFactorDeadline(facts, operators)
  return deadline !== null && now >= deadline
}

/** What a session lacks. `enrol`: the user has no second factor yet; `confirm`: has one, and did not use it here. */
export type SecondFactorDuty =
  | { readonly outcome: 'none' | 'enrol' | 'confirm' }
  | { readonly outcome: 'later'; readonly until: number }

export function secondFactorDuty(
  facts: SecondFactorFacts,
  session: { readonly secondFactor: boolean },
  operators: boolean,
  now: number,
): SecondFactorDuty {
  if (session.secondFactor) return { outcome: 'none' }
  // Confirmed even if not required: a session opened with a stolen password before the enrolment becomes useless.
  if (facts.enrolled) return { outcome: 'confirm' }
  const deadline = secondFactorDeadline(facts, operators)
  if (deadline === null) return { outcome: 'none' }
  return now >= deadline ? { outcome: 'enrol' } : { outcome: 'later', until: deadline }
}

/** Of RFC 8176: several factors, a one-time password, a hardware key, a smart card. A password precedes all but the keys. */
const METHODS = ['mfa', 'otp', 'hwk', 'sc']

/** Of OpenID Connect EAP ACR Values 1.0, REFEDS and PAPE. */
const CLASSES = [
  'phr',
  'phrh',
  'https://refeds.org/profile/mfa',
  'http://schemas.openid.net/pape/policies/2007/06/multi-factor',
]

/** Whether a host service or an identity provider says that the user proved a second factor there. */
export function saysSecondFactor(amr: readonly string[], acr: unknown): boolean {
  return METHODS.some((method) => amr.includes(method)) || CLASSES.some((each) => each === acr)
}
