/**
 * Mails to users, administrators and operators. The plain text is authoritative; the HTML says the same with clickable
 * links. Neither loads remote content, tracks opening, or asks for anything but a click.
 */
import { renderToString } from 'preact-render-to-string'
import type { AlarmingReason } from '../../core/grants/revocation-reason.ts'
import type { OperatorChangeNotification, ReviewNotification, SecondDecisionNotification } from '../../core/mail.ts'
import type { Service } from '../ui/frame.ts'
import type { Words } from '../ui/words.ts'
import type { Block } from './block.ts'
import { composeManagement, type ManagementMail } from './management.ts'
import { composeOperatorChange, composeSecondDecision } from './operators.ts'
import { composeReview } from './review.ts'

type About = {
  /**
   * Host of the account's pages, for example `acme.service.example`. Mails name the account by it: its administrators
   * choose its name, and may have invited a stranger to make us send that.
   */
  readonly accountHost: string
  /** Recipient. */
  readonly email: string
}

export type MailContent = About &
  /** `invitedBy`: null: a program with a management key. */
  (
    | { readonly kind: 'invitation'; readonly link: string; readonly invitedBy: string | null }
    | { readonly kind: 'recovery'; readonly link: string }
    | { readonly kind: 'sign_in'; readonly link: string }
    | { readonly kind: 'sign_in_locked'; readonly network: string | null; readonly at: number }
    /** An administrator, or a program, removed all sign-in methods of the user. */
    | { readonly kind: 'reset'; readonly link: string; readonly by: string | null }
    | ManagementMail
    | {
        readonly kind: 'grant_created'
        readonly application: string
        /** Scope titles, as on the consent page. */
        readonly permissions: readonly string[]
        readonly at: number
        readonly place: string | null
        /** Revokes the grant without sign-in. */
        readonly link: string
      }
    /** Several grants in one mail. */
    | { readonly kind: 'grants_created'; readonly count: number; readonly applications: readonly string[] }
    | { readonly kind: 'password_changed'; readonly at: number }
    | {
        readonly kind: 'sign_in_method_added' | 'sign_in_method_removed'
        readonly method: 'passkey' | 'authenticator'
        readonly at: number
      }
    | { readonly kind: 'recovery_codes_created'; readonly at: number }
    | { readonly kind: 'recovery_code_used'; readonly left: number; readonly at: number }
    | {
        readonly kind: 'grant_ended'
        readonly application: string
        readonly reason: AlarmingReason
        readonly at: number
      }
    /** To administrators: within minutes, many users of all accounts were asked by one application from one place. */
    | {
        readonly kind: 'many_codes'
        readonly application: string
        readonly people: number
        readonly place: string | null
      }
    /**
     * To administrators: their application polls too fast, its review was decided, or their request was answered. The
     * link leads to its figures, or after a request to its page.
     */
    | (ReviewNotification & { readonly kind: 'application_review'; readonly link: string })
    /** To operators: suspended applications wait for a review. The link leads to the queue. */
    | {
        readonly kind: 'suspensions_waiting'
        readonly count: number
        readonly applications: readonly string[]
        readonly since: number
        readonly link: string
      }
    /** To operators: a change of an operator. The link leads to the pending changes. */
    | (OperatorChangeNotification & { readonly kind: 'operator_change'; readonly link: string })
    /** To operators: a decision that needs two operators. The link leads to the application. */
    | (SecondDecisionNotification & { readonly kind: 'second_decision'; readonly link: string })
    /** To administrators: credentials need a key that is going to be retired. The link leads to their applications. */
    | {
        readonly kind: 'credentials_to_renew'
        readonly count: number
        readonly applications: readonly string[]
        readonly link: string
      }
    /** The link leads to the page where the user sets up an authenticator and creates recovery codes. */
    | { readonly kind: 'authenticator_to_renew' | 'recovery_codes_to_renew'; readonly link: string }
    /** To administrators: the DNS record of the publisher is missing. */
    | {
        readonly kind: 'publisher_record'
        readonly application: string
        readonly domain: string
        readonly record: string
        readonly lost: boolean
      }
  )

export type Mail = { readonly subject: string; readonly text: string; readonly html: string }

