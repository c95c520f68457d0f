/** Passwords of account users: argon2id, as OWASP's password storage guidance sets it (19 MiB, two passes, one lane). */
import { type Algorithm, hash } from '@node-rs/argon2'

/** The library's `Algorithm` is a const enum, which erasable syntax cannot read at run time. */
const ARGON2ID = 2 as Algorithm

export function digestPassword(password: string): Promise<string> {
  return hash(password, { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 })
}
