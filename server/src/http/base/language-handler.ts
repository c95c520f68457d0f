/** The language of the base host's own pages, kept in the browser. */
import { isLanguage } from '../../pages/words.ts'
import { LANGUAGE, setCookie } from '../account/cookies.ts'
import { nextPath } from '../account/next-path.ts'
import type { BaseHandler } from './doors.ts'

const YEAR_SECONDS = 365 * 24 * 60 * 60

export const chooseLanguageHere: BaseHandler = async (_context, { fields }) => {
  const language = fields.get('language') ?? ''
  const seeOther = nextPath(fields.get('next'))
  return isLanguage(language) ? { seeOther, cookies: [setCookie(LANGUAGE, language, YEAR_SECONDS)] } : { seeOther }
}
