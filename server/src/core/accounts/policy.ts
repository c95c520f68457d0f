/** What an account lets its users connect: its own rules about applications, beside those of the service. */
import type { Application } from '../applications/application.ts'

export type AccountPolicy = {
  /** Whether codes are entered at this account at all. */
  readonly deviceFlow: boolean
  readonly unverifiedPublishers: boolean
  /** Ids. Null: every application. */
  readonly onlyApplications: readonly string[] | null
}

/**
 * May users of the account connect this application? Both rules hold at once: an application that is on the list but comes
 * from nobody knows whom is still not let in where unverified publishers are not.
 */
export function policyAllows(policy: AccountPolicy, application: Pick<Application, 'id' | 'publisher'>): boolean {
  if (!policy.unverifiedPublishers && application.publisher.status === 'unverified') return false
  return policy.onlyApplications === null || policy.onlyApplications.includes(application.id)
}

/** May a code of this application be entered, shown and granted at the account? */
export function mayConnectByCode(
  policy: AccountPolicy,
  application: Pick<Application, 'id' | 'publisher' | 'deleted'>,
): boolean {
  return policy.deviceFlow && !application.deleted && policyAllows(policy, application)
}
