/** The check of a password that a user chooses or an operator sets: length, repetition, and how common it is. */
import { type PasswordProblem, passwordProblem } from '../../core/sign-in/password.ts'
import { loadCommonPasswords } from '../../secrets/weak-password.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

const PRODUCT = 'Latchkey'

/** Passwords that one mailed link, and one session, may choose in a minute. */
export const MAX_CHOICES = 10
export const CHOICES_WINDOW_MS = 60_000

export type RefusedChoice =
  | { readonly outcome: 'unfit'; readonly problem: PasswordProblem }
  | { readonly outcome: 'locked'; readonly waitMs: number }

/** Null: the password may be used. `by`: the id of the link or the session. */
export async function refuseChoice(
  context: Context,
  by: string,
  given: { readonly password: string; readonly again: string },
  account: HostAccount,
  email: string,
): Promise<RefusedChoice | null> {
  const taken = context.passwordChoices.take(by, MAX_CHOICES)
  if (!taken.passed) return { outcome: 'locked', waitMs: taken.waitMs }
  const isCommon = await loadCommonPasswords()
  const known = [PRODUCT, email, ...publicNames(context, account)]
  const problem = passwordProblem(given, (password) => isCommon(password, known))
  return problem && { outcome: 'unfit', problem }
}

/** Anyone can know them, like the e-mail address. */
function publicNames({ config }: Context, account: HostAccount): readonly string[] {
  return [config.serviceName, account.slug, account.name, new URL(config.publicUrl).hostname]
}
