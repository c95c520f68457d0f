/** Texts of mails. */
import { expect, test } from 'vitest'
import { type OperatorChangeNotification, type ReviewNotification, requestAnswers } from '../../../src/core/mail.ts'
import { reasons } from '../../../src/core/reviews/review.ts'
import { figuresOf } from '../../../src/core/reviews/suspension.ts'
import { type MailContent, renderMail } from '../../../src/pages/mails/mails.tsx'
import type { Service } from '../../../src/pages/ui/frame.ts'
import { languages, wordsFor } from '../../../src/pages/ui/words.ts'
import { MANY, makeEvidence, makeWindow } from '../../rig/evidence.ts'
import { defaultThresholds } from '../../rig/thresholds.ts'

const LINK = 'https://northwind.service.example/link?token=abc-DEF_1'
const RECORD = '_latchkey.acme.example'
const AT = Date.UTC(2026, 10, 15, 14, 32)

function makeMails(name: string): readonly MailContent[] {
  const about = { accountHost: 'northwind.service.example', email: 'maria@northwind.example' }
  return [
    { ...about, kind: 'invitation', link: LINK, invitedBy: name },
    { ...about, kind: 'invitation', link: LINK, invitedBy: null },
    { ...about, kind: 'recovery', link: LINK },
    { ...about, kind: 'reset', link: LINK, by: name },
    { ...about, kind: 'reset', link: LINK, by: null },
    ...MADE_BY.map((by) => ({ ...about, kind: 'administrator_made' as const, who: name, by, link: LINK })),
    { ...about, kind: 'address_change', pendingEmail: 'maria@northwind-group.example', link: LINK },
    { ...about, kind: 'address_changes', link: LINK },
    { ...about, kind: 'key_network', label: name, network: '203.0.113.0/24', at: AT, link: LINK },
    { ...about, kind: 'grant_created', application: name, permissions: [name], at: AT, place: null, link: LINK },
    { ...about, kind: 'grants_created', count: 23, applications: [name, name] },
    { ...about, kind: 'password_changed', at: AT },
    { ...about, kind: 'sign_in_method_added', method: 'passkey', at: AT },
    { ...about, kind: 'sign_in_method_added', method: 'authenticator', at: AT },
    { ...about, kind: 'sign_in_method_removed', method: 'passkey', at: AT },
    { ...about, kind: 'sign_in_method_removed', method: 'authenticator', at: AT },
    { ...about, kind: 'recovery_codes_created', at: AT },
    { ...about, kind: 'recovery_code_used', left: 1, at: AT },
    { ...about, kind: 'recovery_codes_to_renew', link: LINK },
    { ...about, kind: 'grant_ended', application: name, reason: 'refresh_token_reused', at: AT },
    { ...about, kind: 'grant_ended', application: name, reason: 'authorization_code_reused', at: AT },
    { ...about, kind: 'grant_ended', application: name, reason: 'credential_reported', at: AT },
    { ...about, kind: 'many_codes', application: name, people: 12, place: 'Hamburg' },
    ...NOTIFICATIONS.map((what) => ({ ...about, ...makeNews(what, { application: name, words: name }) })),
    { ...about, kind: 'suspensions_waiting', count: 2, applications: [name, name], since: AT, link: LINK },
    ...OPERATOR_CHANGES.map((what) => ({ ...about, ...makeOperatorChange(what, name) })),
    { ...about, kind: 'second_decision', ...makeSecondDecision(name), confirmedBy: null },
    { ...about, kind: 'second_decision', ...makeSecondDecision(name), confirmedBy: name },
    { ...about, kind: 'publisher_record', application: name, domain: 'acme.example', record: RECORD, lost: false },
    { ...about, kind: 'publisher_record', application: name, domain: 'acme.example', record: RECORD, lost: true },
  ]
}

const MADE_BY = ['program', 'host_service', 'identity_provider', 'command_line'] as const

const OPERATOR_CHANGES = ['proposed', 'confirmed', 'alone'] as const

function makeOperatorChange(what: OperatorChangeNotification['what'], name: string) {
  const who = { email: name, by: name, confirmedBy: name }
  return { kind: 'operator_change' as const, what, change: 'create' as const, ...who, link: LINK }
}

