/**
 * Cookies of the web interface. All have the `__Host-` prefix: a browser accepts them only over a secure connection and
 * for this exact host, so a sibling account can neither read nor set them (RFC 6265bis, section 4.1.3.2).
 */

export const SESSION = '__Host-session'
export const BROWSER = '__Host-browser'
export const LANGUAGE = '__Host-language'
/** Browser mark: identifies the browser in which a dialog or a sign-in with two steps began, on each host. */
export const DIALOG = '__Host-dialog'
/** Proof of the first step of a sign-in, while the second is missing. */
export const STEP = '__Host-step'
/** State of a sign-in at the identity provider, encrypted. */
export const PROVIDER = '__Host-provider'
/** This browser has a passkey for the host: the page for codes asks for it. Proves nothing. */
export const PASSKEY = '__Host-passkey'

/** Longer than a dialog, which lasts ten minutes, because the next one may begin before it ends. */
export const DIALOG_SECONDS = 60 * 60

/** Compares byte for byte. Null if the cookie is given twice: an attacker may have planted one of them. */
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
