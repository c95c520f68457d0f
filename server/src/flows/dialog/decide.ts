/**
 * Decision in the dialog. Allowing it creates the grant; the returned authorization code is computed from the dialog's
 * id and must be exchanged within a minute.
 */
import { policyAllows } from '../../core/accounts/policy.ts'
import { byUser } from '../../core/audit/actor.ts'
import { decide } from '../../core/dialog/dialog.ts'
import { isRegisteredRedirect } from '../../core/dialog/redirect-uri.ts'
import { resolveConsent } from '../../core/grants/scope.ts'
import { ownBucket } from '../../secrets/bucket.ts'
import { signAuthorizationCode } from '../../secrets/dialog-texts.ts'
import { createGrantId } from '../../secrets/random.ts'
import { readAccount } from '../../store/accounts/accounts.ts'
import { lockUser } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { readScopes } from '../../store/applications/scopes.ts'
import { countOutsideGrant, lockUnvetted } from '../../store/applications/vettings.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { lockDialog, saveDialog } from '../../store/dialog/dialogs.ts'
import { holdSession, type SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { createGrant } from '../grants/create.ts'
import { isAsShown } from '../grants/describe-consent.ts'
import { dialogApproval } from './approval.ts'

export type DialogAnswer =
  | { readonly decision: 'cancel' }
  /** `shown`: the scopes that the user saw and allowed. */
  | { readonly decision: 'allow'; readonly shown: readonly string[]; readonly address: string | null }

type Return = { readonly redirectUri: string; readonly state: string | null }

export type DialogDecision =
  | (Return & { readonly outcome: 'allowed'; readonly code: string })
  | (Return & { readonly outcome: 'denied' })
  /** Nothing was decided: the scopes to grant differ from those shown, or may not be granted at all. */
  | { readonly outcome: 'changed' }
  /** A dangerous scope: the user must re-authenticate first. */
  | { readonly outcome: 'stale_session' }
  /** No operator has looked at the application yet: the page says what it may not have. */
  | { readonly outcome: 'unvetted' }
  /** Decided before, or expired. */
  | { readonly outcome: 'not_open' }

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
    const unvetted =
      locked && user && answer.decision === 'allow' ? await lockUnvetted(tx, locked.dialog.applicationId, user) : null
    // Checked after locking the user: a password change may have ended the session meanwhile.
    const session = await holdSession(tx, sessionUser.session.id, sessionUser.id)
    if (!locked || !user || user.disabled || !session) return { outcome: 'not_open' } as const
    const { dialog, now } = locked
    const { redirectUri, state } = dialog
    const step = decide(dialog, {
      userId: user.id,
      grantId: answer.decision === 'allow' ? grantId : null,
      now,
      codeLifetimeMs: config.dialogCodeLifetimeMs,
    })
    if (step.answer === 'not_open') return { outcome: 'not_open' } as const
    if (step.answer === 'repeated')
      return { outcome: 'decided', redirectUri, state, granted: null, denied: null } as const
    const application = await findApplication(tx, dialog.applicationId)
    const account = await readAccount(tx, user.accountId)
    if (!application || application.deleted || !account) return { outcome: 'not_open' } as const
    if (!isRegisteredRedirect(application.redirectUris, redirectUri)) return { outcome: 'not_open' } as const
    const about = { accountId: user.accountId, applicationId: application.id }

    if (answer.decision === 'cancel') {
      await saveDialog(tx, step.next)
      await recordEvent(tx, { kind: 'dialog.denied', actor: byUser(user.id), ...about, userId: user.id })
      return { outcome: 'decided', redirectUri, state, granted: null, denied: about } as const
    }
    if (application.suspended || !policyAllows(account.policy, application)) return { outcome: 'changed' } as const
    const consent = resolveConsent(dialog.scopes, user.heldScopes, application)
    const scopes = await readScopes(tx, consent.granted)
    const approval = dialogApproval(context, scopes, unvetted, session.authenticatedAt, now)
    if (approval === 'reauthenticate') return { outcome: 'stale_session' } as const
    if (approval !== 'ok') return { outcome: 'unvetted' } as const
    if (!consent.grantable || !isAsShown(answer.shown, consent.granted)) return { outcome: 'changed' } as const
    if (unvetted && !unvetted.counted) await countOutsideGrant(tx, application.id)
    await createGrant(tx, byUser(user.id), user, application, {
      id: grantId,
      variant: 'token_set',
      scopes: consent.granted,
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
    code: signAuthorizationCode(config.keys, dialogId, ownBucket(config.cell)),
    redirectUri,
    state,
  }
}
