/**
 * Addresses that somebody is sent: to set a password for the first time or again, and to remove what they allowed.
 * Looking at one changes nothing; using one ends it.
 */
import { randomUUID } from 'node:crypto'
import type { Config } from '../../config.ts'
import { byAnybody, byMailLink } from '../../core/audit/actor.ts'
import type { MailContent } from '../../core/mail.ts'
import { type PasswordProblem, passwordProblem } from '../../core/sign-in/password.ts'
import { isCommonPassword } from '../../secrets/password.ts'
import { signLink, verifyLink } from '../../secrets/web-texts.ts'
import { lockUserForChange } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { markRevoked, revokeGrants } from '../../store/grants/grants.ts'
import { insertMail, lockRecentMails } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import {
  findLink,
  insertLink,
  type Link,
  type LinkKind,
  lockLink,
  spendLink,
  spendPasswordLinks,
} from '../../store/sign-in/links.ts'
import { findSignInUser, readSignInUser, savePassword } from '../../store/sign-in/methods.ts'
import { deleteSessions, type HostAccount } from '../../store/sign-in/sessions.ts'
import { accountOrigin } from '../accounts/address.ts'
import type { Context } from '../context.ts'
import { busy } from './prove.ts'
import type { Browser } from './sessions.ts'
import { enterWithPassword, type SignInResult } from './sign-in.ts'

const HOUR = 60 * 60 * 1000

/** As long as the matter lasts: an invitation may lie over a week-end, a recovery is asked for by someone who waits for it. */
const LIFETIMES: Readonly<Record<LinkKind, number>> = {
  setup: 7 * 24 * HOUR,
  invitation: 7 * 24 * HOUR,
  recovery: HOUR,
  remove_grant: 30 * 24 * HOUR,
}

type Recipient = { readonly id: string; readonly accountId: string }

export async function createLink(
  tx: Transaction,
  kind: LinkKind,
  user: Recipient,
  grantId: string | null = null,
): Promise<string> {
  const id = randomUUID()
  const { accountId, id: userId } = user
  await insertLink(tx, { id, kind, accountId, userId, grantId, lifetimeMs: LIFETIMES[kind] })
  return id
}

export function linkAddress(
  context: { readonly config: Pick<Config, 'keys' | 'publicUrl'> },
  slug: string,
  linkId: string,
): string {
  return `${accountOrigin(context, slug)}/link?token=${signLink(context.config.keys, linkId, slug)}`
}

/** The mail carries the id; its address is computed when it is sent. `reset`: an administrator took the second factors away. */
export async function mailLink(
  tx: Transaction,
  user: Recipient,
  language: string,
  matter: Extract<MailContent, { kind: 'invitation' | 'recovery' | 'reset' }>,
): Promise<void> {
  const linkId = await createLink(tx, matter.kind === 'reset' ? 'recovery' : matter.kind, user)
  await insertMail(tx, { ...matter, accountId: user.accountId, userId: user.id, linkId, language })
}

/** One answer for every address, known or not. Three addresses in an hour are enough for anybody. */
export async function requestRecovery(
  context: Context,
  account: HostAccount,
  email: string,
  language: string,
): Promise<void> {
  const user = await findSignInUser(context.db, account.id, email.trim().toLowerCase())
  if (!user || user.disabled) return
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

/** Links with which a password is set. */
export type PasswordLinkKind = Exclude<LinkKind, 'remove_grant'>

export type LinkResult =
  | SignInResult
  | { readonly outcome: 'gone' }
  | {
      readonly outcome: 'unfit'
      readonly problem: PasswordProblem
      readonly kind: PasswordLinkKind
      readonly email: string
    }

/** Sets the password, ends every session there was, and signs in; a second factor is still asked for. */
export async function setPasswordByLink(
  context: Context,
  account: HostAccount,
  given: { readonly link: string; readonly password: string; readonly again: string },
  browser: Browser,
): Promise<LinkResult> {
  const link = await readLink(context, account, given.link)
  if (!link || link.kind === 'remove_grant') return { outcome: 'gone' }
  const problem = passwordProblem(given, (password) => isCommonPassword(password, [link.email, account.slug]))
  if (problem) return { outcome: 'unfit', problem, kind: link.kind, email: link.email }
  const digest = await context.passwords.digest(given.password).catch(busy)
  if (typeof digest !== 'string') return digest

  const set = await context.db.transaction(async (tx) => {
    const owner = await lockUserForChange(tx, link.userId)
    if (!owner || !(await lockLink(tx, account.id, link.id))) return false
    const about = { accountId: account.id, userId: owner.id }
    const actor = byMailLink(owner.id)
    await spendPasswordLinks(tx, owner.id)
    await savePassword(tx, owner.id, digest)
    await deleteSessions(tx, owner.id)
    await recordEvent(tx, { kind: 'user.password_set', actor, ...about, detail: { link: link.kind } })
    // Whoever sets their first password knows. Whoever had one hears of it, in case somebody else reads their mails.
    if (link.kind === 'recovery') {
      await revokeGrants(tx, actor, { tokenSetsOf: owner.id }, 'password_changed')
      const language = owner.language ?? browser.language
      await insertMail(tx, { kind: 'password_changed', ...about, linkId: null, language, detail: {} })
    }
    return true
  })
  const user = set && (await readSignInUser(context.db, account.id, link.userId))
  return user ? enterWithPassword(context, account, user, browser, link.kind) : { outcome: 'gone' }
}

export type RemovedByLink = { readonly outcome: 'removed'; readonly link: Link } | { readonly outcome: 'gone' }

/** Whoever has the mail may remove what it speaks of, without signing in: taking access away harms nobody. */
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
