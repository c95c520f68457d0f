/** Pages that answer the entry of a code and the decision on it: a part of every-answer.ts. */
import type { Page } from 'playwright-core'
import { checkDigit } from '../../../src/core/device/user-code.ts'
import { savePolicy } from '../../../src/flows/accounts/policy.ts'
import { enterUserCode } from '../../../src/flows/device/enter-code.ts'
import { decide, enterCode, press } from '../browser/clicks.ts'
import { HAMBURG, LISBON, type Northwind } from '../scenes/northwind.ts'
import type { AnswerPage } from './answer-page.ts'

export function deviceAnswers(northwind: Northwind): readonly AnswerPage[] {
  return [...codes(northwind), ...consents(northwind)]
}

function codes({ service, ann, dana, ida, olga, ask, applications }: Northwind): readonly AnswerPage[] {
  const policy = {
    deviceFlow: true,
    secondFactor: 'optional' as const,
    unverifiedPublishers: true,
    onlyApplications: null,
  }
  const set = (change: object) => savePolicy(service.context, ann.id, { ...policy, ...change })
  return [
    { name: 'enter-code-empty', as: 'ben', says: 'enter_code.problem_empty', open: (page) => enterCode(page, '') },
    {
      name: 'enter-code-length',
      as: 'ben',
      says: 'enter_code.problem_length',
      open: (page) => enterCode(page, '432 324'),
    },
    {
      name: 'enter-code-mistyped',
      as: 'ben',
      says: 'enter_code.problem_mistyped',
      open: (page) => enterCode(page, '111 111 112'),
    },
    {
      name: 'enter-code-taken',
      as: 'ben',
      says: 'enter_code.problem_taken',
      open: async (page) => {
        const { user_code } = await ask(applications.signage, { from: HAMBURG })
        await enterUserCode(service.context, dana.id, user_code)
        await enterCode(page, user_code)
      },
    },
    {
      name: 'enter-code-closed',
      as: 'ben',
      says: 'enter_code.problem_closed',
      open: async (page) => {
        const { user_code } = await ask(applications.signage, { from: HAMBURG })
        await enterUserCode(service.context, olga.id, user_code)
        await enterCode(page, user_code)
      },
    },
    {
      name: 'enter-code-locked',
      as: 'ida',
      says: 'enter_code.problem_locked',
      open: async (page) => {
        await service.database.query(
          `insert into code_entries (at, account_id, user_id, outcome)
           select now(), account_id, id, 'missed' from users, generate_series(1, 5) where id = $1`,
          [ida.id],
        )
        await enterCode(page, `11223344${checkDigit('11223344')}`)
      },
    },
    {
      name: 'enter-code-only',
      as: 'ben',
      says: 'enter_code.only_none',
      open: async (page) => {
        await set({ onlyApplications: [] })
        await page.goto('/connect/code')
      },
      after: () => set({}),
    },
    {
      name: 'enter-code-off',
      as: 'ben',
      says: 'enter_code.off_text',
      open: async (page) => {
        await set({ deviceFlow: false })
        await page.goto('/connect/code')
      },
      after: () => set({}),
    },
  ]
}

function consents({ service, ann, dana, olga, ask, applications, suspendedCode }: Northwind): readonly AnswerPage[] {
  const { signage, till, robot } = applications
  const enter = async (page: Page, application: typeof signage, from = HAMBURG, scope?: string) =>
    enterCode(page, (await ask(application, { from, ...(scope ? { scope } : {}) })).user_code)
  /** Ann entered a code, then another user enters it, or continues instead of her. */
  const enterWith = async (page: Page, other: { readonly id: string }, instead = false) => {
    const { user_code } = await ask(signage, { from: HAMBURG })
    await enterCode(page, user_code)
    await enterUserCode(service.context, other.id, user_code, { kind: 'command_line' }, instead)
  }
  const decided = (decision: Parameters<typeof decide>[1]) => async (page: Page) => {
    await enter(page, signage)
    await decide(page, decision)
  }
  return [
    { name: 'consent-dangerous', as: 'ben', says: 'consent.dangerous', open: (page) => enter(page, till) },
    { name: 'consent-not-possible', as: 'ben', says: 'consent.not_grantable', open: (page) => enter(page, robot) },
    { name: 'consent-suspended', as: 'ann', says: 'consent.suspended', open: (page) => enterCode(page, suspendedCode) },
    {
      name: 'consent-retype-wrong',
      as: 'ann',
      says: 'consent.problem_retype',
      open: async (page) => {
        await enter(page, signage, LISBON)
        await page.fill('#last_group', '1')
        await decide(page, 'allow')
      },
    },
    {
      name: 'consent-shared',
      as: 'ann',
      says: 'consent.shared',
      open: async (page) => {
        await enterWith(page, dana)
        await page.reload()
      },
    },
    {
      name: 'consent-taken-over',
      as: 'ann',
      says: 'consent.retype',
      open: async (page) => {
        const { user_code } = await ask(signage, { from: HAMBURG })
        await enterUserCode(service.context, dana.id, user_code)
        await enterCode(page, user_code)
        await press(page, 'button[name=take_over]')
      },
    },
    {
      name: 'decided-taken-over',
      as: 'ann',
      says: 'decided.taken_over_text',
      open: async (page) => {
        await enterWith(page, dana, true)
        await decide(page, 'allow')
      },
    },
    {
      name: 'decided-moved',
      as: 'ann',
      says: 'decided.moved_text',
      open: async (page) => {
        await enter(page, signage)
        await service.database.query(
          "update device_codes set claimed_by = $2, moved_from = array[$1] where claimed_by = $1 and status = 'pending'",
          [ann.id, olga.id],
        )
        await page.reload()
      },
    },
    {
      name: 'decided-shared',
      as: 'ann',
      says: 'decided.shared',
      open: async (page) => {
        await enterWith(page, dana)
        await decide(page, 'allow')
      },
    },
    {
      name: 'decided-entered-elsewhere',
      as: 'ann',
      says: 'decided.entered_elsewhere_text',
      open: async (page) => {
        await enterWith(page, olga)
        await decide(page, 'allow')
      },
    },
    { name: 'decided-granted', as: 'ann', says: 'decided.granted_text', open: decided('allow') },
    { name: 'decided-rejected', as: 'ann', says: 'decided.rejected_text', open: decided('cancel') },
    { name: 'decided-reported', as: 'ann', says: 'decided.reported_what', open: decided('not_me') },
    {
      name: 'decided-closed',
      as: 'ann',
      says: 'decided.closed_text',
      open: (page) => page.goto('/connect/decision?ref=none'),
    },
  ]
}
