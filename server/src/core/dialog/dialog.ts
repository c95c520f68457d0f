/**
 * The life of one dialog: an authorization request in a browser, from the question to the one exchange of its code.
 * docs/interface.md, "The dialog". Like a device code (core/device/code.ts), it expires without anybody writing it down.
 */
export type Dialog = {
  readonly id: string
  readonly applicationId: string
  /** One of the application's own, as it was registered. */
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** The application's own text, echoed back; null when it sent none. */
  readonly state: string | null
  readonly codeChallenge: string | null
  /** Until then it can be decided. */
  readonly expiresAt: number
  readonly decidedAt: number | null
  readonly userId: string | null
  /** Of a decided dialog, null means no. */
  readonly grantId: string | null
  /** The exchange that is being answered. */
  readonly delivery: DialogDelivery | null
  /** When its answer was sent, or it was burned. */
  readonly usedAt: number | null
}

export type DialogDelivery = { readonly leaseId: string; readonly until: number }

/** From opening the window to the decision: time to find a password, not to leave it open over night. */
export const DIALOG_LIFETIME_MS = 10 * 60 * 1000

/** Afterwards a code that comes back is just as unknown as one that never was. */
export const DIALOG_KEPT_MS = 24 * 60 * 60 * 1000

/** As long as for a device code (core/device/code.ts, LEASE_MS), and for the same reason. */
const LEASE_MS = 10_000

export type DialogStatus = 'open' | 'expired' | 'denied' | 'allowed' | 'used'

export function dialogStatus(dialog: Dialog, now: number): DialogStatus {
  if (dialog.usedAt !== null) return 'used'
  if (dialog.decidedAt !== null) return dialog.grantId === null ? 'denied' : 'allowed'
  return now < dialog.expiresAt ? 'open' : 'expired'
}

export type DecisionStep =
  | { readonly answer: 'decided'; readonly next: Dialog }
  /** The same user said the same a moment ago, and perhaps did not see what came of it. */
  | { readonly answer: 'repeated' }
  /** Decided before, or out of time. */
  | { readonly answer: 'not_open' }

export type Decision = {
  readonly userId: string
  /** Null: the user says no. */
  readonly grantId: string | null
  readonly now: number
  readonly codeLifetimeMs: number
}

export function decide(dialog: Dialog, { userId, grantId, now, codeLifetimeMs }: Decision): DecisionStep {
  if (dialogStatus(dialog, now) === 'open') {
    return { answer: 'decided', next: { ...dialog, userId, grantId, decidedAt: now } }
  }
  const same = dialog.userId === userId && (dialog.grantId === null) === (grantId === null)
  const recent = dialog.decidedAt !== null && now < dialog.decidedAt + codeLifetimeMs
  return { answer: same && recent && dialog.usedAt === null && !dialog.delivery ? 'repeated' : 'not_open' }
}

export type Exchange = {
  readonly applicationId: string
  readonly redirectUri: string
  /** The verifier fits the challenge; without a challenge, none was sent. */
  readonly proven: boolean
  readonly leaseId: string
  /** When the request came in, before it waited for anything. */
  readonly arrivedAt: number
  readonly now: number
  readonly codeLifetimeMs: number
}

export type ExchangeStep =
  | { readonly answer: 'deliver'; readonly next: Dialog }
  /** Another exchange is being answered at this moment: ask again shortly. */
  | { readonly answer: 'being_delivered' }
  /** Refused, and nothing changes. */
  | { readonly answer: 'not_valid' }
  /** Refused for good: the code was in the wrong hands, or too late. What was granted by it, nobody ever got. */
  | { readonly answer: 'burn'; readonly next: Dialog }
  /** All fits, but it was exchanged before: two hold this code, so what it led to ends. */
  | { readonly answer: 'replayed' }

export function exchange(dialog: Dialog, given: Exchange): ExchangeStep {
  const status = dialogStatus(dialog, given.now)
  if (status !== 'allowed' && status !== 'used') return { answer: 'not_valid' }
  const fits = given.applicationId === dialog.applicationId && given.redirectUri === dialog.redirectUri && given.proven
  // One that was under way when the other was answered is merely late: its application asked twice, and nobody stole anything.
  if (status === 'used') return { answer: fits && given.arrivedAt > (dialog.usedAt ?? 0) ? 'replayed' : 'not_valid' }
  // Somebody may hold what an earlier exchange led to; it is not taken from them because another one was wrong or late.
  if (dialog.delivery && given.now < dialog.delivery.until) return { answer: fits ? 'being_delivered' : 'not_valid' }
  const late = given.now >= (dialog.decidedAt ?? 0) + given.codeLifetimeMs
  if (!fits || late) {
    return dialog.delivery ? { answer: 'not_valid' } : { answer: 'burn', next: { ...dialog, usedAt: given.now } }
  }
  const delivery = { leaseId: given.leaseId, until: given.now + LEASE_MS }
  return { answer: 'deliver', next: { ...dialog, delivery } }
}

/** The answer was handed to the network. */
export function confirmExchange(dialog: Dialog, leaseId: string, now: number): Dialog {
  return dialog.delivery?.leaseId === leaseId && dialog.usedAt === null ? { ...dialog, usedAt: now } : dialog
}

/** The client was gone before the answer: whoever asks next may have it. */
export function releaseExchange(dialog: Dialog, leaseId: string): Dialog {
  return dialog.delivery?.leaseId === leaseId && dialog.usedAt === null ? { ...dialog, delivery: null } : dialog
}
