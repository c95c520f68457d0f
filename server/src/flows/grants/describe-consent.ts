/** Description of what a user would grant, for the consent page of a device code and for the dialog. Reads only. */
import type { Granting, NotAsked, Prevention } from '../../core/grants/granting.ts'
import { readRoles, type UncountedRole } from '../../store/accounts/roles.ts'
import type { Scope } from '../../store/applications/scopes.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'
import type { Facts } from './granting-facts.ts'

export type Lacking = Scope & {
  /** Roles of the account that include the scope: the user can ask an administrator for one. */
  readonly roles: readonly string[]
  readonly required: boolean
}

export type DescribedConsent = {
  readonly can: readonly Scope[]
  readonly lacking: readonly Lacking[]
  /** Why it cannot be granted. */
  readonly prevented: Prevention | null
}

export async function describeConsent(
  db: Queryable,
  { scopes, application, account }: Facts,
  granting: Exclude<Granting, NotAsked>,
): Promise<DescribedConsent> {
  const { consent } = granting
  const roles = consent.lacking.length > 0 ? await readRoles(db, account.id) : []
  const can = scopes.filter(({ name }) => consent.granted.includes(name))
  const lacking = scopes
    .filter(({ name }) => consent.lacking.includes(name))
    .map((scope) => ({
      ...scope,
      roles: rolesWith(roles, scope.name),
      required: application.requiredScopes.includes(scope.name),
    }))
  return { can, lacking, prevented: granting.outcome === 'prevented' ? granting.by : null }
}

/** Roles that list the scope or, if there are none, roles that hold every scope. */
function rolesWith(roles: readonly UncountedRole[], scope: string): readonly string[] {
  const listing = roles.filter((role) => role.scopes.includes(scope))
  return (listing.length > 0 ? listing : roles.filter((role) => role.holdsEveryScope)).map((role) => role.name)
}
