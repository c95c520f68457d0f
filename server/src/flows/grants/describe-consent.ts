/** Description of what a user would grant, for the consent page of a device code and for the dialog. Reads only. */
import { resolveConsent, type ScopePolicy } from '../../core/grants/scope.ts'
import { readRoles, type UncountedRole } from '../../store/accounts/roles.ts'
import type { User } from '../../store/accounts/users.ts'
import { readScopes, type Scope } from '../../store/applications/scopes.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'

export type Lacking = Scope & {
  /** Roles of the account that include the scope: the user can ask an administrator for one. */
  readonly roles: readonly string[]
  readonly required: boolean
}

export type DescribedConsent = {
  readonly can: readonly Scope[]
  readonly lacking: readonly Lacking[]
  readonly grantable: boolean
}

export async function describeConsent(
  db: Queryable,
  user: Pick<User, 'accountId' | 'heldScopes'>,
  requested: readonly string[],
  policy: ScopePolicy,
): Promise<DescribedConsent> {
  const consent = resolveConsent(requested, user.heldScopes, policy)
  const scopes = await readScopes(db, [...consent.granted, ...consent.lacking])
  const roles = consent.lacking.length > 0 ? await readRoles(db, user.accountId) : []
  const can = scopes.filter(({ name }) => consent.granted.includes(name))
  const lacking = scopes
    .filter(({ name }) => consent.lacking.includes(name))
    .map((scope) => ({
      ...scope,
      roles: rolesWith(roles, scope.name),
      required: policy.requiredScopes.includes(scope.name),
    }))
  return { can, lacking, grantable: consent.grantable }
}

/** Roles that list the scope or, if there are none, roles that hold every scope. */
function rolesWith(roles: readonly UncountedRole[], scope: string): readonly string[] {
  const listing = roles.filter((role) => role.scopes.includes(scope))
  return (listing.length > 0 ? listing : roles.filter((role) => role.holdsEveryScope)).map((role) => role.name)
}

/** Compares as sets: `granted` now, and `shown` to the user before. */
export function isAsShown(shown: readonly string[], granted: readonly string[]): boolean {
  return shown.length === granted.length && granted.every((name) => shown.includes(name))
}
