/** Names of accounts and roles, titles of scopes. Names of applications have stricter rules (application.ts). */

const MAX_NAME_LENGTH = 100

/** Line breaks and controls end up in mail headers and terminals; direction marks reorder the words around a name. */
const CONTROL_OR_DIRECTION = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

export function isName(text: string): boolean {
  return text.trim() !== '' && text.length <= MAX_NAME_LENGTH && !CONTROL_OR_DIRECTION.test(text)
}

/** What mail programs and messengers turn into a link: a scheme, `www.`, or a dot before the letters of a top-level domain. */
const ADDRESS = /:\/|www\.|[.。]\p{L}{2}/iu

/** Strangers read the name of an account, for example when they are invited to it: it contains no address to open. */
export function isAccountName(text: string): boolean {
  return isName(text) && !ADDRESS.test(text.normalize('NFKC'))
}
