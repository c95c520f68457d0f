/**
 * The person as whom a user signs in. A person may move a device code from one of their accounts to another.
 * docs/decisions/0009-a-second-account-closes-a-code.md.
 */
import type { Origin } from './origin.ts'

/** Whether the host service's id of a user is one person in every account, or one user in one account. */
export type SignInSubjects = 'shared' | 'per-account'

export type PersonFacts = {
  readonly origin: Origin
  readonly email: string
  /** By a link that was mailed to the address since it was last changed. */
  readonly emailConfirmed: boolean
  readonly externalId: string | null
  readonly issuer: string | null
  readonly subject: string | null
}

/** Equal texts: the same person. Null: not known. */
export function personOf(user: PersonFacts, subjects: SignInSubjects): string | null {
  const { origin, email, emailConfirmed, externalId, issuer, subject } = user
  if (origin === 'provider') return JSON.stringify([origin, issuer, subject])
  if (origin === 'host') return subjects === 'shared' ? JSON.stringify([origin, externalId]) : null
  return emailConfirmed ? JSON.stringify([origin, email]) : null
}
