/**
 * The operators' console in real Chromium: the worst application is first, its page shows why, and
 * decisions reach the developer by mail. Devices, codes, polls, grants, reports and mails are real.
 */
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rejectDeviceCode } from '../../src/flows/device/decide.ts'
import { enterUserCode } from '../../src/flows/device/enter-code.ts'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { overhang } from '../rig/browser/chromium.ts'
import { signIn } from '../rig/browser/clicks.ts'
import { tabTo } from '../rig/browser/keyboard.ts'
import { askMe, connect } from '../rig/connect.ts'
import { type MadeApplication, type MadeUser, makeApplication } from '../rig/make.ts'
import { type Mailbox, startMailbox } from '../rig/network/mailbox.ts'
import {
  addressOf,
  advance,
  connectDevice,
  judgeNow,
  makeStrangers,
  misbehave,
  nextWindow,
  type Stranger,
} from '../rig/scenes/fleet.ts'
import { PASSWORD, startNorthwind } from '../rig/scenes/northwind.ts'
import { reviewed } from '../rig/scenes/reviewed.ts'
import { startSession } from '../rig/signed-in.ts'

/** Texts of the pages, taken from the messages. */
const { t } = wordsFor('en')

const DAY = 24 * 3_600_000

/** Users who connected a device get mails as well. */
const MAILS_MS = 30_000

let mailbox: Mailbox
const browsing = useBrowsing(async () => {
  mailbox = await startMailbox()
  // An overloaded process counts no early polls, and a busy machine looks like one.
  return startNorthwind({ SMTP_URL: mailbox.url, OVERLOAD_DELAY: '0' }, { clock: true })
})
afterAll(() => mailbox.stop())

const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).first().click()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const shows = (page: Page, text: string) => page.getByText(text, { exact: true }).first().waitFor()
const textOf = async (place: Locator) => (await place.textContent()) ?? ''
const firstOf = (page: Page) => page.locator('key-list :is(li, tbody tr)').first()

async function openConsole(user: MadeUser, options = {}): Promise<Page> {
  const page = await browsing.open(options)
  await signIn(page, user, PASSWORD, browsing.northwind.operators)
  await link(page, t('operator.nav'))
  await page.getByRole('heading', { level: 1, name: t('operator.overview') }).waitFor()
  return page
}