export function renderMail(words: Words, service: Service, mail: MailContent): Mail {
  const [subject, ...blocks] = compose(words, mail)
  const { accountHost: host, email } = mail
  const closing = [
    { says: words.t('mail.never_ask') },
    { says: words.t('mail.why_sent', { host, email }) },
    ...service.links.map(({ kind, href }) => ({ link: href, label: words.t(`layout.link_${kind}`) })),
    { says: service.name },
  ] satisfies Block[]
  const all = [...blocks, ...closing]
  return {
    subject: subject.replace(/\s+/g, ' '),
    text: `${all.map((block) => textOf(words, block)).join('\n\n')}\n`,
    html: htmlOf(words, service, all),
  }
}

function compose(words: Words, mail: MailContent): readonly [string, ...Block[]] {
  const { accountHost: name } = mail
  switch (mail.kind) {
    case 'recovery':
      return [
        words.t(`mail.${mail.kind}_subject`, { name }),
        { says: words.t(`mail.${mail.kind}_text`, { name }) },
        { link: mail.link, label: words.t('mail.choose_password') },
        { says: words.t(`mail.${mail.kind}_what`) },
      ]
    case 'sign_in':
      return [
        words.t('mail.sign_in_subject', { name }),
        { says: words.t('mail.sign_in_text', { name }) },
        { link: mail.link, label: words.t('mail.sign_in_link') },
        { says: words.t('mail.sign_in_what', { name }) },
      ]
    case 'sign_in_locked':
      return [
        words.t('mail.sign_in_locked_subject', { name }),
        { says: words.t('mail.sign_in_locked_text', { name, when: words.moment(mail.at) }) },
        { facts: [[words.t('audit_detail.network'), mail.network]] },
        { says: words.t('mail.sign_in_locked_what', { name }) },
      ]
    case 'invitation':
      return [
        words.t('mail.invitation_subject', { name }),
        { says: words.t('mail.invitation_text', { name, by: mail.invitedBy ?? words.t('mail.program', { name }) }) },
        { link: mail.link, label: words.t('mail.choose_password') },
        { says: words.t('mail.invitation_what') },
      ]
    case 'reset':
      return [
        words.t('mail.reset_subject', { name }),
        {
          says:
            mail.by === null
              ? words.t('mail.reset_by_program', { name })
              : words.t('mail.reset_text', { name, by: mail.by }),
        },
        { link: mail.link, label: words.t('mail.choose_password') },
        { says: words.t('mail.reset_what') },
      ]
    case 'administrator_made':
    case 'address_change':
    case 'address_changes':
    case 'key_network':
      return composeManagement(words, mail, mail)
    case 'grant_created':
      return [
        words.t('mail.grant_created_subject', { application: mail.application, name }),
        { says: words.t('mail.grant_created_text', { application: mail.application, name }) },
        {
          facts: [
            [words.t('mail.can'), words.list(mail.permissions)],
            [words.t('mail.when'), words.moment(mail.at)],
            [words.t('mail.place'), mail.place],
          ],
        },
        { says: words.t('mail.grant_created_what') },
        { link: mail.link, label: words.t('mail.remove_access') },
      ]
    case 'grants_created':
      return [
        words.t('mail.grants_created_subject', { count: mail.count, name }),
        { says: words.t('mail.grants_created_text', { name }) },
        { facts: [[words.t('mail.grants_created_which', { count: mail.count }), words.list(mail.applications)]] },
        { says: words.t('mail.grants_created_what', { name }) },
      ]
    case 'password_changed':
      return [
        words.t('mail.password_changed_subject', { name }),
        { says: words.t('mail.password_changed_text', { name, when: words.moment(mail.at) }) },
        { says: words.t('mail.not_you', { name }) },
      ]
    case 'sign_in_method_added':
    case 'sign_in_method_removed': {
      const what = `${mail.method}_${mail.kind === 'sign_in_method_added' ? 'added' : 'removed'}` as const
      return [
        words.t(`mail.${what}_subject`, { name }),
        { says: words.t(`mail.${what}_text`, { name, when: words.moment(mail.at) }) },
        { says: words.t('mail.not_you', { name }) },
      ]
    }
    case 'recovery_codes_created':
      return [
        words.t('mail.recovery_codes_created_subject', { name }),
        { says: words.t('mail.recovery_codes_created_text', { name, when: words.moment(mail.at) }) },
        { says: words.t('mail.not_you', { name }) },
      ]
    case 'recovery_code_used':
      return [
        words.t('mail.recovery_code_used_subject', { name }),
        { says: words.t('mail.recovery_code_used_text', { name, when: words.moment(mail.at) }) },
        { says: words.t('mail.recovery_code_used_left', { left: mail.left }) },
        { says: words.t('mail.not_you', { name }) },
      ]
    case 'grant_ended': {
      const { application, reason } = mail
      return [
        words.t('mail.grant_ended_subject', { application, name }),
        { says: words.t(`mail.${reason}_text`, { application, when: words.moment(mail.at) }) },
        { says: words.t('mail.grant_ended_done', { application, name }) },
        { says: words.t('mail.grant_ended_what', { application }) },
      ]
    }
    case 'many_codes':
      return [
        words.t('mail.many_codes_subject', { name }),
        { says: words.t('mail.many_codes_text', { name, application: mail.application, people: mail.people }) },
        { facts: [[words.t('mail.place'), mail.place]] },
        { says: words.t('mail.many_codes_what', { name }) },
      ]
    case 'application_review':
      return composeReview(words, mail, name, mail.link)
    case 'suspensions_waiting': {
      const { count, applications, since, link } = mail
      return [
        words.t('mail.suspensions_waiting_subject', { count }),
        { says: words.t('mail.suspensions_waiting_text', { count }) },
        {
          facts: [
            [words.t('mail.suspensions_waiting_which', { count }), words.list(applications)],
            [words.t('mail.suspensions_waiting_since'), words.moment(since)],
          ],
        },
        { says: words.t('mail.suspensions_waiting_what') },
        { link, label: words.t('mail.suspensions_waiting_link') },
      ]
    }
    case 'operator_change':
      return composeOperatorChange(words, mail, mail.link)
    case 'second_decision':
      return composeSecondDecision(words, mail, mail.link)
    case 'credentials_to_renew': {
      const { count, applications, link } = mail
      return [
        words.t('mail.credentials_to_renew_subject', { count, name }),
        { says: words.t('mail.credentials_to_renew_text', { count }) },
        { facts: [[words.t('mail.credentials_to_renew_which', { count }), words.list(applications)]] },
        { says: words.t('mail.credentials_to_renew_what') },
        { link, label: words.t('mail.credentials_to_renew_link') },
      ]
    }
    case 'recovery_codes_to_renew':
      return [
        words.t('mail.recovery_codes_to_renew_subject', { name }),
        { says: words.t('mail.recovery_codes_to_renew_text', { name }) },
        { link: mail.link, label: words.t('security.recovery_codes_create') },
      ]
    case 'authenticator_to_renew':
      return [
        words.t('mail.authenticator_to_renew_subject', { name }),
        { says: words.t('mail.authenticator_to_renew_text', { name }) },
        { link: mail.link, label: words.t('mail.authenticator_to_renew_link') },
        { says: words.t('mail.authenticator_to_renew_what') },
      ]
    case 'publisher_record': {
      const { application, domain, record, lost } = mail
      const what = lost ? 'publisher_lost' : 'publisher_missing'
      return [
        words.t(`mail.${what}_subject`, { application, domain }),
        { says: words.t(`mail.${what}_text`, { application, domain }) },
        { facts: [[words.t('mail.record'), record]] },
        { says: words.t(`mail.${what}_what`, { application, domain }) },
      ]
    }
  }
}

