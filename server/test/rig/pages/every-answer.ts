/** Pages that answer the forms of the web interface: problems, results, refusals. */
import type { Page } from 'playwright-core'
import { send, submit } from '../browser/clicks.ts'
import { type Northwind, PASSWORD } from '../scenes/northwind.ts'
import type { AnswerPage } from './answer-page.ts'
import { developerAnswers } from './developer-answers.ts'
import { deviceAnswers } from './device-answers.ts'
import { dialogAnswers } from './dialog-answers.ts'
import { linkPath } from './every-page.ts'
import { managementAnswers } from './management-answers.ts'
import { operatorAnswers } from './operator-answers.ts'

export function everyAnswer(northwind: Northwind): readonly AnswerPage[] {
  return [
    ...signingIn(northwind),
    ...deviceAnswers(northwind),
    ...dialogAnswers(northwind),
    ...own(),
    ...administration(),
    ...managementAnswers(northwind),
    ...developerAnswers(northwind),
    ...operatorAnswers(northwind),
    ...refusals(northwind),
  ]
}
/** One of each kind: a summary of problems, a field, several, a group of boxes, the decision, a notice, a refusal. */
const KINDS = [
  'sign-in-wrong',
  'recover-sent',
  'enter-code-length',
  'enter-code-off',
  'consent-shared',
  'consent-not-possible',
  'consent-suspended',
  'consent-retype-wrong',
  'decided-granted',
  'decided-shared',
  'decided-entered-elsewhere',
  'decided-reported',
  'dialog-account-unknown',
  'dialog-consent-not-possible',
  'dialog-barred',
  'security-differ',
  'security-saved',
  'authenticator-wrong',
  'invite-no-role',
  'branding-no-picture',
  'developer-new-no-kind',
  'developer-new-redirects-scheme',
  'developer-new-registered-web',
  'developer-secret-sure',
  'developer-settings-unnamed',
  'operator-tables',
  'operator-decide-nothing',
  'operator-decide-all-nothing',
  'operator-scopes-title',
  'developer-publisher-other',
  'developer-logo-no-picture',
  'developer-application-declined',
  'developer-webhooks-private',
  'refusal-stale',
]
/** `npm run verify -- pages` checks all of them in every language; that takes some minutes longer. */
export const EVERY_ANSWER = process.env.EVERY_ANSWER === 'true'

/** One of each kind; all with EVERY_ANSWER=true. */
export function answersToLookAt(northwind: Northwind): readonly AnswerPage[] {
  const all = everyAnswer(northwind)
  if (EVERY_ANSWER) return all
  const kinds = all.filter(({ name }) => KINDS.includes(name))
  if (kinds.length < KINDS.length) throw new Error('a kind of answer has another name now')
  return kinds
}

function signingIn(northwind: Northwind): readonly AnswerPage[] {
  const enter = (page: Page, email: string, password: string) => send(page, '/sign-in', '/sign-in', { email, password })
  return [
    {
      name: 'sign-in-wrong',
      as: 'nobody',
      says: 'sign_in.problem_wrong',
      open: (page) => enter(page, 'zoe@northwind.example', 'not this one'),
    },
    {
      name: 'sign-in-signed-out',
      as: 'nobody',
      says: 'sign_in.notice_signed_out',
      open: (page) => page.goto('/sign-in?notice=signed_out'),
    },
    {
      name: 'sign-in-code-wrong',
      as: 'nobody',
      says: 'second_step.problem_wrong',
      open: async (page) => {
        await enter(page, northwind.gus.email, PASSWORD)
        await page.fill('#code', '12345')
        await submit(page, '/sign-in/code')
      },
    },
    {
      name: 'recover-wrong',
      as: 'nobody',
      says: 'recover.problem_email',
      open: (page) => send(page, '/recover', '/recover', { email: 'zoe' }),
    },
    {
      name: 'recover-sent',
      as: 'nobody',
      says: 'recover.sent_text',
      open: (page) => send(page, '/recover', '/recover', { email: 'zoe@northwind.example' }),
    },
    {
      name: 'link-setup-short',
      as: 'nobody',
      says: 'password.too_short',
      open: async (page) => {
        const path = await linkPath(northwind, 'setup', northwind.erik)
        await send(page, path, '/link', { password: 'short', again: 'short' })
      },
    },
    {
      name: 'confirm-wrong',
      as: 'ben',
      says: 'confirm.problem_wrong',
      open: (page) => send(page, '/confirm', '/confirm', { password: 'no' }),
    },
  ]
}

