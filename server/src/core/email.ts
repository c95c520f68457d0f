/** The address that a user signs in with, as it is kept: one spelling, so that an account has one user for it. */

/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const LONGEST_EMAIL = 254

/** Whether mail arrives there is for the mail to find out. Controls and white space would end up in its headers. */
const EMAIL = /^[^@\s\p{C}]+@[^@\s\p{C}]+$/u

export function readEmail(typed: string): string | null {
  const email = typed.trim().toLowerCase()
  return email.length <= LONGEST_EMAIL && EMAIL.test(email) ? email : null
}
