/**
 * Pages and what forms answer, judged by axe: in light, in dark, and from right to left. One of each kind; with EVERY_ANSWER=true
 * (npm run verify -- pages) all of them. The structure of every page is judged without a browser: server/test/pages/every-page.test.ts.
 */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { pathsOf } from '../../src/http/route.ts'
import { basePages } from '../../src/http/routes.ts'
import { pageRoutes } from '../../src/http/web/account-routes.ts'
import { accessibilityProblems, contrastProblems, problemsExceptContrast } from '../rig/browser/accessibility.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { needs } from '../rig/origins/needs.ts'
import type { AnswerPage } from '../rig/pages/answer-page.ts'
import { answersToLookAt, EVERY_ANSWER, everyAnswer } from '../rig/pages/every-answer.ts'
import { everyRoutePage, NO_PAGES, openViewers, type Viewers } from '../rig/pages/every-page.ts'
import { CAME_BACK, COLOURED, LAYOUTS, WORDED } from '../rig/pages/kinds-of-page.ts'
import { HAMBURG } from '../rig/scenes/northwind.ts'

const browsing = useBrowsing()

const viewers = (language: string): Promise<Viewers> => {
  const options = { extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } }
  return openViewers(browsing.northwind, () => browsing.open(options), language)
}

type Opened = Omit<AnswerPage, 'says'>

/** The routes as if each were an answer, without the pictures, which are no pages, and without the long reference: reference.test.ts. */
async function everyPage(): Promise<readonly Opened[]> {
  const left = [...NO_PAGES, 'reference']
  const routes = (await everyRoutePage(browsing.northwind)).filter(({ name }) => !left.includes(name))
  return routes.map(({ name, as, path }) => ({ name, as, open: (page: Page) => page.goto(path) }))
}

/** In the dark only colours differ; from right to left everything else might. */
async function inLightAndDark(page: Page): Promise<readonly string[]> {
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await accessibilityProblems(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  return [...light, ...(await contrastProblems(page)).map((problem) => `dark: ${problem}`)]
}

type Look = (page: Page) => Promise<readonly string[]>

async function problemsOf(
  pages: readonly Opened[],
  windows: Viewers,
  lookAt: (name: string) => Look,
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const { name, as, open, after } of pages) {
    await open(windows[as])
    problems.push(...(await lookAt(name)(windows[as])).map((problem) => `${name}: ${problem}`))
    await after?.()
  }
  return problems
}

test('the kinds of pages and answers are among them', async () => {
  const answers = everyAnswer(browsing.northwind)
  const names = [...(await everyPage()), ...answers].map(({ name }) => name)
  expect([...LAYOUTS, ...COLOURED, ...WORDED, ...CAME_BACK].filter((kind) => !names.includes(kind))).toEqual([])
})

test('the list of pages has every GET route', async () => {
  const { service } = browsing.northwind
  const listed = new Set((await everyRoutePage(browsing.northwind)).map(({ path }) => path.split('?')[0]))
  const account = pageRoutes
    .filter(({ method }) => method === 'GET')
    .map(({ access, path }) => (access === 'operator' ? browsing.northwind.operators : '') + path)
  // Three addresses lead to the same beginning; one of them is looked at.
  const same = ['/auth/oauth/authorize', '/oauth/authorize']
  const base = basePages.filter(({ method }) => method === 'GET').flatMap(pathsOf)
  const ofBase = base.filter((path) => !same.includes(path)).map((path) => service.config.publicUrl + path)
  const routes = [...account, ...ofBase]
  expect(routes.filter((path) => !listed.has(path))).toEqual([])
})

test('no kind of page has an axe violation, in light and dark', { timeout: 600_000 }, async () => {
  const pages = (await everyPage()).filter(({ name }) => EVERY_ANSWER || LAYOUTS.includes(name))
  expect(await problemsOf(pages, await viewers('en'), () => inLightAndDark)).toEqual([])
})

/** Judging colours takes longer than all else: the answers whose colours no route shows, unless all are looked at. */
test('what the forms answer has no axe violation either', { timeout: 600_000, ...needs('password') }, async () => {
  const look = (name: string) => (EVERY_ANSWER || COLOURED.includes(name) ? inLightAndDark : problemsExceptContrast)
  expect(await problemsOf(answersToLookAt(browsing.northwind), await viewers('en'), look)).toEqual([])
})

test('no kind of page has one from right to left', { timeout: 600_000 }, async () => {
  const routes = (await everyPage()).filter(({ name }) => EVERY_ANSWER || LAYOUTS.includes(name))
  const pages = [...routes, ...(EVERY_ANSWER ? answersToLookAt(browsing.northwind) : [])]
  expect(await problemsOf(pages, await viewers('ar'), () => problemsExceptContrast)).toEqual([])
})