function own(): readonly AnswerPage[] {
  const password = { current: 'not this one', password: 'eight brown bottles', again: 'eight brown bottles' }
  const change = (page: Page, values: Partial<typeof password>) =>
    send(page, '/security', '/security/password', { ...password, ...values })
  return [
    { name: 'security-wrong', as: 'ben', says: 'security.problem_wrong', open: (page) => change(page, {}) },
    {
      name: 'security-short',
      as: 'ben',
      says: 'password.too_short',
      open: (page) => change(page, { password: 'short', again: 'short' }),
    },
    { name: 'security-differ', as: 'ben', says: 'password.differ', open: (page) => change(page, { again: 'eight' }) },
    {
      name: 'security-saved',
      as: 'ben',
      says: 'security.notice_password',
      open: (page) => page.goto('/security?notice=password'),
    },
    {
      name: 'authenticator-wrong',
      as: 'ben',
      says: 'authenticator.problem_wrong',
      open: (page) => send(page, '/security/authenticator', '/security/authenticator', { code: '1' }),
    },
  ]
}

function administration(): readonly AnswerPage[] {
  const logo = async (page: Page) => {
    await page.goto('/account/branding')
    const file = { name: 'logo.png', mimeType: 'image/png', buffer: Buffer.from('no picture') }
    await page.setInputFiles('#logo', file)
    await submit(page, '/account/branding')
  }
  const invite = (page: Page, email: string) =>
    send(page, '/account/people/invite', '/account/people/invite', { email })
  const role = (page: Page, name: string) => send(page, '/account/role', '/account/role', { name })
  const dropOwnRole = async (page: Page) => {
    await page.goto('/account/people')
    await page.locator('tr', { hasText: 'ann@' }).getByRole('link').click()
    await page.locator('main [type=checkbox]:checked').uncheck()
    await page.locator('main [type=checkbox]').first().check()
    await submit(page, '/account/person')
  }
  return [
    {
      name: 'people-invited',
      as: 'ann',
      says: 'people.notice_invited',
      open: (page) => page.goto('/account/people?notice=invited'),
    },
    { name: 'invite-wrong', as: 'ann', says: 'invite.problem_email', open: (page) => invite(page, 'zoe') },
    {
      name: 'invite-no-role',
      as: 'ann',
      says: 'invite.problem_role',
      open: (page) => invite(page, 'zoe@northwind.example'),
    },
    { name: 'person-last-administrator', as: 'ann', says: 'person.problem_last_administrator', open: dropOwnRole },
    { name: 'role-unnamed', as: 'ann', says: 'role.problem_name', open: (page) => role(page, ' ') },
    { name: 'role-exists', as: 'ann', says: 'role.problem_exists', open: (page) => role(page, 'Billing') },
    {
      name: 'roles-saved',
      as: 'ann',
      says: 'roles.notice_saved',
      open: (page) => page.goto('/account/roles?notice=saved'),
    },
    {
      name: 'policy-saved',
      as: 'ann',
      says: 'policy.saved',
      open: (page) => page.goto('/account/policy?notice=saved'),
    },
    { name: 'branding-no-picture', as: 'ann', says: 'picture.problem_unknown', open: logo },
    {
      name: 'branding-unnamed',
      as: 'ann',
      says: 'branding.problem_name',
      open: (page) => send(page, '/account/branding', '/account/branding', { name: '' }),
    },
    {
      name: 'audit-none',
      as: 'ann',
      says: 'audit.none',
      open: (page) => page.goto('/account/audit?person=zoe%40northwind.example'),
    },
    {
      name: 'audit-no-day',
      as: 'ann',
      says: 'audit.problem_day',
      open: (page) => page.goto('/account/audit?until=yesterday'),
    },
    {
      name: 'branding-saved',
      as: 'ann',
      says: 'branding.saved',
      open: (page) => page.goto('/account/branding?notice=saved'),
    },
  ]
}

function refusals({ originOf }: Northwind): readonly AnswerPage[] {
  return [
    { name: 'refusal-not-found', as: 'ben', says: 'refusal.not_found', open: (page) => page.goto('/nowhere') },
    { name: 'refusal-forbidden', as: 'ben', says: 'refusal.forbidden', open: (page) => page.goto('/account/people') },
    { name: 'refusal-method', as: 'ben', says: 'refusal.method_not_allowed', open: (page) => page.goto('/sign-out') },
    {
      name: 'refusal-no-account',
      as: 'nobody',
      says: 'refusal.no_account',
      open: (page) => page.goto(originOf('southwind')),
    },
    {
      name: 'refusal-stale',
      as: 'ben',
      says: 'refusal.stale',
      open: async (page) => {
        await page.goto('/security')
        const token = page.locator('form[action="/security/sign-out-everywhere"] [name=token]')
        await token.evaluate((field) => field.setAttribute('value', 'of another page'))
        await submit(page, '/security/sign-out-everywhere')
      },
    },
  ]
}
