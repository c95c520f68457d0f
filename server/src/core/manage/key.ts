/**
 * Management keys: what automation of the operator, or of one account, may read and change
 * (docs/decisions/0049-management-keys.md).
 */
import { isAccountName } from '../applications/name.ts'

export const managementScopes = [
  'accounts:read',
  'accounts:write',
  'users:read',
  'users:write',
  'roles:read',
  'roles:write',
  'administrators:write',
  'scim',
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

/** SCIM names no account: it is that of the key. */
const ACCOUNT_SCOPES: readonly ManagementScope[] = ['scim']

export function isWithinReach(scope: ManagementScope, accountId: string | null): boolean {
  return !(accountId === null ? ACCOUNT_SCOPES : SERVICE_WIDE_SCOPES).includes(scope)
}

/** A write scope includes the read scope: a client reads a resource before it changes it. */
export function allows(scopes: readonly string[], needed: ManagementScope): boolean {
  return scopes.includes(needed) || scopes.includes(needed.replace(':read', ':write'))
}

/** What a change gives to a user. */
export type Gives = {
  /** Roles or permissions that the user did not have. */
  readonly access: boolean
  /** The user becomes an administrator. */
  readonly administrator: boolean
}

/** The scope that a key lacks to give this; null: none. Taking away needs none besides that of the request. */
export function scopeToGive(scopes: readonly string[], { access, administrator }: Gives): ManagementScope | null {
  if (access && !allows(scopes, 'roles:write')) return 'roles:write'
  return administrator && !allows(scopes, 'administrators:write') ? 'administrators:write' : null
}

/** How long the replaced secret of a key stays valid at most. */
export const MAX_OVERLAP_MS = 7 * 24 * 60 * 60 * 1000

export const DEFAULT_OVERLAP_MS = 24 * 60 * 60 * 1000

/** A key that nobody renews for a year is one that nobody needs. */
export const MAX_LIFETIME_MS = 366 * 24 * 60 * 60 * 1000

export const DEFAULT_LIFETIME_MS = 90 * 24 * 60 * 60 * 1000

export const MAX_LABEL_LENGTH = 60

/** Mails name a key by its label. */
export function isKeyLabel(text: string): boolean {
  return isAccountName(text) && text.length <= MAX_LABEL_LENGTH
}

/** Networks from which a key may be used. */
export const MAX_NETWORKS = 20

/**
 * What one operator may give a key of the whole service in the console. A key that can change every account could end
 * connections by the thousand, for which two operators are needed: such keys come from the command line.
 */
export function mayOperatorGive(scope: ManagementScope): boolean {
  return scope.endsWith(':read')
}
