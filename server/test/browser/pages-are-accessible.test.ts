/** Every page, and what forms answer, judged by axe: in light, in dark, and from right to left. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { pageRoutes } from '../../src/http/web/account-routes.ts'
import { baseRoutes } from '../../src/http/web/base-routes.ts'
import { accessibilityProblems, contrastProblems, problemsButForColours } from '../rig/accessibility.ts'
import type { AnswerPage } from '../rig/answer-page.ts'
import { useBrowsing } from '../rig/browsing.ts'
import { answersToLookAt, EVERY_ANSWER } from '../rig/every-answer.ts'
import { everyRoutePage, openViewers, PICTURES, type Viewers } from '../rig/every-page.ts'
import { HAMBURG } from '../rig/northwind.ts'

const browsing = useBrowsing()

const viewers = (language: string): Promise<Viewers> => {
  const options = { extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } }
  return openViewers(browsing.northwind, () => browsing.open(options), language)
}

type Opened = Omit<AnswerPage, 'says'>

/** The routes as if each were an answer, without the pictures, which are no pages. */
async function everyPage(): Promise<readonly Opened[]> {
  const routes = (await everyRoutePage(browsing.northwind)).filter(({ name }) => !PICTURES.includes(name))
  return routes.map(({ name, as, path }) => ({ name, as, open: (page: Page) => page.goto(path) }))
}

async function inLight(page: Page): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: 'light' })
  return accessibilityProblems(page)
}

/** In the dark only colours differ; from right to left everything else might. */
async function inLightAndDark(page: Page): Promise<readonly string[]> {
  const light = await inLight(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  return [...light, ...(await contrastProblems(page)).map((problem) => `dark: ${problem}`)]
}

/** One page of each kind: forms, lists, tables, charts, the decision. `npm run verify:pages` looks at all of them. */
const LAYOUTS = [
  'sign-in',
  'link-setup',
  'consent',
  'consent-elsewhere',
  'home',
  'enter-code',
  'applications',
  'security',
  'policy',
  'person',
  'role',
  'audit',
  'developer-application',
  'developer-activity',
  'operator',
  'operator-application',
  'dialog-consent',
]

async function layouts(): Promise<readonly Opened[]> {
  const pages = await everyPage()
  if (EVERY_ANSWER) return pages
  const chosen = pages.filter(({ name }) => LAYOUTS.includes(name))
  if (chosen.length < LAYOUTS.length) throw new Error('a kind of page has another name now')
  return chosen
}

type Look = (page: Page) => Promise<readonly string[]>

async function problemsOf(pages: readonly Opened[], windows: Viewers, look: Look): Promise<readonly string[]> {
  const problems: string[] = []
  for (const { name, as, open, after } of pages) {
    await open(windows[as])
    problems.push(...(await look(windows[as])).map((problem) => `${name}: ${problem}`))
    await after?.()
  }
  return problems
}

test('the list of pages has every GET route', async () => {
  const { service } = browsing.northwind
  const listed = new Set((await everyRoutePage(browsing.northwind)).map(({ path }) => path.split('?')[0]))
  const account = pageRoutes
    .filter(({ method }) => method === 'GET')
    .map(({ access, path }) => (access === 'operator' ? browsing.northwind.operators : '') + path)
  // Three addresses lead to the same beginning; one of them is looked at.
  const same = ['/auth/oauth/authorize', '/oauth/authorize']
  const base = baseRoutes.filter(({ method, path }) => method === 'GET' && !same.includes(path))
  const routes = [...account, ...base.map(({ path }) => service.config.publicUrl + path)]
  expect(routes.filter((path) => !listed.has(path))).toEqual([])
})

test('what the routes show has no axe violation', { timeout: 600_000 }, async () => {
  expect(await problemsOf(await everyPage(), await viewers('en'), inLight)).toEqual([])
})

test('nor has any kind of page in the dark', { timeout: 600_000 }, async () => {
  expect(await problemsOf(await layouts(), await viewers('en'), inLightAndDark)).toEqual([])
})

test('what the forms answer has no axe violation either', { timeout: 600_000 }, async () => {
  expect(await problemsOf(answersToLookAt(browsing.northwind), await viewers('en'), inLightAndDark)).toEqual([])
})

test('nor have they from right to left', { timeout: 600_000 }, async () => {
  const pages = [...(await layouts()), ...(EVERY_ANSWER ? answersToLookAt(browsing.northwind) : [])]
  expect(await problemsOf(pages, await viewers('ar'), problemsButForColours)).toEqual([])
})
