/** Webhooks: which events leave the house, and how often one is tried. docs/interface.md, "Webhooks". */

/** The kinds of audit events that the application they are about hears of. */
export const WEBHOOK_KINDS = [
  'grant.created',
  'grant.revoked',
  'grant.restored',
  'application.warned',
  'application.suspended',
  'application.restored',
  'credential.reported',
] as const

/** Sent to one endpoint, when its owner asks for it. */
export const WEBHOOK_TEST = 'webhook.test'

/** Live ones, per application: every one of them gets every event. */
export const MAX_ENDPOINTS = 5

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** From one attempt to the next; about a day and a third in all. */
const PAUSES_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR]

/** How long to wait after so many attempts that failed. Null: it is given up. */
export function pauseAfter(attempts: number): number | null {
  return PAUSES_MS[attempts - 1] ?? null
}

export type Attempt =
  | { readonly status: number }
  /** Nothing came back that has a status. */
  | { readonly error: string }

/** Any 2xx; everything else, also a redirect, is a failure (Standard Webhooks, "Delivery success and failure"). */
export function isDelivered(attempt: Attempt): boolean {
  return 'status' in attempt && attempt.status >= 200 && attempt.status <= 299
}

/** 410 Gone: whoever is there wants no more of them. */
export function isGone(attempt: Attempt): boolean {
  return 'status' in attempt && attempt.status === 410
}

/** From an address or a form; PostgreSQL is asked only for what can be one. */
export function isDeliveryId(text: string): boolean {
  return /^[1-9]\d{0,14}$/.test(text)
}
