/**
 * Which pages are inside the window that an application opened. They are told by their address alone: the dialog's own, and
 * those on the way to it.
 *
 * They are the ones that must not cut the window off from the page that opened it: with `Cross-Origin-Opener-Policy:
 * same-origin` on any of them, the application would take the window for closed. No other page may be talked into it.
 */
import { nextPath } from '../web/next-path.ts'

/** Signing in, proving once more who one is, changing the language. */
const ON_THE_WAY: readonly string[] = [
  '/sign-in',
  '/sign-in/passkey',
  '/sign-in/code',
  '/confirm',
  '/confirm/passkey',
  '/language',
]

/** `next`: where the page leads afterwards, as it came. */
export function isInDialog(path: string, next: string | null): boolean {
  if (path === '/dialog' || path.startsWith('/dialog/')) return true
  if (next === null || !ON_THE_WAY.includes(path)) return false
  const [following = '/', query = ''] = nextPath(next).split('?')
  return isInDialog(following, new URLSearchParams(query).get('next'))
}
