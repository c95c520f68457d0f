/** The check of a password that a user chooses or an operator sets: length, repetition, and how common it is. */
import { type PasswordProblem, passwordProblem } from '../../core/sign-in/password.ts'
import { loadCommonPasswords } from '../../secrets/weak-password.ts'
import type { HostAccount } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

const PRODUCT = 'Latchkey'

/** `names`: of the account and the service. Anyone can know them, like the e-mail address. */
export async function problemOfPassword(
  given: { readonly password: string; readonly again: string },
  user: { readonly email: string; readonly names: readonly string[] },
): Promise<PasswordProblem | null> {
  const isCommon = await loadCommonPasswords()
  return passwordProblem(given, (password) => isCommon(password, [PRODUCT, user.email, ...user.names]))
}

export function publicNames({ config }: Context, account: HostAccount): readonly string[] {
  return [config.serviceName, account.slug, account.name, new URL(config.publicUrl).hostname]
}
