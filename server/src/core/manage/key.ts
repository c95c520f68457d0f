/**
 * Management keys: what automation of the operator, or of one account, may read and change
 * (docs/decisions/0049-management-keys.md).
 */
import { isName } from '../applications/name.ts'

export const managementScopes = [
  'accounts:read',
  'accounts:write',
  'users:read',
  'users:write',
  'roles:read',
  'roles:write',
  'scopes:read',
  'scopes:write',
  'applications:read',
  'applications:write',
  'grants:read',
  'grants:write',
  'webhooks:read',
  'webhooks:write',
  'reviews:read',
  'audit:read',
] as const

export type ManagementScope = (typeof managementScopes)[number]

export function isManagementScope(text: string): text is ManagementScope {
  return (managementScopes as readonly string[]).includes(text)
}

/** These concern the whole service: a key of one account cannot have them. */
const SERVICE_WIDE_SCOPES: readonly ManagementScope[] = ['scopes:write', 'reviews:read']

export function isWithinReach(scope: ManagementScope, accountId: string | null): boolean {
  return accountId === null || !SERVICE_WIDE_SCOPES.includes(scope)
}

/** A write scope includes the read scope: a client reads a resource before it changes it. */
export function allows(scopes: readonly string[], needed: ManagementScope): boolean {
  return scopes.includes(needed) || scopes.includes(needed.replace(':read', ':write'))
}

/** How long the replaced secret of a key stays valid at most. */
export const MAX_OVERLAP_MS = 7 * 24 * 60 * 60 * 1000

export const DEFAULT_OVERLAP_MS = 24 * 60 * 60 * 1000

/** A key that nobody renews for a year is one that nobody needs. */
export const MAX_LIFETIME_MS = 366 * 24 * 60 * 60 * 1000

export const DEFAULT_LIFETIME_MS = 90 * 24 * 60 * 60 * 1000

export const MAX_LABEL_LENGTH = 60

export function isKeyLabel(text: string): boolean {
  return isName(text) && text.length <= MAX_LABEL_LENGTH
}

/**
 * What one operator may give a key of the whole service in the console. A key that can change every account could end
 * connections by the thousand, for which two operators are needed: such keys come from the command line.
 */
export function mayOperatorGive(scope: ManagementScope): boolean {
  return scope.endsWith(':read')
}
