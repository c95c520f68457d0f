/**
 * One-time links sent to users: to set a password (first time or recovery) and to remove a grant. Opening a link
 * changes nothing; using it spends it.
 */
import type { Config } from '../../config.ts'
import { byAnybody, byMailLink } from '../../core/audit/actor.ts'
import type { MailContent } from '../../core/mail.ts'
import { networkOf } from '../../core/network.ts'
import { appliesTo, maySignIn } from '../../core/sign-in/origin.ts'
import type { PasswordProblem } from '../../core/sign-in/password.ts'
import { signLink, verifyLink } from '../../secrets/web-texts.ts'
import { lockUserForChange } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { markRevoked, revokeGrants } from '../../store/grants/grants.ts'
import { insertMail, lockRecentMails } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import {
  confirmEmail,
  findLink,
  type Link,
  lockLink,
  type PasswordLinkKind,
  setsPassword,
  spendLink,
  spendPasswordLinks,
} from '../../store/sign-in/links.ts'
import { findSignInUser, readSignInUser, savePassword } from '../../store/sign-in/methods.ts'
import { deleteSessions, type HostAccount } from '../../store/sign-in/sessions.ts'
import { accountOrigin } from '../accounts/address.ts'
import { endTestModesOf } from '../applications/test-mode.ts'
import type { Context } from '../context.ts'
import { refuseChoice } from './chosen-password.ts'
import { createLink, type Recipient } from './mailed-link.ts'
import { ruleOf } from './origin.ts'
import { busy, sourceOf } from './prove.ts'
import type { Browser } from './sessions.ts'
import { enterWithPassword, type SignInResult } from './sign-in.ts'

export function linkAddress(
  context: { readonly config: Pick<Config, 'keys' | 'publicUrl'> },
  slug: string,
  linkId: string,
): string {
  return `${accountOrigin(context, slug)}/link?token=${signLink(context.config.keys, linkId, slug)}`
}

/**
 * Queues a mail with the link id; the URL is computed when it is sent. `reset`: an administrator removed all factors.
 */
export async function mailLink(
  tx: Transaction,
  user: Recipient,
  language: string,
  matter: Extract<MailContent, { kind: 'invitation' | 'recovery' | 'reset' }>,
): Promise<void> {
  const linkId = await createLink(tx, matter.kind, user)
  await insertMail(tx, { ...matter, accountId: user.accountId, userId: user.id, linkId, language })
}

/** Gives the same answer for known and unknown addresses (no user enumeration). At most 3 mails per user and hour. */
export async function requestRecovery(
  context: Context,
  account: HostAccount,
  email: string,
  language: string,
): Promise<void> {
  const user = await findSignInUser(context.db, account.id, email.trim().toLowerCase())
  if (!user || user.disabled || !appliesTo(user.origin, 'recovery')) return
  if (!maySignIn(ruleOf(context, account), user)) return
  await context.db.transaction(async (tx) => {
    if ((await lockRecentMails(tx, user.id, ['recovery'])) >= 3) return
    await mailLink(tx, user, user.language ?? language, { kind: 'recovery', detail: {} })
    await recordEvent(tx, {
      kind: 'user.recovery_requested',
      actor: byAnybody('web'),
      accountId: account.id,
      userId: user.id,
    })
  })
}

export async function readLink(context: Context, account: HostAccount, text: string): Promise<Link | null> {
  const id = verifyLink(context.config.keys, text, account.slug)
  return id === null ? null : findLink(context.db, account.id, id)
}

/** Whether the user of a link signs in here. */
export function maySetPassword(context: Context, account: HostAccount, { breakGlass }: Link): boolean {
  return maySignIn(ruleOf(context, account), { origin: 'own', breakGlass })
}

export type LinkResult =
  | SignInResult
  | { readonly outcome: 'gone' }
  | {
      readonly outcome: 'unfit'
      readonly problem: PasswordProblem
      readonly kind: PasswordLinkKind
      readonly email: string
    }

