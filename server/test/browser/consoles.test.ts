/**
 * The consoles of a service with much data, in Chromium: no page is longer than three screens or wider than the window, the tables
 * use the window, and an operator's everyday tasks take at most four clicks.
 */
import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { overhang } from '../rig/browser/chromium.ts'
import { signIn } from '../rig/browser/clicks.ts'
import { connect } from '../rig/connect.ts'
import { type MadeUser, makeUser } from '../rig/make.ts'
import { everyRoutePage, NO_PAGES, openViewers, type RoutePage } from '../rig/pages/every-page.ts'
import { addCrowd, CROWD } from '../rig/scenes/crowd.ts'
import { PASSWORD } from '../rig/scenes/northwind.ts'
import { reviewed } from '../rig/scenes/reviewed.ts'

const { t } = wordsFor('en')

const WINDOW = { width: 1440, height: 900 }
const SCREENS = 3

const browsing = useBrowsing()
let routes: readonly RoutePage[]
beforeAll(async () => {
  const { northwind } = browsing
  routes = (await everyRoutePage(northwind)).filter(
    ({ name, path }) => !NO_PAGES.includes(name) && /\/(account|developer|operator)([/?]|$)/.test(path),
  )
  await addCrowd(northwind, CROWD)
  await northwind.service.context.applications.refresh()
}, 120_000)

test('no page of the consoles is longer than three screens, and none is wider than the window', async () => {
  const viewers = await openViewers(browsing.northwind, () => browsing.open({ viewport: WINDOW }))
  const long: string[] = []
  for (const { name, as, path } of routes) {
    const page = viewers[as]
    await page.goto(path)
    const height = await page.evaluate<number>('document.documentElement.scrollHeight')
    if (height > SCREENS * WINDOW.height) long.push(`${name}: ${height} px`)
    if ((await overhang(page)) > 0) long.push(`${name} is too wide`)
  }
  expect(routes.length).toBeGreaterThan(40)
  expect(long).toEqual([])
}, 300_000)

/** Presses, as a person would; `count` of them so far. */
class Clicks {
  readonly page: Page
  count = 0

  constructor(page: Page) {
    this.page = page
  }

  async press(what: Locator): Promise<void> {
    this.count += 1
    await what.first().click()
  }

  link(name: string): Promise<void> {
    return this.press(this.page.getByRole('link', { name, exact: true }))
  }

  button(name: string): Promise<void> {
    return this.press(this.page.getByRole('button', { name, exact: true }))
  }

  /** Types into the search field at the top; the press of its button counts. */
  async find(text: string): Promise<void> {
    await this.page.fill('#find', text)
    await this.press(this.page.locator('.find-all button'))
  }
}

