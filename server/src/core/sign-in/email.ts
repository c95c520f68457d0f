/** The address that a user signs in with, as it is kept: one spelling, so that an account has one user for it. */

/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const MAX_EMAIL_LENGTH = 254

/**
 * One mailbox, without the quotes, lists and brackets that RFC 5322 has room for: what reads mail headers would read them as
 * it sees fit. Whether mail arrives there is for the mail to find out.
 */
const MAILBOX = /^[^\s\p{C}"(),:;<>@[\\\]]+@[^\s\p{C}"(),:;<>@[\\\]]+$/u

export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && MAILBOX.test(text)
}

export function readEmail(typed: string): string | null {
  const email = typed.trim().toLowerCase()
  return isEmail(email) ? email : null
}