function makeSecondDecision(application: string) {
  const about = { applicationId: 'app_k3v9m2x7q4tz', application, by: application }
  return { ...about, decision: 'reinstate' as const, link: LINK }
}

const service: Service = { name: 'Acme Cloud', logo: null, links: [] }

const DECIDED = ['warned', 'suspended', 'expired', 'reinstated', 'slowed', 'restored', 'kept', 'revoked'] as const
const NOTIFICATIONS = [...DECIDED, ...requestAnswers]

function makeNews(what: ReviewNotification['what'], given: Partial<ReviewNotification> = {}) {
  const evidence = makeEvidence({ windows: [makeWindow(MANY)], factor: 1.8, reports: 4 })
  return {
    ...{ kind: 'application_review' as const, link: LINK, what },
    applicationId: 'app_k3v9m2x7q4tz',
    application: 'Acme Signage',
    suspended: what === 'suspended' || what === 'kept' || what === 'revoked',
    reason: 'broken_firmware' as const,
    words: null,
    figures: figuresOf(evidence, defaultThresholds),
    until: AT,
    intervalSeconds: 30,
    ...given,
  }
}

test.each(languages)(
  'in $name, a link stands alone on its line, exactly as it is, and only where there is one',
  ({ code }) => {
    for (const mail of makeMails('Northwind')) {
      const { text, html } = renderMail(wordsFor(code), service, mail)
      const hasLink = 'link' in mail
      expect(text.split('\n').filter((line) => line.includes('http'))).toEqual(hasLink ? [LINK] : [])
      expect(html.includes(`href="${LINK}"`)).toBe(hasLink)
    }
  },
)

test.each(languages)(
  'in $name, what a link does leads to it with a colon in the text, and is the link in the HTML',
  ({ code }) => {
    for (const mail of makeMails('Northwind').filter((each) => 'link' in each)) {
      const { text, html } = renderMail(wordsFor(code), service, mail)
      const [, label = ''] = /<a [^>]*>([^<]*)<\/a>/.exec(html) ?? []
      expect(label).toMatch(/[^:\s]$/)
      expect(text).toContain(`\n${label}:\n${LINK}\n`)
    }
  },
)

test('each change of a sign-in method has its own text', () => {
  const mails = makeMails('Northwind').filter(({ kind }) => kind.startsWith('sign_in_method_'))
  for (const { code } of languages) {
    const told = mails.map((mail) => renderMail(wordsFor(code), service, mail))
    expect(new Set(told.map(({ subject }) => subject)).size).toBe(4)
    expect(new Set(told.map(({ text }) => text)).size).toBe(4)
  }
  expect(renderMail(wordsFor('en'), service, mails[2] as MailContent)).toMatchObject({
    subject: 'Passkey removed for northwind.service.example',
    text: expect.stringContaining('was removed from your user on 15 November 2026 at 14:32 UTC.\n\nIf this was you,'),
  })
})

test('users of all accounts are counted, and the text does not claim that they belong to this one', () => {
  const about = { accountHost: 'northwind.service.example', email: 'maria@northwind.example' }
  const mail = { ...about, kind: 'many_codes', application: 'Acme Signage', place: null } as const
  const many = renderMail(wordsFor('en'), service, { ...mail, people: 12 }).text
  expect(many).toContain('the application Acme Signage asked 12 people from the same place for access,')
  expect(many).toContain('at least one of them at northwind.service.example.')
  const one = renderMail(wordsFor('en'), service, { ...mail, people: 1 }).text
  expect(one).toContain(
    'The application Acme Signage asked 1 user of northwind.service.example for access. It may be a fraud',
  )
})

test('a name can add neither a header nor an element', () => {
  for (const mail of makeMails('<b>Acme</b>\r\nBcc: everybody@example.com')) {
    const { subject, html } = renderMail(wordsFor('en'), service, mail)
    expect(subject).not.toMatch(/[\r\n]/)
    expect(html).not.toContain('<b>Acme')
  }
})

