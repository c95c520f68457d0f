/**
 * Changes of e-mail addresses by management keys. Whoever reads the mailbox of a user can recover their sign-in, so a
 * new address counts only when the old mailbox or an administrator has confirmed it.
 * docs/decisions/0049-management-keys.md.
 */
import type { Origin } from '../sign-in/origin.ts'

/** How long a change can be confirmed. */
export const ADDRESS_CHANGE_MS = 7 * 24 * 60 * 60 * 1000

export type AddressFacts = {
  readonly origin: Origin
  readonly email: string
  readonly pendingEmail: string | null
  /** Has a password or a passkey, or had one before a reset. */
  readonly hasSignedIn: boolean
  /** The key may give all that the user holds, so it could make the user anew with any address. */
  readonly couldBeMade: boolean
}

export function decideAddress(
  { origin, email, pendingEmail, hasSignedIn, couldBeMade }: AddressFacts,
  wished: string,
): 'unchanged' | 'cancelled' | 'at_once' | 'pending' {
  if (wished === pendingEmail) return 'unchanged'
  if (wished === email) return pendingEmail === null ? 'unchanged' : 'cancelled'
  return origin !== 'own' || (!hasSignedIn && couldBeMade) ? 'at_once' : 'pending'
}

/** Changes that replace only the domain, the same one by the same one: they can be judged together. */
export type DomainChange<Change> = { readonly from: string; readonly to: string; readonly changes: readonly Change[] }

type Addresses = { readonly email: string; readonly pendingEmail: string }

/** A domain that changes for one user only is judged as any other change. */
export function byDomain<Change extends Addresses>(
  changes: readonly Change[],
): { readonly domains: readonly DomainChange<Change>[]; readonly others: readonly Change[] } {
  const groups = Map.groupBy(changes, ({ email, pendingEmail }) => {
    const [[name, from], [newName, to]] = [split(email), split(pendingEmail)]
    return name === newName ? `${from} ${to}` : null
  })
  const domains: DomainChange<Change>[] = []
  const others: Change[] = []
  for (const [key, group] of groups) {
    const [from = '', to = ''] = key?.split(' ') ?? []
    if (key === null || group.length === 1) others.push(...group)
    else domains.push({ from, to, changes: group })
  }
  return { domains, others }
}

function split(email: string): readonly [name: string, domain: string] {
  const at = email.lastIndexOf('@')
  return [email.slice(0, at), email.slice(at + 1)]
}
