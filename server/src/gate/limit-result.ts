/** Result of a rate limit. */

export type LimitResult = { readonly passed: true } | { readonly passed: false; readonly waitMs: number }
