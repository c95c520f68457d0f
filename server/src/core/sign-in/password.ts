/** Password rules, checked before hashing. docs/interface.md, "Signing in". */

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
  if (isCommon(given.password)) return 'common'
  return password === normalised(given.again) ? null : 'differ'
}

/**
 * Same normalisation as for hashing (secrets/password.ts): keyboards send é as one character or as two (NIST SP
 * 800-63B, 3.1.1).
 */
function normalised(password: string): string {
  return password.normalize('NFKC')
}
