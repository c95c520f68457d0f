/** The account's front page, its logo, and the language one reads it in. */
import { countOwnGrants } from '../../flows/connected-applications.ts'
import { chooseUserLanguage } from '../../flows/language.ts'
import { readAccountLogo } from '../../flows/branding.ts'
import { homePage } from '../../pages/home.tsx'
import { isLanguage } from '../../pages/words.ts'
import type { PageHandler, PageRequest, UserRequest } from './answer.ts'
import { LANGUAGE, setCookie } from './cookies.ts'
import { nextPath } from './next-path.ts'

const A_YEAR_SECONDS = 365 * 24 * 60 * 60

export const showHome: PageHandler<UserRequest> = async (context, { sessionUser, fields, frame }) => {
  const notice = fields.get('notice') === 'welcome' ? 'welcome' : null
  return { page: homePage(frame, { connected: await countOwnGrants(context, sessionUser.id), notice }) }
}

/** A PNG that we wrote ourselves (http/picture.ts), whatever was uploaded. */
export const showLogo: PageHandler<PageRequest> = async (context, { account, fields }) => {
  const bytes = await readAccountLogo(context, account.id)
  const lasting = fields.get('version') === account.logoVersion
  return bytes ? { bytes, type: 'image/png', lasting } : { refusal: 'not_found' }
}

export const chooseOwnLanguage: PageHandler<PageRequest> = async (context, { sessionUser, fields }) => {
  const language = fields.get('language') ?? null
  if (!isLanguage(language)) return { refusal: 'invalid_request' }
  if (sessionUser) await chooseUserLanguage(context, sessionUser, language)
  return { seeOther: nextPath(fields.get('next')), cookies: [setCookie(LANGUAGE, language, A_YEAR_SECONDS)] }
}
