/** What every page knows beside its own model: whose account, who is signed in, in which language, and how forms are signed. */
import type { IncomingHttpHeaders } from 'node:http'
import { accountOrigin } from '../../flows/account-address.ts'
import type { Context } from '../../flows/context.ts'
import type { Frame } from '../../pages/layout.tsx'
import { chooseLanguage, wordsFor } from '../../pages/words.ts'
import { type FormHolder, signForm } from '../../secrets/web-texts.ts'
import type { Visit, Visitor } from '../../store/sessions.ts'
import { LANGUAGE, readCookie } from './cookies.ts'

export type FrameOrigin = {
  readonly headers: IncomingHttpHeaders
  readonly slug: string
  /** Where this page can be looked at again: also for a page that answers a form. */
  readonly here: string
  readonly nonce: string
  /** Inside the window that an application opened. */
  readonly dialog: boolean
}

/** `visit` is null while nobody knows yet whether there is such an account, and when there is none. */
export function frameFor(
  context: Context,
  { headers, slug, here, nonce, dialog }: FrameOrigin,
  visit: Visit | null,
): Frame {
  const account = visit?.account ?? null
  const visitor = visit?.visitor ?? null
  const chosen = readCookie(headers.cookie, LANGUAGE) ?? visitor?.chosenLanguage ?? null
  return {
    words: wordsFor(chooseLanguage(chosen, headers['accept-language'] ?? null)),
    account: account && {
      name: account.name,
      host: new URL(accountOrigin(context, slug)).host,
      colour: account.colour,
      logo: account.logoVersion && `/logo?version=${account.logoVersion}`,
    },
    user: visitor && {
      email: visitor.email,
      administrator: visitor.administrator,
      operator: visitor.administrator && slug === context.config.operatorAccount,
    },
    path: here,
    nonce,
    mail: context.mailer !== null,
    dialog,
    sign: (action, bound) =>
      visitor === null ? '' : signForm(context.config.keys, formHolder(visitor), action, bound),
  }
}

export function formHolder(visitor: Visitor): FormHolder {
  return { userId: visitor.id, sessionCreatedAt: visitor.session.createdAt }
}
