/**
 * Sends what the outbox holds. A mail is taken for a while, sent, and marked; if this process dies in between, another
 * sends it again with the same Message-ID. The addresses in it are computed here and written down nowhere.
 */
import { MailNotSent } from '../mail.ts'
import { type MailContent, renderMail } from '../pages/mails.tsx'
import { chooseLanguage, wordsFor } from '../pages/words.ts'
import { type DueMail, giveUpMail, markMailSent, takeDueMails } from '../store/mails.ts'
import { accountOrigin } from './account-address.ts'
import type { Context } from './context.ts'
import { linkAddress } from './links.ts'

const AT_ONCE = 10

/** The last attempts are an hour apart: about half a day in all. */
const MOST_ATTEMPTS = 18

/** Returns how many went out. */
export async function sendDueMails(context: Context): Promise<number> {
  if (!context.mailer) return 0
  let sent = 0
  for (const mail of await takeDueMails(context.db, AT_ONCE)) {
    if (await send(context, mail)) sent += 1
  }
  return sent
}

async function send(context: Context, mail: DueMail): Promise<boolean> {
  const { subject, text, html } = renderMail(wordsFor(chooseLanguage(mail.language, null)), contentOf(context, mail))
  const messageId = `<mail-${mail.id}@${new URL(accountOrigin(context, mail.slug)).hostname}>`
  try {
    await context.mailer?.send({ to: mail.email, subject, text, html, messageId })
  } catch (error) {
    context.events.mailFailed(mail.id, mail.attempts, error)
    const never = error instanceof MailNotSent && error.permanent
    if (never || mail.attempts >= MOST_ATTEMPTS) await giveUpMail(context.db, mail.id)
    return false
  }
  await markMailSent(context.db, mail.id)
  return true
}

/** The facts that were kept, with what is only computed now: addresses, and places in the reader's language. */
function contentOf(context: Context, mail: DueMail): MailContent {
  const { slug, accountName, email, language, createdAt: at } = mail
  const about = { accountName, accountHost: new URL(accountOrigin(context, slug)).host, email }
  const link = mail.linkId === null ? '' : linkAddress(context, slug, mail.linkId)
  const placeOf = (address: string | null) => context.places.find(address).place(language) ?? address
  switch (mail.kind) {
    case 'invitation':
      return { ...about, kind: mail.kind, link, invitedBy: mail.detail.by }
    case 'reset':
      return { ...about, kind: mail.kind, link, by: mail.detail.by }
    case 'recovery':
      return { ...about, kind: mail.kind, link }
    case 'grant_created': {
      const { application, permissions, requestedFrom } = mail.detail
      return { ...about, kind: mail.kind, link, application, permissions, at, place: placeOf(requestedFrom) }
    }
    case 'password_changed':
      return { ...about, kind: mail.kind, at }
    case 'sign_in_method_added':
      return { ...about, kind: mail.kind, method: mail.detail.method, at }
    case 'many_codes': {
      const { application, people, requestedFrom } = mail.detail
      return { ...about, kind: mail.kind, application, people, place: placeOf(requestedFrom) }
    }
  }
}
