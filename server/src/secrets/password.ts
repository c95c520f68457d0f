/**
 * Passwords of users: argon2id with the parameters of OWASP's password storage guidance (19 MiB, two passes, one lane).
 */
import { randomBytes } from 'node:crypto'
import { type Algorithm, hash, verify } from '@node-rs/argon2'
import type { Source } from '../core/network.ts'
import { MAX_CHARACTERS } from '../core/sign-in/password.ts'
import { createPasswordQueue, type Stranger } from './password-queue.ts'

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

/** A null digest (no such user, or one without a password) takes as long as a wrong password. */
export type Matches = (digest: string | null, password: string) => Promise<boolean>

/** All of them reject with PasswordsBusy when the queue is full. */
export type Passwords = {
  /** For known browsers and signed-in users. */
  known(source: Source): { digest(password: string): Promise<string>; readonly matches: Matches }
  /** Runs `work` when it is the stranger's turn; only then may it check a password. */
  strangerInTurn<T>(stranger: Stranger, work: (matches: Matches) => Promise<T>): Promise<T>
  /** Turns away strangers who already have their answer, so that shutdown does not wait for them. */
  endLater(): void
}

/** At a dozen milliseconds each, the last in the queue waits well below a second. */
const MAX_WAITING = 50

export function createPasswords({ maxWaiting = MAX_WAITING }: { readonly maxWaiting?: number } = {}): Passwords {
  // Computed at startup: computing it on the first unknown user would make that response slower and reveal it.
  const nobody = digestPassword(randomBytes(32).toString('base64url'))
  const queue = createPasswordQueue(maxWaiting)
  const matches: Matches = async (digest, password) => {
    const right = await verify(digest ?? (await nobody), normalised(password))
    return right && digest !== null
  }
  return {
    known: (source) => ({
      digest: (password) => queue.known(source, () => digestPassword(password)),
      matches: (digest, password) => queue.known(source, () => matches(digest, password)),
    }),
    strangerInTurn: (stranger, work) =>
      queue.inTurn(stranger, (hash) => work((digest, password) => hash(() => matches(digest, password)))),
    endLater: queue.endLater,
  }
}
