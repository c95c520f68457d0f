/**
 * Check whether a page is shown inside the window that an application opened. It depends on the address alone: the
 * dialog's own pages, and the pages that lead to it.
 *
 * These pages must not sever the window from its opener: with `Cross-Origin-Opener-Policy: same-origin` on any of them,
 * the application would see the window as closed. All other pages keep that policy, and no link can make them drop it.
 */
import { nextPath } from '../web/next-path.ts'

/** Pages for signing in, setting up a second factor, confirming the sign-in and changing the language. */
const ON_THE_WAY: readonly string[] = [
  '/sign-in',
  '/sign-in/passkey',
  '/sign-in/code',
  '/sign-in/return',
  '/sign-in/provider',
  '/sign-in/provider/return',
  '/sign-in/recovery-code',
  '/confirm',
  '/confirm/passkey',
  '/second-factor',
  '/security/authenticator',
  '/security/passkeys',
  '/language',
]

/** `next`: the unchecked parameter that names the page to go to afterwards. */
export function isInDialog(path: string, next: string | null): boolean {
  if (path === '/dialog' || path.startsWith('/dialog/')) return true
  if (next === null || !ON_THE_WAY.includes(path)) return false
  const [following = '/', query = ''] = nextPath(next).split('?')
  return isInDialog(following, new URLSearchParams(query).get('next'))
}
