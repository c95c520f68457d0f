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

/** Common passwords extended to twelve characters in the usual ways. Lists of leaked passwords are full of them. */
const COMMON = new Set(
  `123456123456 123123123123 121212121212 112233445566 111222333444 123321123321 147258369147 123654789123 102030405060
  password1234 password12345 password123456 passwordpassword password123! passw0rd1234 p@ssw0rd1234 p@ssword1234
  mypassword123 mypassword1234 thisismypassword administrator admin1234567 administrator1 adminadminadmin rootrootroot
  qwertyuiop12 qwertyuiop123 qwertyuiop[] qwertyuiopasdfghjkl qwertyuiopasdfghjklzxcvbnm qwertyqwerty qwerty123456
  123456qwerty qwerty1234567 qwer1234asdf qwerasdfzxcv asdfghjkl123 asdfasdfasdf 1234qwerasdf qweasdzxc123 1q2w3e4r5t6y
  1q2w3e4r5t6y7u8i q1w2e3r4t5y6 1qaz2wsx3edc 1qaz2wsx3edc4rfv 1qazxsw23edc qazwsxedcrfv zaq12wsxcde3 !qaz2wsx#edc
  iloveyou1234 iloveyouiloveyou letmein12345 letmeinletmein welcome12345 welcome123456 changeme1234 changemechangeme
  abc123abc123 abcd12345678 a1b2c3d4e5f6 abcabcabcabc trustno1trustno1 correcthorsebatterystaple sunshine1234
  princess1234 football1234 superman1234 monkey123456 dragon123456`.split(/\s+/),
)

/**
 * Whether an attacker who knows the user would try it first. `about` is public knowledge about them: their e-mail
 * address, the account's slug. The length is checked elsewhere (core/sign-in/password.ts).
 */
export function isCommonPassword(password: string, about: readonly string[]): boolean {
  const plain = normalised(password).toLowerCase()
  return COMMON.has(plain) || /^(.)\1*$/su.test(plain) || isStraightRun(plain) || saysOnly(plain, about)
}

const ROUNDS = ['0123456789', 'abcdefghijklmnopqrstuvwxyz']

/** abcdefghijkl, 123456789012, 987654321098. */
function isStraightRun(text: string): boolean {
  return ROUNDS.some((round) => {
    const twice = round.repeat(Math.ceil(text.length / round.length) + 1)
    return twice.includes(text) || twice.includes(Array.from(text).reverse().join(''))
  })
}

/** Whether the text consists only of these words and separators. */
function saysOnly(text: string, about: readonly string[]): boolean {
  const words = about
    .flatMap((each) => [each, each.split('@', 1)[0] ?? ''])
    .map((each) => normalised(each).toLowerCase())
  const longestFirst = words.filter((word) => word !== '').sort((a, b) => b.length - a.length)
  const rest = longestFirst.reduce((left, word) => left.replaceAll(word, ' '), text)
  return rest.replace(/[\s._@+-]/g, '') === ''
}
