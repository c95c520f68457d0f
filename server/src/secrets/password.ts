/**
 * Passwords of users: argon2id with the parameters of OWASP's password storage guidance (19 MiB, two passes, one lane).
 */
import { randomBytes } from 'node:crypto'
import { type Algorithm, hash, verify } from '@node-rs/argon2'
import { MAX_CHARACTERS } from '../core/sign-in/password.ts'

/** The library's `Algorithm` is a const enum, which erasable syntax cannot read at run time. */
const ARGON2ID = 2 as Algorithm

/** Throws a RangeError for a password that is too long: it could never match. */
export async function digestPassword(password: string): Promise<string> {
  if (Array.from(normalised(password)).length > MAX_CHARACTERS) throw new RangeError('the password is too long')
  return hash(normalised(password), { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 })
}

/** Keyboards send é as one character or as two; both are the same password. */
function normalised(password: string): string {
  return password.normalize('NFKC')
}

/** Too many passwords are being checked: an honest user retries, a flood is stopped. */
export class PasswordsBusy extends Error {
  override readonly name = 'PasswordsBusy'
}

export type Passwords = {
  digest(password: string): Promise<string>
  /**
   * A null digest (no such user, or one without a password) takes as long as a wrong password. `known`: from a browser
   * that signed in before; half of the queue is reserved for those, so that strangers cannot lock everyone out by
   * filling it.
   */
  matches(digest: string | null, password: string, known?: boolean): Promise<boolean>
}

/** At a dozen milliseconds each, the last in the queue waits well below a second. */
const MAX_WAITING = 50

/**
 * Hashes one password at a time per process, so that a flood of sign-ins costs one core and polls keep the others. Both
 * functions reject with PasswordsBusy when the queue is full.
 */
export function createPasswords({ maxWaiting = MAX_WAITING }: { readonly maxWaiting?: number } = {}): Passwords {
  // Computed at startup: computing it on the first unknown user would make that response slower and reveal it.
  const nobody = digestPassword(randomBytes(32).toString('base64url'))
  let last: Promise<unknown> = nobody
  let unfinished = 0

  async function inTurn<T>(known: boolean, work: () => Promise<T>): Promise<T> {
    if (unfinished > (known ? maxWaiting : Math.ceil(maxWaiting / 2)))
      throw new PasswordsBusy('too many passwords are being checked')
    unfinished += 1
    const turn = last.then(work).finally(() => {
      unfinished -= 1
    })
    last = turn.catch(() => undefined)
    return turn
  }
  return {
    digest: (password) => inTurn(true, () => digestPassword(password)),
    matches: (digest, password, known = false) =>
      inTurn(known, async () => {
        const right = await verify(digest ?? (await nobody), normalised(password))
        return right && digest !== null
      }),
  }
}