/** Sets the password, ends all sessions and signs in; a second factor is still required. */
export async function setPasswordByLink(
  context: Context,
  account: HostAccount,
  given: { readonly link: string; readonly password: string; readonly again: string },
  browser: Browser,
): Promise<LinkResult> {
  const link = await readLink(context, account, given.link)
  if (!link || !setsPassword(link)) return { outcome: 'gone' }
  if (!maySetPassword(context, account, link)) return { outcome: 'gone' }
  const refused = await refuseChoice(context, link.id, given, account, link.email)
  if (refused?.outcome === 'locked') return refused
  if (refused) return { ...refused, kind: link.kind, email: link.email }
  const source = sourceOf({ accountId: account.id, network: networkOf(browser.address) })
  const digest = await context.passwords.known(source).digest(given.password).catch(busy)
  if (typeof digest !== 'string') return digest

  const set = await context.db.transaction(async (tx) => {
    const owner = await lockUserForChange(tx, link.userId)
    if (!owner || !(await lockLink(tx, account.id, link.id))) return false
    const about = { accountId: account.id, userId: owner.id }
    const actor = byMailLink(owner.id)
    await confirmEmail(tx, link.id)
    await spendPasswordLinks(tx, owner.id)
    await savePassword(tx, owner.id, digest)
    await deleteSessions(tx, owner.id)
    await recordEvent(tx, { kind: 'user.password_set', actor, ...about, detail: { link: link.kind } })
    // A first password needs no notification. After a recovery, notify the user: an attacker may read their mailbox.
    if (link.kind === 'recovery') {
      await endTestModesOf(tx, actor, owner.id)
      await revokeGrants(tx, actor, { tokenSetsOf: owner.id }, 'password_changed')
      const language = owner.language ?? browser.language
      await insertMail(tx, { kind: 'password_changed', ...about, linkId: null, language, detail: {} })
    }
    return true
  })
  const user = set && (await readSignInUser(context.db, account.id, link.userId))
  return user ? enterWithPassword(context, account, user, browser, link.kind) : { outcome: 'gone' }
}

/** Signs in with a link that was mailed after the right password was typed; a second factor is still required. */
export async function signInByLink(
  context: Context,
  account: HostAccount,
  text: string,
  browser: Browser,
): Promise<SignInResult | { readonly outcome: 'gone' }> {
  const link = await readLink(context, account, text)
  if (link?.kind !== 'sign_in') return { outcome: 'gone' }
  const used = await context.db.transaction(async (tx) => {
    await lockUserForChange(tx, link.userId)
    if (!(await lockLink(tx, account.id, link.id))) return false
    await confirmEmail(tx, link.id)
    await spendLink(tx, link.id)
    return true
  })
  const user = used ? await readSignInUser(context.db, account.id, link.userId) : null
  return user ? enterWithPassword(context, account, user, browser, 'password and mail') : { outcome: 'gone' }
}

export type RemovedByLink = { readonly outcome: 'removed'; readonly link: Link } | { readonly outcome: 'gone' }

/** Removes a grant without sign-in: possession of the mail is enough, because revoking access harms no one. */
export async function removeGrantByLink(context: Context, account: HostAccount, text: string): Promise<RemovedByLink> {
  const id = verifyLink(context.config.keys, text, account.slug)
  if (id === null) return { outcome: 'gone' }
  return context.db.transaction(async (tx) => {
    const link = await lockLink(tx, account.id, id)
    if (!link?.grantId) return { outcome: 'gone' }
    await spendLink(tx, link.id)
    if (await markRevoked(tx, link.grantId, 'removed_by_user')) {
      const about = { accountId: account.id, userId: link.userId, grantId: link.grantId }
      const event = { actor: byMailLink(link.userId), ...about, applicationId: link.applicationId ?? '' }
      await recordEvent(tx, { kind: 'grant.revoked', ...event, detail: { reason: 'removed_by_user' } })
    }
    return { outcome: 'removed', link }
  })
}
