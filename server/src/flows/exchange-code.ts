/**
 * The application exchanges the dialog's code for a token set. docs/interface.md, "Exchange the code".
 *
 * Once, and until it was heard: the exchange holds the code while its answer is on the way. A code that comes back after that
 * is in two hands, and what it led to ends (RFC 6749, section 4.1.2).
 */
import { confirmExchange, type Dialog, exchange, releaseExchange } from '../core/dialog.ts'
import { openAuthorizationCode } from '../secrets/dialog-texts.ts'
import { fitsChallenge } from '../secrets/pkce.ts'
import { createLeaseId } from '../secrets/random.ts'
import { lockDialog, saveDialog } from '../store/dialogs.ts'
import { lockGrant } from '../store/grants.ts'
import type { Transaction } from '../store/postgres.ts'
import type { Context } from './context.ts'
import { settle } from './deliver.ts'
import { endGrant, endGrantWithMail } from './end-grant.ts'
import { type IssuedTokenSet, issueFirst } from './issue.ts'

export type ExchangeRequest = {
  readonly applicationId: string
  /** Null: a public application, which has none. */
  readonly secret: string | null
  readonly code: string
  readonly redirectUri: string
  readonly codeVerifier: string | null
}

export type ExchangeTicket = { readonly dialogId: string; readonly leaseId: string }

export type ExchangeResult =
  | { readonly outcome: 'invalid_application' }
  /** Forged, too late, exchanged before, of another application or address, or without the right verifier: one answer. */
  | { readonly outcome: 'invalid_grant' }
  | {
      readonly outcome: 'exchanged'
      readonly issued: IssuedTokenSet & { readonly state: string }
      readonly ticket: ExchangeTicket
    }

const INVALID_GRANT: ExchangeResult = { outcome: 'invalid_grant' }

export async function exchangeCode(context: Context, request: ExchangeRequest): Promise<ExchangeResult> {
  const { applications, config, db, events } = context
  const application = applications.authenticate(request.applicationId, request.secret)
  if (!application) return { outcome: 'invalid_application' }
  const dialogId = openAuthorizationCode(config.keys, request.code)
  if (dialogId === null) return INVALID_GRANT
  const leaseId = createLeaseId()

  return db.transaction(async (tx): Promise<ExchangeResult> => {
    const locked = await lockDialog(tx, dialogId)
    if (!locked?.dialog.grantId) return INVALID_GRANT
    const { dialog, now } = locked
    const step = exchange(dialog, {
      applicationId: application.id,
      redirectUri: request.redirectUri,
      proven: isProven(dialog, request.codeVerifier),
      leaseId,
      now,
      codeLifetimeMs: config.dialogCodeLifetimeMs,
    })
    if (step.answer === 'not_valid') return INVALID_GRANT
    if (step.answer === 'burn' || step.answer === 'replayed') {
      if (step.answer === 'burn') await saveDialog(tx, step.next)
      if (await endExchanged(tx, locked.dialog.grantId, step.answer))
        events.grantEnded(locked.dialog.grantId, step.answer)
      return INVALID_GRANT
    }
    const issued = await issueFirst(context, tx, locked.dialog.grantId, now, false)
    if (!issued || !('accessToken' in issued)) return INVALID_GRANT
    await saveDialog(tx, step.next)
    return { outcome: 'exchanged', issued: { ...issued, state: dialog.state ?? '' }, ticket: { dialogId, leaseId } }
  })
}

/** A verifier without a challenge is refused as well: somebody mixes two requests up (RFC 9700, section 4.8.2). */
function isProven(dialog: Dialog, verifier: string | null): boolean {
  if (dialog.codeChallenge === null) return verifier === null
  return verifier !== null && fitsChallenge(verifier, dialog.codeChallenge)
}

async function endExchanged(tx: Transaction, grantId: string, why: 'burn' | 'replayed'): Promise<boolean> {
  const locked = await lockGrant(tx, grantId)
  if (!locked) return false
  if (why === 'burn') return endGrant(tx, locked.grant, 'authorization_code_refused')
  return endGrantWithMail(tx, locked.grant, 'authorization_code_reused')
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
  step: (dialog: Dialog, leaseId: string) => Dialog,
): Promise<void> {
  return settle(context, async (tx) => {
    const locked = await lockDialog(tx, dialogId)
    if (!locked) return
    const next = step(locked.dialog, leaseId)
    if (next !== locked.dialog) await saveDialog(tx, next)
  })
}
