/** Password rules, checked before hashing. docs/interface/account-pages.md, "The account's pages". */
import { nfkc } from '../nfkc.ts'

export const MIN_CHARACTERS = 12
export const MAX_CHARACTERS = 256

export type PasswordProblem = 'too_short' | 'too_long' | 'differ' | 'common'

export function passwordProblem(
  given: { readonly password: string; readonly again: string },
  isCommon: (password: string) => boolean,
): PasswordProblem | null {
  const password = normalised(given.password)
  const characters = Array.from(password).length
  if (characters < MIN_CHARACTERS) return 'too_short'
  if (characters > MAX_CHARACTERS) return 'too_long'
  if (password !== normalised(given.again)) return 'differ'
  return isCommon(password) ? 'common' : null
}

/** Code units of the longest password: four of them may become one character. */
const MAX_CODE_UNITS = 4 * MAX_CHARACTERS

/** As it is compared and hashed (NIST SP 800-63B, 3.1.1). A password that is too long stays too long. */
export function normalised(password: string): string {
  return nfkc(password, MAX_CODE_UNITS + 1)
}