test('the mail about a new grant has application, time and place, and leaves out what is unknown', () => {
  const about = { accountHost: 'northwind.service.example', email: 'maria@northwind.example' }
  const mail = { ...about, kind: 'grant_created', application: 'Acme Signage', at: AT, link: LINK } as const
  const known = renderMail(wordsFor('en'), service, {
    ...mail,
    permissions: ['see calendars', 'change screens'],
    place: 'Hamburg',
  })
  expect(known.subject).toBe('Acme Signage can now use your account at northwind.service.example')
  expect(known.text).toContain(
    'Permissions: see calendars and change screens\nTime: 15 November 2026 at 14:32 UTC\nLocation: Hamburg\n',
  )
  expect(renderMail(wordsFor('en'), service, { ...mail, permissions: [], place: null }).text).not.toMatch(
    /Permissions:|Location:/,
  )
})

test('a grant revoked by the service is reported: what happened, when, and what to do', () => {
  const about = { accountHost: 'northwind.service.example', email: 'maria@northwind.example' }
  const mail = { ...about, kind: 'grant_ended', application: 'Acme Signage', at: AT } as const
  const reused = renderMail(wordsFor('en'), service, { ...mail, reason: 'refresh_token_reused' })
  expect(reused.subject).toBe('Access of Acme Signage to your account at northwind.service.example ended')
  expect(reused.text).toContain('On 15 November 2026 at 14:32 UTC, an outdated refresh token of Acme Signage was used.')
  expect(reused.text).toContain(
    '\n\nTo protect your account at northwind.service.example, we ended the access of Acme Signage immediately.\n\n',
  )
  expect(reused.text).toContain('If you still use Acme Signage, connect it again.')
  const reported = renderMail(wordsFor('en'), service, { ...mail, reason: 'credential_reported' })
  expect(reported.text).toContain('a credential of Acme Signage for your account was found in public.')
  expect(reported.text).not.toContain('stolen')
})

test.each(languages)('in $name, each revocation reason has its own text and a date', ({ code }) => {
  const words = wordsFor(code)
  const texts = makeMails('Northwind')
    .filter(({ kind }) => kind === 'grant_ended')
    .map((mail) => renderMail(words, service, mail).text)
  expect(new Set(texts).size).toBe(3)
  const dated = texts.filter((text) => text.includes(words.moment(AT)))
  expect(dated).toHaveLength(3)
})

test.each(languages)('in $name, each outcome of a review has its own text', ({ code }) => {
  const told = makeMails('Northwind')
    .filter(({ kind }) => kind === 'application_review')
    .map((mail) => renderMail(wordsFor(code), service, mail))
  expect(new Set(told.map(({ subject }) => subject)).size).toBe(NOTIFICATIONS.length)
  expect(new Set(told.map(({ text }) => text)).size).toBe(NOTIFICATIONS.length)
  const about = { accountHost: 'northwind.service.example', email: 'maria@northwind.example' }
  const reason = reasons.map(
    (reason) => renderMail(wordsFor(code), service, { ...about, ...makeNews('kept', { reason }) }).text,
  )
  expect(new Set(reason).size).toBe(reasons.length)
})

test('an owner reads that a suspension lasts until its review, or when it ends', () => {
  const about = { accountHost: 'northwind.service.example', email: 'maria@northwind.example' }
  const suspended = (until: number | null) =>
    renderMail(wordsFor('en'), service, { ...about, ...makeNews('suspended', { until }) }).text
  const untilReview = 'It stays suspended until the operators of this service have reviewed it.'
  expect(suspended(null)).toContain(untilReview)
  expect(suspended(null)).not.toContain('automatically')
  expect(suspended(AT)).not.toContain(untilReview)
  expect(suspended(AT)).toContain('not decide by 15 November 2026 at 14:32 UTC, the suspension ends automatically.')
})

test('an operator reads which suspensions wait, and since when', () => {
  const about = { accountHost: 'operators.service.example', email: 'olga@operators.example' }
  const mail = { ...about, kind: 'suspensions_waiting', count: 2, since: AT, link: LINK } as const
  const { subject, text } = renderMail(wordsFor('en'), service, {
    ...mail,
    applications: ['Acme Signage', 'Night Porter'],
  })
  expect(subject).toBe('2 suspended applications are waiting for your review')
  expect(text).toContain('2 applications: Acme Signage and Night Porter\nWaiting since: 15 November 2026 at 14:32 UTC')
})

