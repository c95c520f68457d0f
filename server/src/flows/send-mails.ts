/**
 * Mail sender: leases a mail from the outbox, sends it and marks it as sent. If this process dies in between, another
 * one sends it again with the same Message-ID. The URLs in a mail are computed here and never stored.
 */
import { requestAnswers } from '../core/mail.ts'
import { MailNotSent } from '../mail.ts'
import { type MailContent, renderMail } from '../pages/mails/mails.tsx'
import { type DueMail, giveUpMail, markMailSent, takeDueMail } from '../store/mails.ts'
import { accountOrigin } from './accounts/address.ts'
import { serviceOf } from './configured-branding.ts'
import type { Context } from './context.ts'
import { linkAddress } from './sign-in/links.ts'

/** Per run; the next run is a second later. */
const MAX_PER_TURN = 10

/** The delay doubles up to an hour, so all attempts together take about half a day. */
const MAX_ATTEMPTS = 18

/**
 * Returns the number of mails sent. Leases one mail at a time: with a slow mail server, a batch would hold leases on
 * mails that only wait.
 */
export async function sendDueMails(context: Context): Promise<number> {
  if (!context.mailer) return 0
  let sent = 0
  for (let taken = 0; taken < MAX_PER_TURN; taken += 1) {
    const mail = await takeDueMail(context.db)
    if (!mail) break
    if (await send(context, mail)) sent += 1
  }
  return sent
}

async function send(context: Context, mail: DueMail): Promise<boolean> {
  if (mail.obsolete) {
    await giveUpMail(context.db, mail.id)
    return false
  }
  try {
    const words = context.languages.wordsFor(context.languages.choose(mail.language, null))
    const messageId = `<mail-${mail.id}@${new URL(accountOrigin(context, mail.slug)).hostname}>`
    await context.mailer?.send({
      to: mail.email,
      ...renderMail(words, serviceOf(context), contentOf(context, mail)),
      messageId,
    })
  } catch (error) {
    const never = error instanceof MailNotSent && error.permanent
    const givenUp = never || mail.attempts >= MAX_ATTEMPTS
    context.events.mailFailed(mail.id, mail.attempts, givenUp, error)
    if (givenUp) await giveUpMail(context.db, mail.id)
    return false
  }
  await markMailSent(context.db, mail.id)
  return true
}

/**
 * Adds to the stored facts what is computed on sending: URLs, addresses of users, and place names in the recipient's
 * language.
 */
function contentOf(context: Context, mail: DueMail): MailContent {
  const { slug, email, language, createdAt: at } = mail
  const about = { accountHost: new URL(accountOrigin(context, slug)).host, email }
  const link = mail.linkId === null ? '' : linkAddress(context, slug, mail.linkId)
  const placeOf = (address: string | null) => context.geoip.find(address).placeName(language) ?? address
  switch (mail.kind) {
    case 'invitation':
      return { ...about, kind: mail.kind, link, invitedBy: mail.detail.by }
    case 'reset':
      return { ...about, kind: mail.kind, link, by: mail.detail.by }
    case 'recovery':
    case 'sign_in':
      return { ...about, kind: mail.kind, link }
    case 'sign_in_locked':
      return { ...about, kind: mail.kind, network: mail.detail.network, at }
    case 'administrator_made': {
      const { user, by } = mail.detail
      const person = `${accountOrigin(context, slug)}/account/person?user=${user}`
      return { ...about, kind: mail.kind, who: mail.about ?? '', by, link: person }
    }
    case 'address_change':
      return { ...about, kind: mail.kind, pendingEmail: mail.pendingEmail ?? '', link }
    case 'address_changes':
      return { ...about, kind: mail.kind, link: `${accountOrigin(context, slug)}/account/people/addresses` }
    case 'key_network': {
      const { key, label, network, ofService } = mail.detail
      const page = `${accountOrigin(context, slug)}/${ofService ? 'operator' : 'account'}/keys/key?key=${key}`
      return { ...about, kind: mail.kind, label, network, at, link: page }
    }
    case 'grant_created': {
      const { application, permissions, requestedFrom } = mail.detail
      return { ...about, kind: mail.kind, link, application, permissions, at, place: placeOf(requestedFrom) }
    }
    case 'grants_created':
      return { ...about, kind: mail.kind, ...mail.detail }
    case 'password_changed':
      return { ...about, kind: mail.kind, at }
    case 'sign_in_method_added':
    case 'sign_in_method_removed':
      return { ...about, kind: mail.kind, method: mail.detail.method, at }
    case 'recovery_codes_created':
      return { ...about, kind: mail.kind, at }
    case 'recovery_code_used':
      return { ...about, kind: mail.kind, left: mail.detail.left, at }
    case 'grant_ended':
      return { ...about, kind: mail.kind, ...mail.detail, at }
    case 'many_codes': {
      const { application, people, requestedFrom } = mail.detail
      return { ...about, kind: mail.kind, application, people, place: placeOf(requestedFrom) }
    }
    case 'application_review': {
      const { applicationId, what } = mail.detail
      const figures = requestAnswers.some((each) => each === what) ? '' : '/activity'
      const page = `${accountOrigin(context, slug)}/developer/application${figures}?application=${applicationId}`
      return { ...about, kind: mail.kind, ...mail.detail, link: page }
    }
    case 'suspensions_waiting':
      return { ...about, kind: mail.kind, ...mail.detail, link: `${accountOrigin(context, slug)}/operator/reviews` }
    case 'credentials_to_renew':
      return { ...about, kind: mail.kind, ...mail.detail, link: `${accountOrigin(context, slug)}/developer` }
    case 'authenticator_to_renew':
    case 'recovery_codes_to_renew':
      return { ...about, kind: mail.kind, link: `${accountOrigin(context, slug)}/security` }
    case 'operator_change':
      return { ...about, kind: mail.kind, ...mail.detail, link: `${accountOrigin(context, slug)}/operator/operators` }
    case 'second_decision': {
      const query = new URLSearchParams({ application: mail.detail.applicationId })
      const review = `${accountOrigin(context, slug)}/operator/application?${query}`
      return { ...about, kind: mail.kind, ...mail.detail, link: review }
    }
    case 'publisher_record':
      return { ...about, kind: mail.kind, ...mail.detail }
  }
}