const known = (facts: readonly (readonly [string, string | null])[]) => facts.filter(([, value]) => value)

function textOf(words: Words, block: Block): string {
  if ('says' in block) return block.says
  // The URL is alone on its line and unchanged, so that every mail program links it in full.
  if ('link' in block) return `${block.label}:\n${block.link}`
  return known(block.facts)
    .map(([name, value]) => words.t('mail.fact', { name, value: value ?? '' }))
    .join('\n')
}

function htmlOf(words: Words, service: Service, blocks: readonly Block[]): string {
  const html = (
    <html lang={words.language} dir={words.direction}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
      </head>
      <body style="margin:1.5rem auto;padding:0 1rem;max-width:36rem;font:1rem/1.5 system-ui,sans-serif">
        {service.logo && <img src={service.logo.url} alt={service.name} height="40" />}
        {blocks.map((block, index) => (
          <HtmlBlock words={words} block={block} key={index} />
        ))}
      </body>
    </html>
  )
  return `<!doctype html>${renderToString(html)}`
}

function HtmlBlock({ words, block }: { readonly words: Words; readonly block: Block }) {
  if ('says' in block) return <p>{block.says}</p>
  if ('link' in block) {
    return (
      <p>
        <a href={block.link}>{block.label}</a>
      </p>
    )
  }
  return (
    <ul>
      {known(block.facts).map(([name, value]) => (
        <li key={name}>{words.t('mail.fact', { name, value: value ?? '' })}</li>
      ))}
    </ul>
  )
}
