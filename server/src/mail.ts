/**
 * Mailer: sends one message through the operator's SMTP server. pages/ renders the content, flows/ decides when to
 * send.
 */
import { createTransport, type NodemailerError } from 'nodemailer'
import { isEmail } from './core/sign-in/email.ts'

export type Mail = {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** `<…@…>`, the same for every attempt, so that mail programs show a mail once even if it arrives twice. */
  readonly messageId: string
}

export type Mailer = {
  /** Resolves when the SMTP server has accepted the mail; otherwise rejects with MailNotSent. */
  send(mail: Mail): Promise<void>
  /** Connects, negotiates TLS and authenticates without sending a mail. Rejects with MailNotSent. */
  greet(): Promise<void>
  close(): void
}

/** Carries the error codes only: the server's own text repeats addresses. */
export class MailNotSent extends Error {
  override readonly name = 'MailNotSent'
  /** The server rejected this mail permanently (RFC 5321, section 4.2.1). */
  readonly permanent: boolean

  constructor(reason: string, permanent: boolean) {
    super(`the mail was not taken: ${reason}`)
    this.permanent = permanent
  }
}

/**
 * Null without an SMTP server. The URL may carry options of nodemailer, for example `?tls.rejectUnauthorized=false`.
 */
export function createMailer(
  smtpUrl: string | null,
  from: string,
  { connectMs = 5_000, silenceMs = 10_000 }: { readonly connectMs?: number; readonly silenceMs?: number } = {},
): Mailer | null {
  if (smtpUrl === null) return null
  const transport = createTransport({
    url: smtpUrl,
    // Covers DNS, connection, greeting and TLS.
    connectionTimeout: connectMs,
    socketTimeout: silenceMs,
    // With a password, TLS is mandatory: an attacker on the path could strip STARTTLS and read it.
    requireTLS: new URL(smtpUrl).password !== '',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const sender = readSender(from)

  return {
    send: async ({ to, subject, text, html, messageId }) => {
      if (!isEmail(to)) throw new MailNotSent('the address is none that mail can be sent to', true)
      try {
        await transport.sendMail({
          from: sender,
          to: { name: '', address: to },
          subject: subject.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '),
          text,
          html,
          messageId,
          // RFC 3834: suppresses automatic replies.
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
      } catch (error) {
        const { code, responseCode = 0 } = error as NodemailerError
        const aboutThisMail = code === 'EENVELOPE' || code === 'EMESSAGE'
        throw new MailNotSent(`${code} ${responseCode}`, aboutThisMail && responseCode >= 500)
      }
    },
    greet: async () => {
      try {
        await transport.verify()
      } catch (error) {
        const { code, responseCode = 0 } = error as NodemailerError
        throw new MailNotSent(`${code} ${responseCode}`, false)
      }
    },
    close: () => transport.close(),
  }
}

/**
 * `Acme, Inc. <no-reply@acme.example>`: the name may have commas and colons, which the library would parse as a list.
 */
function readSender(from: string): { name: string; address: string } {
  const [name = '', address] = from.split('<', 2)
  if (address === undefined) return { name: '', address: from }
  return { name: name.trimEnd().replace(/^"(.*)"$/, '$1'), address: address.replace('>', '') }
}
