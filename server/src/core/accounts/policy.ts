/**
 * Account policy: how the users of an account sign in, and which applications they may connect, in addition to the rules
 * of the service.
 */
import type { Application } from '../applications/application.ts'
import type { SecondFactorPolicy } from '../sign-in/second-factor.ts'

export type AccountPolicy = {
  /** Whether user codes can be entered at this account. */
  readonly deviceFlow: boolean
  readonly unverifiedPublishers: boolean
  /** Application ids. Null: every application. */
  readonly onlyApplications: readonly string[] | null
  /** Of all users; administrators need one in any case. */
  readonly secondFactor: SecondFactorPolicy
}

/**
 * Whether users of the account may connect this application. Both rules must hold: a listed application of an
 * unverified publisher is still rejected where unverified publishers are.
 */
export function policyAllows(policy: AccountPolicy, application: Pick<Application, 'id' | 'publisher'>): boolean {
  if (!policy.unverifiedPublishers && application.publisher.status === 'unverified') return false
  return policy.onlyApplications === null || policy.onlyApplications.includes(application.id)
}
