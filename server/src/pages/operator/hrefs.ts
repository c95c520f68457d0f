/** Addresses of the operators’ pages about an account, a user, a proposal or a vetting. */

export function accountHref(slug: string): string {
  return `/operator/account?account=${encodeURIComponent(slug)}`
}

export function personHref(userId: string): string {
  return `/operator/person?user=${encodeURIComponent(userId)}`
}

export function changeHref(applicationId: string): string {
  return `/operator/change?application=${encodeURIComponent(applicationId)}`
}

export function vettingHref(applicationId: string): string {
  return `/operator/vetting/application?application=${encodeURIComponent(applicationId)}`
}
