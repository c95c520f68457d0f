/** Handlers of the home pages of the service and of an account, of its logo, and of the reader's language. */

import { countOwnGrants } from '../../flows/grants/connected-applications.ts'
import { isOperatorsAccount } from '../../flows/operator/operator.ts'
import { homePage } from '../../pages/accounts/home.tsx'
import { serviceHomePage } from '../../pages/accounts/service-home.tsx'
import { PICTURE_TYPE } from '../../pictures/picture.ts'
import { readAccountLogo } from '../../store/accounts/accounts.ts'
import { readAccountAttention } from '../../store/accounts/attention.ts'
import { saveLanguage } from '../../store/sign-in/methods.ts'
import type { BaseHandler, PageHandler, PageRequest, UserRequest } from '../web/answer.ts'
import { LANGUAGE, setCookie } from '../web/cookies.ts'
import { nextPath } from '../web/next-path.ts'

const A_YEAR_SECONDS = 365 * 24 * 60 * 60

export const showHome: PageHandler<UserRequest> = async (context, { account, sessionUser, fields, frame }) => {
  const notice = fields.get('notice') === 'welcome' ? 'welcome' : null
  const { db, config } = context
  const about = { id: account.id, operators: isOperatorsAccount(context, account) }
  const attention = frame.user?.administrator ? await readAccountAttention(db, about, config.keys.signing.id) : null
  return { page: homePage(frame, { connected: await countOwnGrants(context, sessionUser.id), attention, notice }) }
}

export const showServiceHome: BaseHandler = async (_, { frame }) => ({ page: serviceHomePage(frame) })

/** Serves only pictures that pictures/picture.ts has rewritten, never the uploaded bytes. */
export const showLogo: PageHandler<PageRequest> = async (context, { account, fields }) => {
  const bytes = await readAccountLogo(context.db, account.id)
  const lasting = fields.get('version') === account.logoVersion
  return bytes ? { bytes, type: PICTURE_TYPE, lasting } : { refusal: 'not_found' }
}

export const chooseOwnLanguage: PageHandler<PageRequest> = async (context, { sessionUser, fields }) => {
  const language = fields.get('language') ?? null
  if (!context.languages.has(language)) return { refusal: 'invalid_request' }
  // Mails use it as well.
  if (sessionUser) await saveLanguage(context.db, sessionUser.id, language)
  return { seeOther: nextPath(fields.get('next')), cookies: [setCookie(LANGUAGE, language, A_YEAR_SECONDS)] }
}

/** On the base host, where the cookie alone keeps the language. */
export const chooseLanguageHere: BaseHandler = async ({ languages }, { fields }) => {
  const language = fields.get('language') ?? ''
  const seeOther = nextHere(fields.get('next') ?? '')
  return languages.has(language) ? { seeOther, cookies: [setCookie(LANGUAGE, language, A_YEAR_SECONDS)] } : { seeOther }
}

/** The page to return to: one slash, then plain characters, so that no browser reads it as another host. */
function nextHere(next: string): string {
  return /^\/(?!\/)[\x21-\x5b\x5d-\x7e]{0,8000}$/.test(next) ? next : '/activate'
}
