/** Addresses of the operators' pages about an account or a user. */

export function accountHref(slug: string): string {
  return `/operator/account?account=${encodeURIComponent(slug)}`
}

export function personHref(userId: string): string {
  return `/operator/person?user=${encodeURIComponent(userId)}`
}
