/** What a password must be, before anybody hashes it. docs/interface.md, "Signing in". */

export const FEWEST_CHARACTERS = 12
export const MOST_CHARACTERS = 256

export type PasswordProblem = 'too_short' | 'too_long' | 'differ' | 'common'

export function passwordProblem(
  given: { readonly password: string; readonly again: string },
  isCommon: (password: string) => boolean,
): PasswordProblem | null {
  const characters = Array.from(given.password).length
  if (characters < FEWEST_CHARACTERS) return 'too_short'
  if (characters > MOST_CHARACTERS) return 'too_long'
  if (isCommon(given.password)) return 'common'
  return given.password === given.again ? null : 'differ'
}
