/**
 * Exchange of the dialog's authorization code for a token set. docs/interface/dialog.md, "Exchange the code".
 *
 * A code can be exchanged once, and again only if the answer was lost: the exchange leases the code while its answer is
 * on the way. A code presented after its answer was sent is a replay and revokes the grant (RFC 6749 §4.1.2), unless it
 * comes with the same Idempotency-Key.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { byApplication } from '../../core/audit/actor.ts'
import { confirmExchange, type Dialog, exchange, releaseExchange } from '../../core/dialog/dialog.ts'
import { verifyAuthorizationCode } from '../../secrets/dialog-texts.ts'
import { digestIdempotencyKey } from '../../secrets/idempotency-key.ts'
import { fitsChallenge } from '../../secrets/pkce.ts'
import { createLeaseId } from '../../secrets/random.ts'
import { lockDialog, saveDialog } from '../../store/dialog/dialogs.ts'
import { lockGrant } from '../../store/grants/grants.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'
import { settle } from '../device/deliver.ts'
import { type IssuedTokenSet, issueFirst } from '../grants/issue.ts'
import { revokeGrant, revokeGrantWithMail } from '../grants/revoke.ts'

export type ExchangeRequest = {
  readonly applicationId: string
  /** Null for a public application. */
  readonly secret: string | null
  readonly code: string
  readonly redirectUri: string
  readonly codeVerifier: string | null
  readonly idempotencyKey: string | null
}

export type ExchangeTicket = { readonly dialogId: string; readonly leaseId: string }

export type ExchangeResult =
  | { readonly outcome: 'invalid_application' }
  /** Another exchange holds the lease and its result is unknown: retry. */
  | { readonly outcome: 'unavailable' }
  /** Forged, expired, exchanged before, wrong application, redirect URI or verifier: indistinguishable. */
  | { readonly outcome: 'invalid_grant' }
  /** The dialog had a challenge, and the request has no verifier. The code is still valid. */
  | { readonly outcome: 'verifier_missing' }
  | {
      readonly outcome: 'exchanged'
      readonly issued: IssuedTokenSet & { readonly state: string }
      /** Null for a repeated answer: there is nothing to confirm. */
      readonly ticket: ExchangeTicket | null
    }

const INVALID_GRANT: ExchangeResult = { outcome: 'invalid_grant' }

/** Waits while another exchange of the same code is being answered, until it has succeeded or failed. */
const WAITS_MS = [20, 50, 100, 200, 400, 800, 1_600, 1_600]

export async function exchangeCode(context: Context, request: ExchangeRequest): Promise<ExchangeResult> {
  const { applications, config, events } = context
  const arrivedAt = applications.now()
  const application = applications.authenticate(request.applicationId, request.secret)
  if (!application) return { outcome: 'invalid_application' }
  const dialogId = verifyAuthorizationCode(config.keys, request.code)
  if (dialogId === null) return INVALID_GRANT
  for (const waitMs of WAITS_MS) {
    const result = await tryExchange(context, request, application.id, dialogId, arrivedAt)
    if (result.outcome === 'ended') {
      events.grantRevoked(result.grantId, result.reason)
      return INVALID_GRANT
    }
    if (result.outcome === 'exchanged' && result.ticket) context.counts.credentials.add('token_set', 'first')
    if (result.outcome !== 'being_delivered') return result
    await sleep(waitMs)
  }
  // The process of the exchange that held the lease has died. Once the lease ends, the same request gets its tokens.
  return { outcome: 'unavailable' }
}

type Try =
  | ExchangeResult
  | { readonly outcome: 'being_delivered' }
  /** Refused, and the grant is revoked. */
  | { readonly outcome: 'ended'; readonly grantId: string; readonly reason: Ended }

function tryExchange(
  context: Context,
  request: ExchangeRequest,
  applicationId: string,
  dialogId: string,
  arrivedAt: number,
): Promise<Try> {
  const leaseId = createLeaseId()
  const { keys } = context.config
  const idempotencyKey =
    request.idempotencyKey === null ? null : digestIdempotencyKey(keys, request.idempotencyKey, dialogId)

  return context.db.transaction(async (tx): Promise<Try> => {
    const locked = await lockDialog(tx, dialogId)
    if (!locked?.dialog.grantId) return INVALID_GRANT
    const { dialog, now } = locked
    const { grantId } = locked.dialog
    const step = exchange(dialog, {
      applicationId,
      redirectUri: request.redirectUri,
      proven: isProven(dialog, request.codeVerifier),
      verifierMissing: dialog.codeChallenge !== null && request.codeVerifier === null,
      leaseId,
      idempotencyKey,
      arrivedAt,
      now,
      codeLifetimeMs: context.config.dialogCodeLifetimeMs,
    })
    switch (step.answer) {
      case 'not_valid':
        return INVALID_GRANT
      case 'verifier_missing':
        return { outcome: 'verifier_missing' }
      case 'being_delivered':
        return { outcome: 'being_delivered' }
      case 'burn':
        await saveDialog(tx, step.next)
        return revokeExchanged(tx, grantId, 'authorization_code_refused')
      case 'replayed':
        return revokeExchanged(tx, grantId, 'authorization_code_reused')
      case 'deliver':
      case 'repeat': {
        const issued = await issueFirst(context, tx, grantId, now, step.answer === 'repeat')
        if (!issued || !('accessToken' in issued)) return INVALID_GRANT
        const ticket = step.answer === 'deliver' ? { dialogId, leaseId } : null
        if (step.answer === 'deliver') await saveDialog(tx, step.next)
        return { outcome: 'exchanged', issued: { ...issued, state: dialog.state ?? '' }, ticket }
      }
    }
  })
}

/** A verifier without a challenge is refused too: a PKCE downgrade, or mixed-up requests (RFC 9700 §4.8.2). */
function isProven(dialog: Dialog, verifier: string | null): boolean {
  if (dialog.codeChallenge === null) return verifier === null
  return verifier !== null && fitsChallenge(verifier, dialog.codeChallenge)
}

type Ended = 'authorization_code_refused' | 'authorization_code_reused'

/**
 * A refused code never yielded tokens: revoke silently. A replayed one may have leaked: notify the user
 * (RFC 6749 §4.1.2).
 */
async function revokeExchanged(tx: Transaction, grantId: string, reason: Ended): Promise<Try> {
  const locked = await lockGrant(tx, grantId)
  if (!locked) return INVALID_GRANT
  const actor = byApplication(locked.grant.applicationId)
  const ended =
    reason === 'authorization_code_reused'
      ? await revokeGrantWithMail(tx, actor, locked.grant, reason)
      : await revokeGrant(tx, actor, locked.grant, reason)
  return ended ? { outcome: 'ended', grantId, reason } : INVALID_GRANT
}

export function confirmExchangeSent(context: Context, ticket: ExchangeTicket): Promise<void> {
  return settleExchange(context, ticket, confirmExchange)
}

export function releaseExchangeLost(context: Context, ticket: ExchangeTicket): Promise<void> {
  return settleExchange(context, ticket, releaseExchange)
}

function settleExchange(
  context: Context,
  { dialogId, leaseId }: ExchangeTicket,
  step: (dialog: Dialog, leaseId: string, now: number) => Dialog,
): Promise<void> {
  return settle(context, async (tx) => {
    const locked = await lockDialog(tx, dialogId)
    if (!locked) return
    const next = step(locked.dialog, leaseId, locked.now)
    if (next !== locked.dialog) await saveDialog(tx, next)
  })
}
