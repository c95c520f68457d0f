/**
 * Which pages are inside the window that an application opened. They are told by their address alone: the dialog's own, and
 * those on the way to it (signing in, proving once more who one is, changing the language).
 *
 * They are the ones that must not cut the window off from the page that opened it: with `Cross-Origin-Opener-Policy:
 * same-origin` on any of them, the application would take the window for closed.
 */
export function isInDialog(address: string): boolean {
  const url = URL.parse(address, 'http://account')
  if (!url) return false
  if (url.pathname === '/dialog' || url.pathname.startsWith('/dialog/')) return true
  const next = url.searchParams.get('next')
  return next?.startsWith('/') === true && isInDialog(next)
}