test('an owner reads the figures of the decision beside the thresholds', () => {
  const about = { accountHost: 'northwind.service.example', email: 'maria@northwind.example' }
  const of = (what: ReviewNotification['what'], given: Partial<ReviewNotification> = {}) =>
    renderMail(wordsFor('en'), service, { ...about, ...makeNews(what, given) })
  const warned = of('warned', { reason: null })
  expect(warned.subject).toBe('Acme Signage polls too fast')
  expect(warned.text).toContain('may be suspended from 15 November 2026 at 14:32 UTC:')
  expect(warned.text).toContain(
    'Ignored “slow_down”: devices of 30 out of 100 accounts within 10 minutes, from 30 networks\n' +
      'Suspension threshold: 25 accounts, 5% of all accounts and 10 networks, 3 times in a row\n' +
      'Polls: 1.8 times as many as allowed\n' +
      'Reports in the last 24 hours: from 4 accounts',
  )
  expect(warned.text).not.toContain('Reason')
  const kept = of('kept', { words: 'Firmware 2 polls each second.', figures: null }).text
  expect(kept).toContain(
    'Reason: Faulty software on the devices\n\nMessage from the operators: Firmware 2 polls each second.',
  )
  expect(kept).toContain('send an appeal.')
  expect(of('slowed').text).toContain('New codes require 30 seconds between polls')
  expect(of('restored').text).toContain('Connections that an earlier decision had ended work again.')
})

test('missing figures are left out', () => {
  const about = { accountHost: 'northwind.service.example', email: 'maria@northwind.example' }
  const figures = figuresOf(makeEvidence(), defaultThresholds)
  const { text } = renderMail(wordsFor('en'), service, { ...about, ...makeNews('kept', { figures, reason: null }) })
  expect(text).not.toMatch(/slow_down|threshold|Polls|Reports|Reason/)
})

test.each(languages)(
  'in $name, the answer to a request is told with the operator’s words, and without an appeal',
  ({ code }) => {
    const about = { accountHost: 'northwind.service.example', email: 'maria@northwind.example' }
    const words = wordsFor(code)
    const mails = requestAnswers.map((what) => {
      const news = { reason: null, figures: null, until: null, suspended: true, words: 'It is the logo of a bank.' }
      return renderMail(words, service, { ...about, ...makeNews(what, news) })
    })
    expect(new Set(mails.map(({ subject }) => subject)).size).toBe(requestAnswers.length)
    for (const { text } of mails) {
      expect(text).toContain('It is the logo of a bank.')
      expect(text).toContain(words.t('application_review.link_application'))
      expect(text).not.toContain(words.t('application_review.suspended_what'))
    }
  },
)

test.each(languages)(
  'in $name, a record that is missing is named to the letter, before it costs anything and after',
  ({ code }) => {
    const about = {
      accountHost: 'northwind.service.example',
      email: 'maria@northwind.example',
    }
    const mail = {
      ...about,
      kind: 'publisher_record',
      application: 'Acme',
      domain: 'acme.example',
      record: RECORD,
    } as const
    const [missing, lost] = [false, true].map((each) => renderMail(wordsFor(code), service, { ...mail, lost: each }))
    for (const { text = '', html = '' } of [missing ?? {}, lost ?? {}]) {
      expect(text).toContain(RECORD)
      expect(html).toContain(RECORD)
    }
    expect(missing?.subject).not.toBe(lost?.subject)
    expect(missing?.text).not.toBe(lost?.text)
  },
)

test('ends with the name of the service and its pages', () => {
  const links = [{ kind: 'help', href: 'https://help.service.example/' }] as const
  const [mail] = makeMails('Northwind')
  const { text, html } = renderMail(wordsFor('en'), { name: 'Acme Cloud', logo: null, links }, mail as MailContent)
  expect(text).toMatch(/\nHelp:\nhttps:\/\/help\.service\.example\/\n\nAcme Cloud\n$/)
  expect(html).toContain('href="https://help.service.example/"')
})

test('a mail shows the logo of the service by its whole address, if there is one', () => {
  const [mail] = makeMails('Northwind')
  const logo = { path: '/assets/service.1.png', url: 'https://service.example/assets/service.1.png' }
  const shown = renderMail(wordsFor('en'), { ...service, logo }, mail as MailContent).html
  expect(shown).toContain('<img src="https://service.example/assets/service.1.png" alt="Acme Cloud"')
  expect(renderMail(wordsFor('en'), service, mail as MailContent).html).not.toContain('<img')
})