/** Opens its page from the queue. */
async function openApplication(page: Page, name: string): Promise<void> {
  await link(page, t('operator.nav_reviews'))
  await link(page, name)
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

type Decided = { readonly decision: string; readonly reason: string; readonly words: string }

async function decide(page: Page, { decision, reason, words }: Decided): Promise<void> {
  await page.getByLabel(decision, { exact: true }).check()
  await page.getByLabel(t('operator.reason'), { exact: true }).first().selectOption({ label: reason })
  await page.getByLabel(t('operator.words'), { exact: true }).first().fill(words)
  await button(page, t('operator.decide_send'))
}

const asks = (application: MadeApplication) => browsing.northwind.service.device('oauth', application).request()

/**
 * In each of three windows, a day after the warning: thirty accounts with devices that ignore slow_down. In the last one they
 * are devices over HTTP, in the others rows.
 */
async function pollTooFast(application: MadeApplication, strangers: readonly Stranger[]): Promise<void> {
  const { service } = browsing.northwind
  await misbehave(service, application, strangers)
  await advance(service, DAY)
  await misbehave(service, application, strangers, 2)
  // A few at a time: codes that are shed mark the window as overloaded, and then it counts for nothing.
  for (let from = 0; from < strangers.length; from += 5) {
    const devices = strangers
      .slice(from, from + 5)
      .map((stranger, index) =>
        connectDevice(service, application, stranger, { address: addressOf(from + index), polls: 25 }),
      )
    await Promise.all(devices)
  }
  await nextWindow(service)
  await judgeNow(service)
}

/** Reports it: "I did not start this." */
async function report(application: MadeApplication, by: Stranger): Promise<void> {
  const { service } = browsing.northwind
  const { user_code } = await service.device('oauth', application).code()
  const entered = await enterUserCode(service.context, by.id, user_code)
  if (entered.outcome !== 'claimed') throw new Error(`the code was not taken: ${entered.outcome}`)
  const sessionId = await startSession(service, by, { account: by.account })
  await rejectDeviceCode(service.context, by.id, entered.code, { kind: 'page', sessionId, reported: true })
}

describe('an application whose devices poll much too fast, and a reported one', () => {
  let shady: MadeApplication
  beforeAll(async () => {
    const { service, own } = browsing.northwind
    const { context, config } = service
    shady = await makeApplication(context.db, config, 'makers', {
      name: 'Free Invoices',
      defaultScopes: ['orders:read'],
    })
    await context.applications.refresh()
    const strangers = await makeStrangers(service, 30)
    for (const stranger of strangers.slice(0, 3)) await report(shady, stranger)
    await pollTooFast(own.board, strangers)
    for (const stranger of strangers.slice(0, 3)) await report(shady, stranger)
    await judgeNow(service)
  }, 120_000)

  test('the worst is first in the queue, and its page shows the problem and the next step at a glance', async () => {
    const { own } = browsing.northwind
    expect((await asks(own.board)).body.error).toBe('application_suspended')
    const page = await openConsole(browsing.northwind.olga, { viewport: { width: 1280, height: 800 } })
    expect(await textOf(firstOf(page))).toContain('Order Board')
    await link(page, t('operator.nav_reviews'))
    const lines = await page.locator('key-list tbody tr').allInnerTexts()
    expect(lines).toHaveLength(4)
    expect(lines[0]).toContain('Order Board')
    expect(lines[0]).toContain(t('operator.suspended'))
    expect(lines[0]).toMatch(
      /Devices of 30 accounts ignore slow_down; the application polls \d[\d.]* times as often as allowed/,
    )
    expect(lines[1]).toContain('Free Invoices')
    expect(lines[1]).toContain('Reported by users of 3 accounts.')
    const requests = [t('operator.kind_profile'), t('operator.kind_vetting')]
    for (const kind of requests) expect(lines.slice(2).join()).toContain(kind)

    await link(page, 'Order Board')
    const suspension = page.locator('.suspension')
    const text = await textOf(suspension)
    expect(text).toMatch(/Devices of 30 accounts .* They use 30 networks\./)
    expect(text).toContain(t('operator.state_suspended'))
    expect(text).toContain(t('operator.next_stays'))
    const box = await suspension.boundingBox()
    expect((box?.y ?? 900) + (box?.height ?? 900), 'without scrolling').toBeLessThan(800)
    for (const chart of ['polls', 'slow-down', 'funnel', 'origins', 'users']) {
      const figure = page.locator(`#chart-${chart}`)
      expect([chart, await figure.locator('svg :is(path, rect)').count()]).toEqual([chart, expect.any(Number)])
      expect(await figure.locator('svg.picture').count(), chart).toBe(1)
      await figure.locator('summary').click()
      expect(await figure.locator('tbody tr').count(), chart).toBeGreaterThan(0)
    }
    const cells = page.locator('section[aria-labelledby=evidence] tbody tr').first().locator('td')
    expect(await cells.allTextContents()).toEqual(['30', '100%', '30'])
    const timeline = await textOf(page.locator('section[aria-labelledby=timeline]'))
    expect(timeline).toContain(t('audit_kind.application.warned', { application: 'Order Board' }))
    expect(timeline).toContain(t('audit_kind.application.suspended', { application: 'Order Board' }))
  })

  test('reinstating it sends its developer a mail with the message and the figures; suspending it again sends another', async () => {
    const { own, ann, olga } = browsing.northwind
    const page = await openConsole(olga)
    await openApplication(page, 'Order Board')
    const words = 'Version 4.3 waits as it should. Thank you for fixing it so quickly.'
    await link(page, t('operator.to_decision'))
    await decide(page, { decision: t('operator.suspended_reinstate'), reason: t('suspension_reason.fixed'), words })
    await shows(page, t('operator.notice_decided'))
    await shows(page, t('operator.state_running'))
    const mail = await mailbox.waitFor(({ to, text }) => to === ann.email && text.includes(words), MAILS_MS)
    expect(mail.subject).toBe('Order Board is reinstated')
    expect(mail.text).toContain('30 out of 30 accounts')
    expect(mail.text).not.toContain(olga.email)
    await expect.poll(async () => (await asks(own.board)).status, { timeout: 30_000 }).toBe(200)
    await link(page, t('operator.nav_reviews'))
    expect(await textOf(firstOf(page))).toContain('Free Invoices')
    await link(page, t('operator.filter_closed'))
    expect(await textOf(firstOf(page))).toContain('Order Board')

    await link(page, 'Order Board')
    const past = page.locator('section[aria-labelledby=decisions]')
    expect(await textOf(past)).toContain(words)
    const again = { reason: t('suspension_reason.mistaken'), words: 'It was another application.' }
    await decide(page, { decision: t('operator.running_keep'), ...again })
    await shows(page, t('operator.notice_decided'))
    await shows(page, t('operator.state_suspended'))
    await mailbox.waitFor(({ to, subject }) => to === ann.email && subject.includes('until further notice'), MAILS_MS)
    await expect.poll(async () => (await asks(own.board)).status, { timeout: 30_000 }).toBe(403)
  })

  test('a reported application is reinstated only when a second operator confirms', async () => {
    const { olga, omar } = browsing.northwind
    const page = await openConsole(olga)
    await openApplication(page, 'Free Invoices')
    const reason = t('suspension_reason.phishing')
    await decide(page, { decision: t('operator.running_keep'), reason, words: 'It asks people for codes by mail.' })
    await shows(page, t('operator.notice_decided'))
    await expect.poll(async () => (await asks(shady)).status, { timeout: 30_000 }).toBe(403)
    const words = 'They have shown us that it was somebody else.'
    await decide(page, { decision: t('operator.suspended_reinstate'), reason: t('suspension_reason.mistaken'), words })
    await shows(page, t('operator.notice_waits_for_second'))
    await shows(page, t('second_operator.own'))
    expect(await page.getByRole('button', { name: t('operator.confirm') }).count()).toBe(0)
    expect((await asks(shady)).status).toBe(403)

    const other = await openConsole(omar)
    expect(await textOf(other.locator('key-list'))).toContain(t('operator.waits'))
    await openApplication(other, 'Free Invoices')
    await button(other, t('operator.confirm'))
    await shows(other, t('operator.notice_confirmed'))
    await expect.poll(async () => (await asks(shady)).status, { timeout: 30_000 }).toBe(200)
  })
})

describe('an operator', () => {
  test('revokes all grants only after a confirmation, and can restore them', async () => {
    const { northwind } = browsing
    const { service, gus, olga } = northwind
    const { settled } = await reviewed(northwind)
    const { credential } = await connect(service, { application: settled, user: gus, scope: 'orders:read' })
    const works = async () => (await askMe(service, credential)).status
    const page = await openConsole(olga)
    await link(page, t('operator.nav_applications'))
    await page.getByLabel(t('operator.applications_search')).fill('night por')
    await page
      .locator('main')
      .getByRole('button', { name: t('operator.search'), exact: true })
      .click()
    await link(page, 'Night Porter')
    const all = page.locator('.are-you-sure')
    const yes = all.getByRole('button', { name: t('operator.end_all_yes') })
    expect(await yes.isVisible()).toBe(false)
    await all.locator('summary').click()
    await yes.click()
    expect(await page.locator('#all-reason-problem').textContent()).toBe(t('operator.problem_reason'))
    expect(await works()).toBe(200)
    await all.getByLabel(t('operator.reason'), { exact: true }).selectOption('stolen_secret')
    await all.getByLabel(t('operator.words'), { exact: true }).fill('Somebody sells its secret.')
    await yes.click()
    await shows(page, t('operator.notice_decided'))
    await expect.poll(works, { timeout: 30_000 }).toBe(401)
    const restored = { reason: t('suspension_reason.mistaken'), words: 'It was another one.' }
    await decide(page, { decision: t('operator.reinstate_and_restore'), ...restored })
    await shows(page, t('operator.notice_decided'))
    await expect.poll(works, { timeout: 30_000 }).toBe(200)
  })

  test('suspends an application without reports, without JavaScript', async () => {
    const { northwind } = browsing
    const { applications, olga } = northwind
    const page = await browsing.open({ javaScriptEnabled: false })
    await signIn(page, olga, PASSWORD, northwind.operators)
    await page.goto(`${northwind.operators}/operator/applications?q=${applications.till.id}`)
    await page.locator('main tbody th a').click()
    await shows(page, t('operator.no_review'))
    await button(page, t('operator.decide_send'))
    expect(await textOf(page.getByRole('alert'))).toContain(t('operator.problem_decision'))
    const words = 'Its makers asked us to.'
    await decide(page, { decision: t('operator.running_keep'), reason: t('suspension_reason.other'), words })
    await shows(page, t('operator.notice_decided'))
    await shows(page, t('operator.next_stays'))
  })

  test('moves through the queue with j and k and opens with Enter; elsewhere these keys do nothing', async () => {
    const { northwind } = browsing
    await reviewed(northwind)
    const page = await openConsole(northwind.olga)
    await link(page, t('operator.nav_reviews'))
    const names = await page.locator('key-list tbody th a').allInnerTexts()
    expect(names.length).toBeGreaterThanOrEqual(2)
    const focused = () => page.evaluate<string>('document.activeElement.textContent')
    await page.keyboard.press('j')
    expect(names).not.toContain(await focused())
    await tabTo(page, names[0] ?? '')
    const seen: string[] = []
    for (const key of ['j', 'k', 'k', 'j']) {
      await page.keyboard.press(key)
      seen.push(await focused())
    }
    expect(seen).toEqual([names[1], names[0], names[0], names[1]])
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
    expect(await textOf(page.locator('h1'))).toBe(names[1])
  })

  test('sees what has changed meanwhile instead of deciding on outdated facts', async () => {
    const { northwind } = browsing
    const { fast } = await reviewed(northwind)
    const page = await openConsole(northwind.olga)
    await page.goto(`${northwind.operators}/operator/application?application=${fast.id}`)
    await northwind.service.database.query(
      "update reviews set appeal = 'Look again!', version = version + 1 where application_id = $1",
      [fast.id],
    )
    const words = 'Nobody answers.'
    await decide(page, { decision: t('operator.suspended_keep'), reason: t('suspension_reason.no_answer'), words })
    expect(await textOf(page.getByRole('alert'))).toContain(t('operator.problem_stale'))
    await shows(page, 'Look again!')
    expect(await page.locator('#words').inputValue()).toBe(words)
    await button(page, t('operator.decide_send'))
    await shows(page, t('operator.notice_decided'))
  })

  test('adds a scope and changes its title', async () => {
    const { northwind } = browsing
    const page = await openConsole(northwind.olga)
    await link(page, t('operator.nav_scopes'))
    await page.getByLabel(t('operator.scope_name')).fill('routes:open')
    await page.locator('#title').fill('Open route')
    await page.getByLabel(t('operator.scope_dangerous'), { exact: true }).check()
    await button(page, t('operator.scope_add'))
    await shows(page, t('operator.scope_added'))
    const row = page.locator('.rows > li', { hasText: 'routes:open' })
    await row.locator('summary').click()
    await row.getByLabel(t('operator.scope_title')).fill('Open every route')
    await row.getByRole('button', { name: t('operator.save') }).click()
    await shows(page, 'Open every route')
  })

  test('has its pages in one row on a phone, which opens with the keyboard; on a wide screen they are visible', async () => {
    const { olga } = browsing.northwind
    const page = await openConsole(olga, { viewport: { width: 390, height: 700 } })
    const menu = page.getByRole('navigation', { name: t('operator.nav') })
    expect((await menu.boundingBox())?.height).toBeLessThan(60)
    expect(await menu.locator('summary').textContent()).toContain(t('operator.nav_overview'))
    expect(await menu.getByRole('link').count()).toBe(0)
    await menu.locator('summary').focus()
    await page.keyboard.press('Enter')
    expect(await menu.getByRole('link').count()).toBe(8)
    await menu.getByRole('link', { name: t('operator.nav_scopes') }).click()
    await page.getByRole('heading', { level: 1, name: t('operator.nav_scopes') }).waitFor()
    await page.setViewportSize({ width: 1280, height: 800 })
    expect(await menu.getByRole('link').count()).toBe(8)
    expect(await menu.locator('summary').isVisible()).toBe(false)
    await menu.getByRole('link', { name: t('operator.nav_audit') }).click()
    await page.waitForURL('**/operator/audit')
  })

  test('never scrolls sideways at 320 pixels, also from right to left', async () => {
    const { northwind } = browsing
    const { fast } = await reviewed(northwind)
    const page = await openConsole(northwind.olga, { viewport: { width: 320, height: 640 } })
    const wide: string[] = []
    for (const language of ['en', 'ar']) {
      await Promise.all([page.waitForEvent('load'), page.locator(`button[name=language][value=${language}]`).click()])
      for (const path of ['', '/reviews', `/application?application=${fast.id}`, '/accounts', '/scopes']) {
        await page.goto(`${northwind.operators}/operator${path}`)
        for (const summary of await page.locator('.chart summary').all()) await summary.click()
        const pixels = await overhang(page)
        if (pixels > 0) wide.push(`${language} ${path}: ${pixels}`)
      }
    }
    expect(wide).toEqual([])
  })
})
