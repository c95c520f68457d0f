/** What changes of sign-in methods share: each is recorded, and mailed to the user. */
import { byUser } from '../../core/audit/actor.ts'
import type { MailContent } from '../../core/mail.ts'
import { type AuditEvent, recordEvent } from '../../store/audit/events.ts'
import { insertMail } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { lockSession, readSignInUser } from '../../store/sign-in/methods.ts'
import { deleteRecoveryCodes } from '../../store/sign-in/recovery-codes.ts'
import {
  type HostAccount,
  markSecondFactor,
  type SessionUser,
  unmarkSecondFactor,
} from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { hasSecondFactor, issueRecoveryCodes } from './recovery-codes.ts'

/** `recoveryCodes`: new ones, to be shown once; null unless this is the user's first second factor. */
export type AddedFactor =
  | { readonly outcome: 'added'; readonly recoveryCodes: readonly string[] | null }
  | { readonly outcome: 'refused' }

export const REFUSED: AddedFactor = { outcome: 'refused' }

/** The session counts as made with the second factor from now on: the user has just proved to have it. */
export function addFactor(
  context: Context,
  account: HostAccount,
  sessionUser: SessionUser,
  method: 'passkey' | 'authenticator',
  insert: (tx: Transaction) => Promise<boolean>,
): Promise<AddedFactor> {
  return context.db.transaction(async (tx): Promise<AddedFactor> => {
    if (!(await lockSession(tx, sessionUser.session.id, sessionUser.id))) return REFUSED
    const before = await readSignInUser(tx, account.id, sessionUser.id)
    if (!before) return REFUSED
    const isFirst = !hasSecondFactor(before)
    // Another session may have added the first one since this request began.
    if (!isFirst && !sessionUser.session.secondFactor) return REFUSED
    if (!(await insert(tx))) return REFUSED
    await markSecondFactor(tx, sessionUser.session.id)
    const recoveryCodes = isFirst ? await issueRecoveryCodes(context, tx, sessionUser.id) : null
    const detail = { method }
    await recordChange(tx, account, sessionUser, `user.${method}_added`, { kind: 'sign_in_method_added', detail })
    return { outcome: 'added', recoveryCodes }
  })
}

/** After the last second factor was removed. */
export async function forgetSecondFactor(tx: Transaction, userId: string): Promise<void> {
  await deleteRecoveryCodes(tx, userId)
  await unmarkSecondFactor(tx, userId)
}

export async function recordChange(
  tx: Transaction,
  account: HostAccount,
  sessionUser: SessionUser,
  kind: Extract<
    AuditEvent['kind'],
    'user.password_set' | `user.passkey_${'added' | 'removed'}` | `user.authenticator_${'added' | 'removed'}`
  >,
  matter: Extract<MailContent, { kind: 'password_changed' | 'sign_in_method_added' | 'sign_in_method_removed' }>,
): Promise<void> {
  const about = { accountId: account.id, userId: sessionUser.id }
  await recordEvent(tx, { kind, actor: byUser(sessionUser.id), ...about })
  await insertMail(tx, { ...matter, ...about, linkId: null, language: sessionUser.language ?? 'en' })
}