describe('an operator, from the start page, in at most four clicks', () => {
  const FEW = 4

  async function start(): Promise<Clicks> {
    const page = await browsing.open({ viewport: WINDOW, acceptDownloads: true })
    await signIn(page, browsing.northwind.olga, PASSWORD, browsing.northwind.operators)
    await page.goto(`${browsing.northwind.operators}/operator`)
    return new Clicks(page)
  }

  test('finds who connected an application, and the table uses the window', async () => {
    const { fast } = await reviewed(browsing.northwind)
    const clicks = await start()
    await clicks.find('harbour li')
    await clicks.link(t('operator.who_connected'))
    const { page } = clicks
    await page
      .getByRole('heading', { level: 1, name: t('operator.connections_of_application', { name: 'Harbour Lights' }) })
      .waitFor()
    expect(await page.locator('tbody tr').count()).toBe(25)
    expect(await page.locator('tbody th').first().textContent()).toContain('@')
    expect(page.url()).toContain(fast.id)
    expect((await page.locator('table').boundingBox())?.width).toBeGreaterThan(1250)
    await clicks.link(t('table.next'))
    await page.getByRole('link', { name: t('table.first'), exact: true }).waitFor()
    expect(clicks.count).toBeLessThanOrEqual(FEW)
  })

  test('ends every connection of a user', async () => {
    const { service, slug } = browsing.northwind
    const lost: MadeUser = await makeUser(service.context.db, slug, { holds: ['orders:read'] })
    await connect(service, { user: lost, application: browsing.northwind.applications.signage, scope: 'orders:read' })
    const clicks = await start()
    await clicks.find(lost.email)
    await clicks.link(lost.email)
    const { page } = clicks
    await clicks.press(page.locator('.are-you-sure summary'))
    await clicks.button(t('operator.end_connections_yes'))
    await page.getByText(t('operator.connections_ended'), { exact: true }).waitFor()
    const live = await service.database.query('select from grants where user_id = $1 and revoked_at is null', [lost.id])
    expect(live).toEqual([])
    expect(clicks.count).toBeLessThanOrEqual(FEW)
  })

  test('decides a review', async () => {
    const clicks = await start()
    const { page } = clicks
    await clicks.link('Harbour Lights')
    await clicks.press(page.getByLabel(t('operator.suspended_reinstate'), { exact: true }))
    clicks.count += 1
    await page
      .getByLabel(t('operator.reason'), { exact: true })
      .first()
      .selectOption({ label: t('suspension_reason.fixed') })
    await page.getByLabel(t('operator.words'), { exact: true }).first().fill('Thank you for fixing it.')
    await clicks.button(t('operator.decide_send'))
    await page.getByText(t('operator.notice_decided')).first().waitFor()
    expect(clicks.count).toBeLessThanOrEqual(FEW)
  })

  test('finds an event by the id of its request', async () => {
    const { service } = browsing.northwind
    const [event] = await service.database.query<{ request_id: string }>(
      "select request_id from audit_events where kind = 'session.started' and request_id is not null order by id limit 1",
    )
    const clicks = await start()
    await clicks.find(event?.request_id ?? '')
    const { page } = clicks
    await page.getByRole('heading', { level: 2, name: t('layout.audit') }).waitFor()
    expect(await page.locator('main .rows > li').count()).toBe(1)
    expect(await page.locator('main .rows').textContent()).toContain(event?.request_id)
    expect(clicks.count).toBeLessThanOrEqual(FEW)
  })

  test('exports the audit log of the last week', async () => {
    const clicks = await start()
    const { page } = clicks
    await clicks.link(t('operator.nav_audit'))
    await clicks.link(t('audit.last_week'))
    await page.waitForURL(/from=/)
    const download = page.waitForEvent('download')
    await clicks.button(t('audit.download_csv'))
    const lines = (await readFile(await (await download).path(), 'utf8')).split('\n')
    expect(lines[0]).toContain('request_id')
    expect(lines.length).toBeGreaterThan(CROWD.events)
    expect(clicks.count).toBeLessThanOrEqual(FEW)
  })
})

test('a table is sorted and filtered without a script, and its address says how', async () => {
  const page = await browsing.open({ viewport: WINDOW, javaScriptEnabled: false })
  await signIn(page, browsing.northwind.olga, PASSWORD, browsing.northwind.operators)
  await page.goto(`${browsing.northwind.operators}/operator/accounts`)
  const names = () => page.locator('tbody th').allInnerTexts()
  await page.fill('#q', 'amber')
  await page
    .locator('main')
    .getByRole('button', { name: t('operator.search') })
    .click()
  expect(await names()).toEqual(['Amber 20', 'Amber 40', 'Amber 60'])
  await page.locator('thead a').first().click()
  expect(await names()).toEqual(['Amber 60', 'Amber 40', 'Amber 20'])
  expect(await page.locator('thead th').first().getAttribute('aria-sort')).toBe('descending')
  expect(new URL(page.url()).search).toBe('?q=amber&sort=-name')
})

test.each([
  '/operator/reviews',
  '/operator/reviews?filter=closed',
  '/operator/reviews?kind=profile',
  '/operator/reviews?kind=vetting',
])('%s shows a hundred entries a page at a time, in order, and finds one by its name', async (path) => {
  const page = await browsing.open({ viewport: WINDOW, javaScriptEnabled: false })
  await signIn(page, browsing.northwind.olga, PASSWORD, browsing.northwind.operators)
  await page.goto(`${browsing.northwind.operators}${path}`)
  await page.locator('thead a').first().click()
  const seen: string[] = []
  for (;;) {
    const names = await page.locator('tbody th').allInnerTexts()
    expect(names.length).toBeLessThanOrEqual(25)
    seen.push(...names)
    const next = page.getByRole('link', { name: t('table.next'), exact: true })
    if ((await next.count()) === 0) break
    await next.click()
  }
  const folded = seen.map((name) => name.toLowerCase())
  expect(folded).toEqual(folded.toSorted())
  expect(seen.filter((name) => /^[A-Z][a-z]+ \d+$/.test(name)).length).toBeGreaterThanOrEqual(CROWD.queue)

  const [wanted = ''] = seen.filter((name) => /^[A-Z][a-z]+ \d+$/.test(name))
  await page.fill('#q', wanted.toUpperCase())
  await page
    .locator('main')
    .getByRole('button', { name: t('operator.search') })
    .click()
  const found = await page.locator('tbody th').allInnerTexts()
  expect(found).not.toEqual([])
  expect(found.every((name) => name.startsWith(wanted))).toBe(true)
})
