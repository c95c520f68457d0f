/** Webhooks: which audit events are sent, and how attempts are scheduled. docs/interface/webhooks.md. */

/** Kinds of audit events that are sent to the application they concern. */
export const WEBHOOK_KINDS = [
  'grant.created',
  'grant.revoked',
  'grant.restored',
  'application.warned',
  'application.suspended',
  'application.restored',
  'credential.reported',
] as const

/** Test event, sent to one endpoint at its owner's request. */
export const WEBHOOK_TEST = 'webhook.test'

/** Live endpoints per application; each gets every event. */
export const MAX_ENDPOINTS = 5

/** Why a URL is not acceptable, as far as can be told without DNS. */
export type AddressProblem =
  | 'too_long'
  | 'not_an_address'
  | 'scheme'
  | 'userinfo'
  | 'fragment'
  | 'port'
  | 'host'
  | 'private'

/** Why an endpoint cannot be added. */
export type EndpointProblem = AddressProblem | 'exists' | 'too_many'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Delays between attempts; about a day and a third in all. */
const RETRY_DELAYS_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR]

/** Delay after this many failed attempts. Null: give up. */
export function retryDelayAfter(attempts: number): number | null {
  return RETRY_DELAYS_MS[attempts - 1] ?? null
}

export type Attempt =
  | { readonly status: number }
  /** No HTTP response. */
  | { readonly error: string }

/**
 * Any 2xx is success; everything else, including redirects, is a failure (Standard Webhooks, "Delivery success and
 * failure").
 */
export function isDelivered(attempt: Attempt): boolean {
  return 'status' in attempt && attempt.status >= 200 && attempt.status <= 299
}

/** 410 Gone: the receiver wants no further events. */
export function isGone(attempt: Attempt): boolean {
  return 'status' in attempt && attempt.status === 410
}

/** Syntax check of untrusted input before a query. */
export function isDeliveryId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text)
}
