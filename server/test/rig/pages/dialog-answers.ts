/** Error and result pages of the dialog: a part of every-answer.ts. */
import type { Page } from 'playwright-core'
import { savePolicy } from '../../../src/flows/accounts/policy.ts'
import { press } from '../browser/clicks.ts'
import { type ApplicationName, type Northwind, redirectOf } from '../scenes/northwind.ts'
import type { AnswerPage } from './answer-page.ts'
import { openedDialog } from './every-page.ts'

export function dialogAnswers(northwind: Northwind): readonly AnswerPage[] {
  return [...questions(northwind), ...authorizations(northwind)].map((each) => ({ ...each, popup: true }))
}

function questions(northwind: Northwind): readonly AnswerPage[] {
  const { service, ann } = northwind
  const { publicUrl } = service.config
  const policy = {
    deviceFlow: true,
    secondFactor: 'optional' as const,
    unverifiedPublishers: true,
    onlyApplications: null,
  }
  const set = (change: object) => savePolicy(service.context, ann.id, { ...policy, ...change })
  const ask = (name: ApplicationName) => async (page: Page) => page.goto((await openedDialog(northwind, name)).question)
  const choose = (typed: string) => async (page: Page) => {
    await page.goto(`${publicUrl}/dialog?request=${(await openedDialog(northwind, 'signage')).request}`)
    await page.fill('#typed', typed)
    await press(page, 'form:has(#typed) button[type=submit]')
  }
  /** A dialog in a state that cannot be continued. */
  const after = (change: string) => async (page: Page) => {
    const { id, question } = await openedDialog(northwind, 'signage')
    await service.database.query(`update dialogs set ${change} where id = $1`, [id])
    await page.goto(question)
  }
  return [
    { name: 'dialog-account-empty', as: 'nobody', says: 'choose_account.problem_empty', open: choose(' ') },
    { name: 'dialog-account-unknown', as: 'nobody', says: 'choose_account.problem_unknown', open: choose('southwind') },
    { name: 'dialog-consent-dangerous', as: 'ben', says: 'consent.dangerous', open: ask('till') },
    { name: 'dialog-consent-not-possible', as: 'ben', says: 'consent.not_grantable', open: ask('robot') },
    {
      name: 'dialog-barred',
      as: 'ben',
      says: 'dialog_problem.barred_what',
      open: async (page) => {
        await set({ onlyApplications: [] })
        await ask('signage')(page)
      },
      after: () => set({}),
    },
    { name: 'dialog-expired', as: 'ben', says: 'dialog_problem.expired_what', open: after('expires_at = now()') },
    {
      name: 'dialog-answered',
      as: 'ben',
      says: 'dialog_problem.answered_text',
      open: after(`decided_at = now(), user_id = '${ann.id}'`),
    },
  ]
}

/** Pages for an application that opens the dialog with wrong parameters, or must not open it. */
function authorizations({ service, applications }: Northwind): readonly AnswerPage[] {
  const authorize = (name: ApplicationName, given: Record<string, string> = {}) => {
    const right = { client_id: applications[name].id, response_type: 'code', redirect_uri: redirectOf(name) }
    const query = new URLSearchParams({ ...right, ...given })
    return (page: Page) => page.goto(`${service.config.publicUrl}/1/auth/oauth/authorize?${query}`)
  }
  return [
    {
      name: 'authorize-unknown',
      as: 'nobody',
      says: 'dialog_problem.unknown_application_text',
      open: authorize('signage', { client_id: 'app_none' }),
    },
    {
      name: 'authorize-elsewhere',
      as: 'nobody',
      says: 'dialog_problem.redirect_not_registered_what',
      open: authorize('signage', { redirect_uri: 'https://elsewhere.example/' }),
    },
    {
      name: 'authorize-suspended',
      as: 'nobody',
      says: 'dialog_problem.suspended_what',
      open: authorize('scout'),
    },
    {
      name: 'authorize-not-set-up',
      as: 'nobody',
      says: 'dialog_problem.not_set_up_what',
      open: authorize('mobile'),
    },
  ]
}
