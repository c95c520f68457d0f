/**
 * The identity provider of an account: its rules about who comes in and with which roles, and the closed list of what
 * can be wrong with it. docs/history.md#0047.
 */
import { readEmail } from '../sign-in/email.ts'

export const providerStates = ['off', 'optional', 'required'] as const

export type ProviderState = (typeof providerStates)[number]

/** `invited`: only users who were linked by an invitation. `domain`: also anybody of the domains. */
export const admissions = ['invited', 'domain'] as const

export type Admission = (typeof admissions)[number]

/** Administrators who can sign in without the provider. */
export const BREAK_GLASS_COUNT = 2

/** What can be wrong with a provider. Each has its text, with the remedy, in pages/messages/. */
export const providerProblems = [
  'address',
  'not_https',
  'private',
  'unreachable',
  'certificate',
  'slow',
  'too_large',
  'no_document',
  'malformed',
  'issuer_mismatch',
  'no_code_flow',
  'no_algorithm',
  'endpoint',
  'no_client_auth',
  'no_keys',
  'client_refused',
  'secret_lost',
  'busy',
] as const

export type ProviderProblem = (typeof providerProblems)[number]

/** What a provider says about a user who signed in there. */
export type ProviderClaims = {
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
  readonly name: string | null
  /** Values of the role claim. */
  readonly roleValues: readonly string[]
}

export type AdmissionRules = {
  readonly domains: readonly string[]
  readonly admission: Admission
}

export type AdmissionProblem = 'unverified' | 'domain'

/** The domains apply to every sign-in, also of users who came in before. Null: they allow it. */
export function domainProblem(
  { domains }: Pick<AdmissionRules, 'domains'>,
  { email, emailVerified }: Pick<ProviderClaims, 'email' | 'emailVerified'>,
): AdmissionProblem | null {
  if (domains.length === 0) return null
  if (email === null || !emailVerified) return 'unverified'
  return domains.includes(email.slice(email.lastIndexOf('@') + 1)) ? null : 'domain'
}

/** Roles by the values of the claim; without a match, the default role or none. */
export function rolesByClaim(
  values: readonly string[],
  mapping: readonly { readonly roleId: string; readonly value: string }[],
  defaultRole: string | null,
): readonly string[] {
  const matched = mapping.filter(({ value }) => values.includes(value)).map(({ roleId }) => roleId)
  return matched.length > 0 || defaultRole === null ? matched : [defaultRole]
}

const DOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/
const MAX_DOMAINS = 50

/** Domains as typed, separated by spaces, commas or lines. Null: one of them is none. */
export function readDomains(typed: string): readonly string[] | null {
  const domains = [...new Set(typed.toLowerCase().split(/[\s,;]/))].filter((each) => each !== '')
  return domains.length <= MAX_DOMAINS && domains.every((each) => DOMAIN.test(each)) ? domains : null
}

const MAX_SUBJECT_LENGTH = 255
const MAX_ROLE_VALUES = 500

/** Reads the claims of a verified ID token; null if there is no usable subject. Arrays and single texts are both in use for roles. */
export function readClaims(claims: Readonly<Record<string, unknown>>, roleClaim: string | null): ProviderClaims | null {
  const { sub, email, email_verified, name } = claims
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_LENGTH || sub.includes('\0')) return null
  const values = roleClaim === null || !Object.hasOwn(claims, roleClaim) ? [] : [claims[roleClaim]].flat()
  return {
    subject: sub,
    email: typeof email === 'string' ? readEmail(email) : null,
    emailVerified: email_verified === true,
    name: typeof name === 'string' && name.trim() !== '' && !name.includes('\0') ? name.trim().slice(0, 200) : null,
    roleValues: values.filter((value) => typeof value === 'string').slice(0, MAX_ROLE_VALUES),
  }
}

/** Why the user whom the provider names is not accepted. */
export type ProviderUserProblem =
  /** The provider was changed meanwhile. */
  | 'expired'
  | 'disabled'
  /** The provider does not say that the e-mail address is verified. */
  | 'unverified'
  /** The e-mail address is of another domain. */
  | 'domain'
  /** Not invited. */
  | 'unknown'
  /** Invited, but did not come by the link in the mail. */
  | 'invited'
  /** The invitation was sent to another e-mail address. */
  | 'other_address'
  /** Another user of the account has the e-mail address. */
  | 'conflict'

/** Why a sign-in at the provider is not accepted. */
export type ProviderSignInProblem =
  /** The transaction expired, was used before, or began in another browser, at another account or another provider. */
  | 'expired'
  /** The answer is not what it has to be; the log says why. */
  | 'invalid'
  /** The provider did not ask the user to sign in again. */
  | 'not_recent'
  /** The provider or the user said no. */
  | 'declined'
  | 'unavailable'
  /** Too many sign-ins failed in this network just now. */
  | 'busy'
  | ProviderUserProblem
