/**
 * What an audit event says about a change of a user or an account: the log outlives both, so it names no name and
 * no address.
 */
const PERSONAL = ['email', 'name', 'externalId']

/** Members that become different, with their values unless they are personal. */
export function changedMembers<T extends object>(
  before: T,
  after: Partial<T>,
): Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown }>> {
  const names = Object.keys(after) as (keyof T & string)[]
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
  const valuesOf = (name: keyof T & string) => (PERSONAL.includes(name) ? {} : { from: before[name], to: after[name] })
  return Object.fromEntries(changed.map((name) => [name, valuesOf(name)]))
}
