/** Well-known addresses: whom to tell of a vulnerability (RFC 9116), and where a user changes the password (W3C). */
import type { Config } from '../../config.ts'
import type { BaseHandler, PageHandler, PageRequest } from './answer.ts'

export const SECURITY_TXT = '/.well-known/security.txt'

const DAY_MS = 24 * 60 * 60 * 1000

/** A copy is not relied on for longer. */
const VALID_DAYS = 30

/** Only with SECURITY_CONTACT: reports about an installation go to whoever operates it. */
export const showSecurityTxt: BaseHandler = async ({ config, applications }) => {
  const text = securityTxt(config, applications.now())
  return text === null
    ? { refusal: 'not_found' }
    : { bytes: Buffer.from(text), type: 'text/plain; charset=utf-8', lasting: false }
}

function securityTxt({ publicUrl, securityContact, securityPolicyUrl }: Config, now: number): string | null {
  if (securityContact === null) return null
  // At midnight, so that the text changes once a day.
  const expiresAt = (Math.floor(now / DAY_MS) + VALID_DAYS) * DAY_MS
  const lines = [
    `Contact: ${securityContact}`,
    `Expires: ${new Date(expiresAt).toISOString()}`,
    `Canonical: ${publicUrl}${SECURITY_TXT}`,
    ...(securityPolicyUrl === null ? [] : [`Policy: ${securityPolicyUrl}`]),
    'Preferred-Languages: en',
  ]
  return `${lines.join('\n')}\n`
}

/** An account's host has no text of its own: the operator, not the account, receives reports. */
export const goToSecurityTxt: PageHandler<PageRequest> = async ({ config: { publicUrl, securityContact } }) =>
  securityContact === null ? { refusal: 'not_found' } : { seeOther: `${publicUrl}${SECURITY_TXT}` }

export const goToPassword: PageHandler<PageRequest> = async () => ({ seeOther: '/security' })
