/** Replaces an imported password digest by one of our own when its user signs in for the first time. */
import type { Source } from '../../core/network.ts'
import { isImported } from '../../secrets/password.ts'
import { PasswordsBusy } from '../../secrets/password-queue.ts'
import { readSignInUser, renewPassword, type SignInUser } from '../../store/sign-in/methods.ts'
import type { Context } from '../context.ts'

/**
 * The user with the digest that is stored now, after the password was found right. A full queue, or a password longer
 * than ours may be, leaves the imported one for the next time.
 */
export async function renewImported(
  { db, passwords }: Pick<Context, 'db' | 'passwords'>,
  user: SignInUser,
  password: string,
  source: Source,
): Promise<SignInUser> {
  const { passwordDigest: from } = user
  if (!isImported(from)) return user
  const known = passwords.known(source)
  const to = await known.digest(password).catch(unlessImpossible)
  if (to === null) return user
  if (await renewPassword(db, user.id, { from, to })) return { ...user, passwordDigest: to }
  // Another browser signed in at the same time, or the password was changed.
  const now = await readSignInUser(db, user.accountId, user.id)
  return now && (await known.matches(now.passwordDigest, password)) ? now : user
}

function unlessImpossible(error: unknown): null {
  if (error instanceof PasswordsBusy || error instanceof RangeError) return null
  throw error
}
