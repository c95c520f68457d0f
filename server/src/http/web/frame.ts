/** Frame of a page, common to all models: account, signed-in user, language, and the function that signs forms. */
import type { IncomingHttpHeaders } from 'node:http'
import { accountOrigin } from '../../flows/accounts/address.ts'
import { serviceOf } from '../../flows/configured-branding.ts'
import type { Context } from '../../flows/context.ts'
import { hostOf } from '../../flows/sign-in/hand-over.ts'
import { readSecondFactorDuty } from '../../flows/sign-in/second-factor.ts'
import type { Frame } from '../../pages/ui/frame.ts'
import { type FormHolder, signForm } from '../../secrets/web-texts.ts'
import type { AccountSession, HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import { LANGUAGE, readCookie } from './cookies.ts'

export type FrameOrigin = {
  readonly headers: IncomingHttpHeaders
  readonly slug: string
  /** Address at which to show this page again, also if the page is the response to a form. */
  readonly here: string
  readonly nonce: string
  /** The page is shown inside the window that an application opened. */
  readonly dialog: boolean
}

/** `session` is null before the account has been looked up, and if there is no such account. */
export function frameFor(
  context: Context,
  { headers, slug, here, nonce, dialog }: FrameOrigin,
  session: AccountSession | null,
): Frame {
  const account = session?.account ?? null
  const sessionUser = session?.sessionUser ?? null
  const { languages } = context
  const chosen = readCookie(headers.cookie, LANGUAGE) ?? sessionUser?.chosenLanguage ?? null
  return {
    words: languages.wordsFor(languages.choose(chosen, headers['accept-language'] ?? null)),
    service: serviceOf(context),
    account: account && {
      name: account.name,
      host: new URL(accountOrigin(context, slug)).host,
      colour: account.colour,
      logo: account.logoVersion && `/logo?version=${account.logoVersion}`,
    },
    signInAt: signInAt(context, slug),
    path: here,
    nonce,
    mail: context.mailer !== null,
    dialog,
    ...(session && sessionUser ? userFrame(context, session, sessionUser) : { user: null, sign: () => '' }),
  }
}

function signInAt(context: Context, slug: string): string | null {
  const host = hostOf(context, { slug })
  return host && new URL(host.signInUrl).host
}

/** The part of a frame that depends on the session: also for a page that answers the form which started it. */
export function userFrame(
  context: Context,
  session: AccountSession,
  sessionUser: SessionUser,
): Pick<Frame, 'user' | 'sign'> {
  const { email, administrator } = sessionUser
  return {
    user: {
      email,
      administrator,
      signsInAt: sessionUser.origin === 'provider' ? providerHost(session.account) : null,
      operator: administrator && session.account.slug === context.config.operatorAccount,
      secondFactorBy: secondFactorBy(context, session, sessionUser),
    },
    sign: (action, bound) => signForm(context.config.keys, formHolder(sessionUser), action, bound),
  }
}

/** Host of the account's identity provider, its name on pages. Null: the account has no provider. */
export function providerHost({ issuer }: Pick<HostAccount, 'issuer'>): string | null {
  return issuer === null ? null : new URL(issuer).host
}

function secondFactorBy(context: Context, { account, now }: AccountSession, sessionUser: SessionUser): number | null {
  const duty = readSecondFactorDuty(context, account, sessionUser, now)
  return duty.outcome === 'later' ? duty.until : null
}

export function formHolder(sessionUser: SessionUser): FormHolder {
  return { userId: sessionUser.id, sessionCreatedAt: sessionUser.session.createdAt }
}
