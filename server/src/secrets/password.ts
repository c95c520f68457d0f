/**
 * Passwords of users: argon2id with the parameters of OWASP's password storage guidance (19 MiB, two passes, one lane).
 * Digests of another service that were imported are argon2id, bcrypt or PBKDF2, until their user signs in.
 */
import { pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { type Algorithm, hash, verify } from '@node-rs/argon2'
import { verify as verifyBcrypt } from '@node-rs/bcrypt'
import type { Source } from '../core/network.ts'
import { MAX_CHARACTERS, normalised } from '../core/sign-in/password.ts'
import { equalSecrets } from './mac.ts'
import { createPasswordQueue, type Stranger } from './password-queue.ts'

/** The library's `Algorithm` is a const enum, which erasable syntax cannot read at run time. */
const ARGON2ID = 2 as Algorithm

/** Throws a RangeError for a password that is too long: it could never match. */
export async function digestPassword(password: string): Promise<string> {
  if (Array.from(normalised(password)).length > MAX_CHARACTERS) throw new RangeError('the password is too long')
  return hash(normalised(password), { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 })
}

/** A null digest (no such user, or one without a password) takes as long as a wrong password. */
export type Matches = (digest: string | null, password: string) => Promise<boolean>

/** All of them reject with PasswordsBusy when the queue is full. */
export type Passwords = {
  /** For known browsers and signed-in users. */
  known(source: Source): { digest(password: string): Promise<string>; readonly matches: Matches }
  /** Runs `work` when it is the stranger's turn; only then may it check a password. */
  strangerInTurn<T>(stranger: Stranger, work: (matches: Matches) => Promise<T>): Promise<T>
  /** Rejects attempts whose response was sent already, so that shutdown does not wait for them. */
  rejectDeferred(): void
}

/** At a dozen milliseconds each, the last in the queue waits well below a second. */
const MAX_WAITING = 50

export function createPasswords({ maxWaiting = MAX_WAITING }: { readonly maxWaiting?: number } = {}): Passwords {
  // Computed at startup: computing it on the first unknown user would make that response slower and reveal it.
  const dummyDigest = digestPassword(randomBytes(32).toString('base64url'))
  const queue = createPasswordQueue(maxWaiting)
  const matches: Matches = async (digest, password) => {
    if (isImported(digest)) return matchesImported(digest, password)
    const right = await verify(digest ?? (await dummyDigest), normalised(password))
    return right && digest !== null
  }
  return {
    known: (source) => ({
      digest: (password) => queue.known(source, () => digestPassword(password)),
      matches: (digest, password) => queue.known(source, () => matches(digest, password)),
    }),
    strangerInTurn: (stranger, work) =>
      queue.inTurn(stranger, (hash) => work((digest, password) => hash(() => matches(digest, password)))),
    rejectDeferred: queue.rejectDeferred,
  }
}

/**
 * Passwords are hashed one at a time, so a slow digest makes others wait. Each of these takes a quarter to half a second
 * on a current processor; passwords of our own take a dozen milliseconds.
 */
const MAX_ARGON2_KIB = 65_536
const MAX_ARGON2_PASSES = 4
const MAX_ARGON2_LANES = 4
const MAX_BCRYPT_COST = 12
const MAX_PBKDF2_ITERATIONS = 1_000_000

/** Tells an imported argon2id digest from our own: the other service did not normalise the password. */
const PREFIX = 'imported:'

export function isImported(digest: string | null): digest is string {
  return digest?.startsWith(PREFIX) ?? false
}

export type ImportedDigest = { readonly digest: string } | { readonly problem: string }

const ARGON2 = /^\$argon2id\$v=19\$m=(\d{1,9}),t=(\d{1,9}),p=(\d{1,9})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/

/** The spellings of the PHC format and passlib, and of Django. */
const PBKDF2 = [
  /^\$pbkdf2-(?<hash>sha256|sha512)\$(?:i=)?(?<iterations>\d{1,9})(?:,l=\d+)?\$(?<salt>[A-Za-z0-9+/.]{1,172})\$(?<key>[A-Za-z0-9+/.]{20,172})={0,2}$/,
  /^pbkdf2_(?<hash>sha256|sha512)\$(?<iterations>\d{1,9})\$(?<text>[^$]{1,128})\$(?<key>[A-Za-z0-9+/]{20,172})={0,2}$/,
]

/** What is stored for a digest of another service, or why it is not accepted. */
export function importDigest(text: string): ImportedDigest {
  const problem = problemOf(text)
  return problem === null ? { digest: PREFIX + text } : { problem }
}

function problemOf(text: string): string | null {
  const argon2 = ARGON2.exec(text)
  if (argon2) {
    const [kib = 0, passes = 0, lanes = 0] = argon2.slice(1).map(Number)
    const fits = kib >= 8 * lanes && kib <= MAX_ARGON2_KIB && passes >= 1 && passes <= MAX_ARGON2_PASSES
    if (fits && lanes >= 1 && lanes <= MAX_ARGON2_LANES) return null
    return `Argon2id with m=${kib},t=${passes},p=${lanes} is beyond m=${MAX_ARGON2_KIB},t=${MAX_ARGON2_PASSES},p=${MAX_ARGON2_LANES}.`
  }
  const bcrypt = BCRYPT.exec(text)
  if (bcrypt) {
    const cost = Number(bcrypt[1])
    return cost >= 4 && cost <= MAX_BCRYPT_COST
      ? null
      : `bcrypt with the cost ${cost} is not within 4 to ${MAX_BCRYPT_COST}.`
  }
  const { iterations } = readPbkdf2(text) ?? { iterations: null }
  if (iterations === null) return 'The password hash is not argon2id, bcrypt or PBKDF2 with SHA-256 or SHA-512.'
  if (iterations >= 1 && iterations <= MAX_PBKDF2_ITERATIONS) return null
  return `PBKDF2 with ${iterations} iterations is not within 1 to ${MAX_PBKDF2_ITERATIONS}.`
}

function readPbkdf2(text: string) {
  const found = PBKDF2.map((spelling) => spelling.exec(text)?.groups).find((groups) => groups !== undefined)
  if (!found) return null
  const { hash = '', iterations = '', salt = '', text: plain, key = '' } = found
  // passlib writes "." for "+".
  const bytes = (encoded: string) => Buffer.from(encoded.replaceAll('.', '+'), 'base64')
  return {
    hash,
    iterations: Number(iterations),
    salt: plain === undefined ? bytes(salt) : Buffer.from(plain),
    key: bytes(key),
  }
}

const derive = promisify(pbkdf2)

/** Runs outside of the main thread, like the hashing of our own passwords. */
export async function matchesImported(digest: string, password: string): Promise<boolean> {
  const text = digest.slice(PREFIX.length)
  if (ARGON2.test(text)) return verify(text, password)
  if (BCRYPT.test(text)) return verifyBcrypt(password, text)
  const known = readPbkdf2(text)
  if (!known) return false
  const { hash, iterations, salt, key } = known
  return equalSecrets(await derive(password, salt, iterations, key.length, hash), key)
}
