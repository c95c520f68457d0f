/** E-mail address that a user signs in with, in canonical spelling, so that an account has one user per address. */

/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const MAX_EMAIL_LENGTH = 254

/**
 * One mailbox, without the quotes, lists and brackets that RFC 5322 allows: mail software parses those inconsistently.
 * Whether the mailbox exists is not checked.
 */
const MAILBOX = /^[^\s\p{C}"(),:;<>@[\\\]]+@[^\s\p{C}"(),:;<>@[\\\]]+$/u

export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && MAILBOX.test(text)
}

export function readEmail(typed: string): string | null {
  const email = typed.trim().toLowerCase()
  return isEmail(email) ? email : null
}
