/** Cookies of a user who has signed in, in whichever way. */
import type { Context } from '../../flows/context.ts'
import { BROWSER, SESSION, setCookie } from '../web/cookies.ts'

/** A browser that signed in once is known for a year: failed attempts from elsewhere cannot lock its user out of it. */
export const BROWSER_SECONDS = 365 * 24 * 60 * 60

export function sessionCookies(
  { config }: Context,
  { cookie, browser }: { readonly cookie: string; readonly browser: string },
): readonly string[] {
  return [setCookie(SESSION, cookie, config.sessionLifetimeMs / 1000), setCookie(BROWSER, browser, BROWSER_SECONDS)]
}
