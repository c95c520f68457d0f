/** Addresses of the operators’ pages about an account, a user or an application. */

export function accountHref(slug: string): string {
  return `/operator/account?account=${encodeURIComponent(slug)}`
}

export function personHref(userId: string): string {
  return `/operator/person?user=${encodeURIComponent(userId)}`
}

export function operatorHref(applicationId: string): string {
  return `/operator/application?application=${encodeURIComponent(applicationId)}`
}
