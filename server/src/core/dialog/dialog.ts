/**
 * State machine of a dialog: an authorization request in a browser, from the consent page to the exchange of its code.
 * docs/interface/dialog.md. Like that of a device code (core/device/code.ts), its expiry is never stored.
 */
import { LEASE_MS, REPEAT_MS } from '../device/code.ts'

export type Dialog = {
  readonly id: string
  readonly applicationId: string
  /** As requested: a registered redirect URI, with any port if it is a loopback one. */
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** The application's `state` parameter, echoed back; null when it sent none. */
  readonly state: string | null
  readonly codeChallenge: string | null
  /** Deadline of the decision. */
  readonly expiresAt: number
  readonly decidedAt: number | null
  readonly userId: string | null
  /** Null on a decided dialog: denied. */
  readonly grantId: string | null
  /** The exchange that is being answered. */
  readonly delivery: DialogDelivery | null
  /** When the response of the exchange was sent, or the code was burned. */
  readonly usedAt: number | null
}

export type DialogDelivery = {
  readonly leaseId: string
  readonly until: number
  /** Digest of the exchange's Idempotency-Key: a retry with the same key gets the same token set, for REPEAT_MS. */
  readonly idempotencyKey: string | null
}

/** From opening the window to the decision: time to find a password, but not to leave the window open over night. */
export const DIALOG_LIFETIME_MS = 10 * 60 * 1000

/** After this the dialog is purged, and its code is unknown. */
export const DIALOG_KEPT_MS = 24 * 60 * 60 * 1000

export type DialogStatus = 'open' | 'expired' | 'denied' | 'allowed' | 'used'

export function dialogStatus(dialog: Dialog, now: number): DialogStatus {
  if (dialog.usedAt !== null) return 'used'
  if (dialog.decidedAt !== null) return dialog.grantId === null ? 'denied' : 'allowed'
  return now < dialog.expiresAt ? 'open' : 'expired'
}

export type DecisionStep =
  | { readonly answer: 'decided'; readonly next: Dialog }
  /** The same user repeats the same decision, perhaps because the response was lost. */
  | { readonly answer: 'repeated' }
  /** Already decided, or expired. */
  | { readonly answer: 'not_open' }

export type Decision = {
  readonly userId: string
  /** Null: denied. */
  readonly grantId: string | null
  readonly now: number
  readonly codeLifetimeMs: number
}

export function decide(dialog: Dialog, { userId, grantId, now, codeLifetimeMs }: Decision): DecisionStep {
  if (dialogStatus(dialog, now) === 'open') {
    return { answer: 'decided', next: { ...dialog, userId, grantId, decidedAt: now } }
  }
  const same = dialog.userId === userId && (dialog.grantId === null) === (grantId === null)
  const recent = now < (dialog.decidedAt ?? 0) + codeLifetimeMs
  return { answer: same && recent && dialog.usedAt === null && !dialog.delivery ? 'repeated' : 'not_open' }
}

export type Exchange = {
  readonly applicationId: string
  readonly redirectUri: string
  /** The verifier matches the challenge; or there is no challenge and no verifier was sent. */
  readonly proven: boolean
  /** There is a challenge, and no verifier was sent. */
  readonly verifierMissing: boolean
  readonly leaseId: string
  readonly idempotencyKey: string | null
  /** When the request arrived, before it waited for a lock. */
  readonly arrivedAt: number
  readonly now: number
  readonly codeLifetimeMs: number
}

export type ExchangeStep =
  | { readonly answer: 'deliver'; readonly next: Dialog }
  /** The token set was sent before and the same exchange is retried: send it again, nothing changes. */
  | { readonly answer: 'repeat' }
  /** Another exchange is being answered at this moment: retry shortly. */
  | { readonly answer: 'being_delivered' }
  /** Refused without a change. */
  | { readonly answer: 'not_valid' }
  /**
   * Everything fits but for the verifier, which was not sent: refused without a change. A thief gains nothing by it, and
   * the application that forgot it may send it.
   */
  | { readonly answer: 'verifier_missing' }
  /**
   * Refused, and the code is invalidated: it was presented by the wrong client, or too late. Its grant was never
   * delivered.
   */
  | { readonly answer: 'burn'; readonly next: Dialog }
  /** The request is valid, but the code was exchanged before: two parties hold it, so revoke its grant. */
  | { readonly answer: 'replayed' }

export function exchange(dialog: Dialog, given: Exchange): ExchangeStep {
  const status = dialogStatus(dialog, given.now)
  if (status !== 'allowed' && status !== 'used') return { answer: 'not_valid' }
  const fitsUnproven = given.applicationId === dialog.applicationId && given.redirectUri === dialog.redirectUri
  const fits = fitsUnproven && given.proven
  const repetition = fits && given.idempotencyKey !== null && given.idempotencyKey === dialog.delivery?.idempotencyKey
  if (status === 'used' && repetition && given.now < takenAt(dialog) + REPEAT_MS) return { answer: 'repeat' }
  // A request that arrived before the first one was answered is a concurrent duplicate of the same application, not a
  // replay.
  if (status === 'used') return { answer: fits && given.arrivedAt > (dialog.usedAt ?? 0) ? 'replayed' : 'not_valid' }
  // An earlier exchange may have delivered the credentials; a later invalid or late request must not revoke them.
  if (dialog.delivery && given.now < dialog.delivery.until && !repetition) {
    return { answer: fits ? 'being_delivered' : 'not_valid' }
  }
  const late = given.now >= (dialog.decidedAt ?? 0) + given.codeLifetimeMs
  if (fitsUnproven && given.verifierMissing && !late) return { answer: 'verifier_missing' }
  if (!fits || late) {
    return dialog.delivery ? { answer: 'not_valid' } : { answer: 'burn', next: { ...dialog, usedAt: given.now } }
  }
  const { leaseId, idempotencyKey } = given
  const delivery = { leaseId, until: given.now + LEASE_MS, idempotencyKey }
  return { answer: 'deliver', next: { ...dialog, delivery } }
}

/** When the exchange that was answered took its lease. */
function takenAt({ delivery }: Dialog): number {
  return (delivery?.until ?? 0) - LEASE_MS
}

/** The response was handed to the network. */
export function confirmExchange(dialog: Dialog, leaseId: string, now: number): Dialog {
  return dialog.delivery?.leaseId === leaseId && dialog.usedAt === null ? { ...dialog, usedAt: now } : dialog
}

/** The client disconnected before the response was sent: the next exchange may have it. */
export function releaseExchange(dialog: Dialog, leaseId: string): Dialog {
  return dialog.delivery?.leaseId === leaseId && dialog.usedAt === null ? { ...dialog, delivery: null } : dialog
}
