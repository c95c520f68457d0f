/**
 * Decision in the dialog. Allowing it creates the grant; the returned authorization code is computed from the dialog's
 * id and must be exchanged within a minute.
 */
import { byUser } from '../../core/audit/actor.ts'
import { decide } from '../../core/dialog/dialog.ts'
import { isRegisteredRedirect } from '../../core/dialog/redirect-uri.ts'
import { type Granting, mayGrant } from '../../core/grants/granting.ts'
import { signAuthorizationCode } from '../../secrets/dialog-texts.ts'
import { createGrantId } from '../../secrets/random.ts'
import { lockUser } from '../../store/accounts/users.ts'
import { countOutsideGrant, lockUnvetted } from '../../store/applications/vettings.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { lockDialog, saveDialog } from '../../store/dialog/dialogs.ts'
import { holdSession, type SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { createGrant } from '../grants/create.ts'
import { readFacts, readOnPage } from '../grants/granting-facts.ts'

export type DialogAnswer =
  | { readonly decision: 'cancel' }
  /** `shown`: the scopes that the user saw and allowed. */
  | { readonly decision: 'allow'; readonly shown: readonly string[]; readonly address: string | null }

type Return = { readonly redirectUri: string; readonly state: string | null }

export type DialogDecision =
  | (Return & { readonly outcome: 'allowed'; readonly code: string })
  | (Return & { readonly outcome: 'denied' })
  /** Decided before, expired, or the session has ended. */
  | { readonly outcome: 'not_open' }
  /** Nothing was decided. */
  | Exclude<Granting, { readonly outcome: 'ok' }>

const NOT_OPEN = { outcome: 'not_open' } as const

export async function decideDialog(
  context: Context,
  sessionUser: SessionUser,
  dialogId: string,
  answer: DialogAnswer,
): Promise<DialogDecision> {
  const { db, config, events } = context
  const grantId = createGrantId()

  const result = await db.transaction(async (tx) => {
    const locked = await lockDialog(tx, dialogId)
    const user = await lockUser(tx, sessionUser.id)
    if (!locked || !user) return NOT_OPEN
    const { dialog, now } = locked
    const { redirectUri, state } = dialog
    await lockUnvetted(tx, dialog.applicationId, user)
    // Checked after locking the user: a password change may have ended the session meanwhile.
    const session = await holdSession(tx, sessionUser.session.id, sessionUser.id)
    if (!session) return NOT_OPEN
    const step = decide(dialog, {
      userId: user.id,
      grantId: answer.decision === 'allow' ? grantId : null,
      now,
      codeLifetimeMs: config.dialogCodeLifetimeMs,
    })
    if (step.answer === 'not_open') return NOT_OPEN
    const request = { flow: 'dialog', ...dialog } as const
    const given = answer.decision === 'allow' ? { shown: answer.shown, retyped: false } : null
    const by = await readOnPage(context, tx, request, { userId: user.id, session, address: null, now }, given)
    const facts = await readFacts(tx, request, user, by, now)
    if (!facts) return { outcome: 'gone' } as const
    const granting = mayGrant(facts)
    if (granting.outcome === 'gone') return granting
    if (step.answer === 'repeated')
      return { outcome: 'decided', redirectUri, state, granted: null, denied: null } as const
    const { application, unvetted } = facts
    if (!isRegisteredRedirect(application.redirectUris, redirectUri)) return NOT_OPEN
    const about = { accountId: user.accountId, applicationId: application.id }

    if (answer.decision === 'cancel') {
      await saveDialog(tx, step.next)
      await recordEvent(tx, { kind: 'dialog.denied', actor: byUser(user.id), ...about, userId: user.id })
      return { outcome: 'decided', redirectUri, state, granted: null, denied: about } as const
    }
    if (granting.outcome !== 'ok') return granting
    if (unvetted && !unvetted.counted) await countOutsideGrant(tx, application.id)
    await createGrant(tx, byUser(user.id), user, application, {
      id: grantId,
      variant: 'token_set',
      scopes: granting.consent.granted,
      keyId: config.keys.signing.id,
      deviceCodeId: null,
      dialogId,
      testEndsAt: null,
      requestedFrom: answer.address,
    })
    await saveDialog(tx, step.next)
    return { outcome: 'decided', redirectUri, state, granted: about, denied: null } as const
  })

  if (result.outcome !== 'decided') return result
  const { redirectUri, state, granted, denied } = result
  if (granted) events.granted(grantId, granted.applicationId, granted.accountId)
  if (denied) events.dialogDenied(denied.applicationId, denied.accountId)
  if (answer.decision === 'cancel') return { outcome: 'denied', redirectUri, state }
  return {
    outcome: 'allowed',
    code: signAuthorizationCode(config.keys, dialogId),
    redirectUri,
    state,
  }
}
