/** What a rate limit says of a request. */

export type LimitResult = { readonly passed: true } | { readonly passed: false; readonly waitMs: number }
