/** Mail: hands one message to the operator's mail server. What is in it is for pages/, when it is sent for flows/. */
import { createTransport, type NodemailerError } from 'nodemailer'
import { isEmail } from './core/sign-in/email.ts'

export type Mail = {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** `<…@…>`, the same for every attempt: where a mail arrives twice, the reader's program shows it once. */
  readonly messageId: string
}

export type Mailer = {
  /** Resolves when the mail server has taken it; otherwise rejects with MailNotSent. */
  send(mail: Mail): Promise<void>
  /** Goes as far as one can without a mail: connects, encrypts, signs in. Rejects with MailNotSent. */
  greet(): Promise<void>
  close(): void
}

/** Says what went wrong by its codes, never in the server's words: those repeat addresses. */
export class MailNotSent extends Error {
  override readonly name = 'MailNotSent'
  /** The server said that it will not take this mail, later either (RFC 5321, section 4.2.1). */
  readonly permanent: boolean

  constructor(reason: string, permanent: boolean) {
    super(`the mail was not taken: ${reason}`)
    this.permanent = permanent
  }
}

/** Null without a mail server. Options of nodemailer may stand in the URL, `?tls.rejectUnauthorized=false` for one. */
export function createMailer(
  smtpUrl: string | null,
  from: string,
  { connectMs = 5_000, silenceMs = 10_000 }: { readonly connectMs?: number; readonly silenceMs?: number } = {},
): Mailer | null {
  if (smtpUrl === null) return null
  const transport = createTransport({
    url: smtpUrl,
    // The whole of it: name, connection, greeting, encryption.
    connectionTimeout: connectMs,
    socketTimeout: silenceMs,
    // A password is not sent in the clear because somebody on the way took the offer of encryption out.
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
          // RFC 3834: no holiday notices in return.
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

/** `Acme, Inc. <no-reply@acme.example>`: a name may have commas and colons, which the library would take for a list. */
function readSender(from: string): { name: string; address: string } {
  const [name = '', address] = from.split('<', 2)
  if (address === undefined) return { name: '', address: from }
  return { name: name.trimEnd().replace(/^"(.*)"$/, '$1'), address: address.replace('>', '') }
}
