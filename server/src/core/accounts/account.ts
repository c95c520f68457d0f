/** What an account is called: its slug, its name and its external id. */
import { isAccountName, isName } from '../applications/name.ts'

export const NAME =
  'A name or title has 1 to 100 characters. Line breaks, and marks that turn writing around, are not among them.'

const ADDRESS_IN_NAME =
  'The name of an account contains no web address: no ":/", no "www.", and no dot directly before letters.'

export const EXTERNAL_ID = 'An external id has 1 to 200 characters, none of them a control character.'

export function isExternalId(text: string): boolean {
  return text.length <= 200 && /^[^\p{Cc}\p{Cs}\p{Cn}]+$/u.test(text)
}

/** Slugs reserved for subdomains of the service itself. */
const RESERVED_SLUGS = ['www', 'api', 'auth', 'mail', 'admin', 'static', 'status', 'localhost']

const isHostLabel = (slug: string) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(slug) && !slug.startsWith('xn--')

/** Whether an account can have this slug. */
export function isSlug(slug: string): boolean {
  return isHostLabel(slug) && !RESERVED_SLUGS.includes(slug)
}

export type AccountProblem = { readonly field: 'slug' | 'name' | 'externalId'; readonly message: string }

export function problemOfAccount(account: {
  readonly slug: string
  readonly name: string
  readonly externalId: string | null
}): AccountProblem | null {
  const { slug, name, externalId } = account
  if (!isHostLabel(slug)) {
    const message = `The slug "${slug}" cannot be a host name: use a-z, 0-9 and inner dashes, at most 63 characters.`
    return { field: 'slug', message }
  }
  if (!isAccountName(name)) return { field: 'name', message: isName(name) ? ADDRESS_IN_NAME : NAME }
  if (RESERVED_SLUGS.includes(slug))
    return { field: 'slug', message: `The slug "${slug}" is reserved for the service itself.` }
  return externalId === null || isExternalId(externalId) ? null : { field: 'externalId', message: EXTERNAL_ID }
}
