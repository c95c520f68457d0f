/**
 * Cookies of the web interface. All have the `__Host-` prefix: a browser takes them only over a secure connection, for this
 * very host, and a sibling account can neither read nor set them (RFC 6265bis, section 4.1.3.2).
 */

export const SESSION = '__Host-session'
export const BROWSER = '__Host-browser'
export const LANGUAGE = '__Host-language'
/** Tells the browser in which a dialog began, on each of the hosts that it passes. */
export const DIALOG = '__Host-dialog'

/** A dialog lasts ten minutes; the next one may begin before it is over. */
export const DIALOG_SECONDS = 60 * 60

/** Byte for byte, and only where there is exactly one: whoever sends two wants us to take the wrong one. */
export function readCookie(header: string | undefined, name: string): string | null {
  const values = (header ?? '')
    .split(';')
    .map((pair) => (pair.startsWith(' ') ? pair.slice(1) : pair))
    .filter((pair) => pair.startsWith(`${name}=`))
  const [only] = values
  return values.length === 1 && only !== undefined ? only.slice(name.length + 1) : null
}

export function setCookie(name: string, value: string, maxAgeSeconds: number): string {
  return `${name}=${value}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=${Math.floor(maxAgeSeconds)}`
}

export function clearCookie(name: string): string {
  return setCookie(name, '', 0)
}
