/** Answers of the forms of the operators' console: a part of every-answer.ts. */
import type { Page } from 'playwright-core'
import { press } from '../browser/clicks.ts'
import type { MadeApplication } from '../make.ts'
import type { Northwind } from '../scenes/northwind.ts'
import { type Reviewed, reviewed } from '../scenes/reviewed.ts'
import type { AnswerPage } from './answer-page.ts'

type Answer = Omit<AnswerPage, 'as'>

export function operatorAnswers(northwind: Northwind): readonly AnswerPage[] {
  const own = [...deciding(northwind), ...scopes(northwind)]
  return [...own.map((each) => ({ as: 'olga', ...each }) as const), ELSEWHERE]
}

const DECIDE = 'form[action="/operator/application/decide"]'

function deciding(northwind: Northwind): readonly Answer[] {
  const { service, operators } = northwind
  const look = async (page: Page, which: keyof Reviewed, more = '') => {
    const { id }: MadeApplication = (await reviewed(northwind))[which]
    await page.goto(`${operators}/operator/application?application=${id}${more}`)
  }
  const send = (page: Page) => press(page, `${DECIDE} button:not(.danger)`)
  return [
    {
      name: 'operator-tables',
      says: 'operator.chart_polls',
      open: async (page) => {
        await look(page, 'fast')
        for (const summary of await page.locator('.chart summary').all()) await summary.click()
      },
    },
    {
      name: 'operator-decide-nothing',
      says: 'operator.problem_decision',
      open: async (page) => {
        await look(page, 'fast')
        await send(page)
      },
    },
    {
      name: 'operator-decide-interval',
      says: 'operator.problem_interval',
      open: async (page) => {
        await look(page, 'fast')
        await page.check('#decision-reinstate_slower')
        await page.fill('#interval', '3')
        await page.selectOption('#reason', 'fixed')
        await page.fill('#words', 'Ten seconds until version 4.3 is on all displays.')
        await send(page)
      },
    },
    {
      name: 'operator-decide-all',
      says: 'operator.end_all_yes',
      open: async (page) => {
        await look(page, 'fast')
        await page.locator('.are-you-sure summary').click()
      },
    },
    {
      name: 'operator-decide-all-nothing',
      says: 'operator.problem_reason',
      open: async (page) => {
        await look(page, 'fast')
        await page.locator('.are-you-sure summary').click()
        await press(page, `${DECIDE} button.danger`)
      },
    },
    {
      name: 'operator-decide-stale',
      says: 'operator.problem_stale',
      // The evidence changed while this operator was writing.
      open: async (page) => {
        await look(page, 'fast')
        await service.database.query('update reviews set version = version + 1 where closed_at is null')
        await page.check('#decision-keep')
        await page.selectOption('#reason', 'no_answer')
        await page.fill('#words', 'Nobody has answered for a week.')
        await send(page)
      },
    },
    ...(['decided', 'waits_for_second', 'confirmed', 'withdrawn'] as const).map((notice): Answer => {
      return {
        name: `operator-${notice.replaceAll('_', '-')}`,
        says: `operator.notice_${notice}`,
        open: (page) => look(page, 'settled', `&notice=${notice}`),
      }
    }),
    {
      name: 'operator-prove',
      says: 'operator.prove',
      // The last sign-in is too old: viewing is allowed, deciding needs to authenticate again.
      open: async (page) => {
        await service.database.query("update sessions set authenticated_at = authenticated_at - interval '1 hour'")
        await look(page, 'fast')
      },
      after: () =>
        service.database.query("update sessions set authenticated_at = authenticated_at + interval '1 hour'"),
    },
  ]
}

function scopes({ operators }: Northwind): readonly Answer[] {
  const add = async (page: Page, name: string, title: string) => {
    await page.goto(`${operators}/operator/scopes`)
    await page.fill('#name', name)
    await page.fill('#title', title)
    await press(page, 'form[action="/operator/scopes"] button[type=submit]')
  }
  return [
    {
      name: 'operator-scopes-name',
      says: 'operator.scope_problem_name',
      open: (page) => add(page, 'Orders read', 'See orders'),
    },
    {
      name: 'operator-scopes-exists',
      says: 'operator.scope_problem_exists',
      open: (page) => add(page, 'orders:read', 'See orders'),
    },
    {
      name: 'operator-scopes-title',
      says: 'operator.scope_problem_title',
      open: async (page) => {
        await page.goto(`${operators}/operator/scopes`)
        await page.locator('main summary').first().click()
        await page.fill('#title-0', ' ')
        await press(page, 'details[open] button[type=submit]')
      },
    },
    {
      name: 'operator-scopes-added',
      says: 'operator.scope_added',
      open: (page) => page.goto(`${operators}/operator/scopes?notice=added`),
    },
  ]
}

/** At another account's address the page does not exist. */
const ELSEWHERE: AnswerPage = {
  name: 'operator-elsewhere',
  as: 'ann',
  says: 'refusal.not_found',
  open: (page) => page.goto('/operator'),
}
