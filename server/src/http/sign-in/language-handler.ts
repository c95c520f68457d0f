/** Handler for the language of the base host's pages, kept in a cookie. */
import type { BaseHandler } from '../web/answer.ts'
import { LANGUAGE, setCookie } from '../web/cookies.ts'

const YEAR_SECONDS = 365 * 24 * 60 * 60

export const chooseLanguageHere: BaseHandler = async ({ languages }, { fields }) => {
  const language = fields.get('language') ?? ''
  const seeOther = nextHere(fields.get('next') ?? '')
  return languages.has(language) ? { seeOther, cookies: [setCookie(LANGUAGE, language, YEAR_SECONDS)] } : { seeOther }
}

/** The page to return to: one slash, then plain characters, so that no browser reads it as another host. */
function nextHere(next: string): string {
  return /^\/(?!\/)[\x21-\x5b\x5d-\x7e]{0,8000}$/.test(next) ? next : '/activate'
}
