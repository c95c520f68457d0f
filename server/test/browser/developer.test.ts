/** A new developer in real Chromium who follows only the pages: from the first click to the first token. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { overhang } from '../rig/browser/chromium.ts'
import { type Registration, registerApplication, signIn, signInHere } from '../rig/browser/clicks.ts'
import { tabTo } from '../rig/browser/keyboard.ts'
import { askMe } from '../rig/connect.ts'
import { sendSample } from '../rig/process/shell-sample.ts'

/** Texts of the pages, taken from the messages. */
const { t } = wordsFor('en')

const browsing = useBrowsing()

const heading = (page: Page) => page.getByRole('heading', { level: 1 })
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).first().click()
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const shows = (page: Page, text: string) => page.getByText(text, { exact: true }).first().waitFor()

/** Ann, on the list of her account's applications. */
async function openConsole(options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browsing.open(options)
  await page.goto('/')
  await signInHere(page, browsing.northwind.ann)
  await link(page, t('layout.account'))
  await heading(page).getByText(t('layout.account_applications')).waitFor()
  const menu = page.locator('.navigation summary')
  if (await menu.isVisible()) await menu.click()
  await link(page, t('layout.developer'))
  await heading(page).getByText(t('developer.title')).waitFor()
  return page
}

const choose = (page: Page, scope: string, use: 'may' | 'default' | 'required') =>
  page.getByLabel(scope, { exact: true }).selectOption({ label: t(`scope_choice.use_${use}`) })

/** The first two steps, from the list. */
async function beginRegistration(page: Page, name: string, kind: 'device' | 'web' | 'page'): Promise<void> {
  await link(page, t('developer.register'))
  await page.getByLabel(t('register.name')).fill(name)
  await page.getByLabel(t(`register.kind_${kind}`), { exact: true }).check()
  await button(page, t('register.continue'))
  await heading(page).getByText(t('register.heading_scopes')).waitFor()
  await choose(page, 'See orders', 'required')
  await choose(page, 'See stock levels', 'default')
  await choose(page, 'Change orders', 'may')
}

const textOf = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? ''
const secretOn = (page: Page) => textOf(page, '#application-secret')
const idOn = (page: Page) => textOf(page, '#application-id')

/** A registered application with its page open. */
async function openOwn(page: Page, registration: Omit<Registration, 'uses'>): Promise<{ id: string; secret: string }> {
  await registerApplication(page, { uses: { 'orders:read': 'default' }, ...registration })
  const made = { id: await idOn(page), secret: await secretOn(page) }
  await link(page, t('secret_shown.stored'))
  return made
}

const heard = async (sent: () => Promise<{ status: number }>, status: number) =>
  expect.poll(async () => (await sent()).status, { timeout: 30_000, interval: 200 }).toBe(status)

describe('by following the pages alone', () => {
  test('a developer registers an application, requests a code, decides it in test mode, and gets tokens', async () => {
    const { service, ann } = browsing.northwind
    const page = await openConsole({ permissions: ['clipboard-read', 'clipboard-write'] })
    await beginRegistration(page, 'Window Display', 'device')
    await button(page, t('register.register'))
    await heading(page).getByText('Window Display is registered').waitFor()
    await shows(page, t('secret_shown.once'))
    const copied = async (id: string) => {
      await page.locator(`copy-button[from="${id}"]`).getByRole('button').click()
      await page.locator(`copy-button[from="${id}"]`).getByText(t('elements.copied')).waitFor()
      return page.evaluate<string>('navigator.clipboard.readText()')
    }
    const SECRET = await copied('application-secret')
    const id = await copied('application-id')
    expect([id, SECRET]).toEqual([await idOn(page), await secretOn(page)])
    await link(page, t('secret_shown.stored'))
    expect(await page.content()).not.toContain(SECRET)

    await heard(() => sendSample(page, '#sample-code_oauth', { SECRET }), 200)
    await button(page, t('test_mode.start'))
    await heading(page).getByText('Test mode of Window Display is on').waitFor()
    const TEST_SECRET = await copied('test-secret')
    expect(TEST_SECRET).toMatch(/^lkt_/)
    await link(page, t('secret_shown.stored'))
    await shows(page, t('test_mode.on'))
    await shows(page, t('test_mode.ends'))
    expect(await page.content()).not.toContain(TEST_SECRET)

    const asked = await sendSample(page, '#sample-code_oauth', { SECRET })
    expect(asked.body).toMatchObject({ user_code: expect.stringMatching(/^\d{9}$/), state: 'living-room' })
    const { user_code: USER_CODE, device_code: DEVICE_CODE } = asked.body
    await heard(() => sendSample(page, '#sample-test', { SECRET, TEST_SECRET, USER_CODE }), 200)
    const polled = await sendSample(page, '#sample-poll', { SECRET, DEVICE_CODE })
    expect([polled.status, polled.body]).toEqual([
      200,
      expect.objectContaining({ access_token: expect.any(String), scope: 'orders:read,stock:read' }),
    ])
    expect((await askMe(service, polled.body.access_token)).body).toMatchObject({ user: ann.id, application: id })
    const renewed = await sendSample(page, '#sample-refresh', { SECRET, REFRESH_TOKEN: polled.body.refresh_token })
    expect([renewed.status, Object.keys(renewed.body)]).toEqual([200, expect.arrayContaining(['access_token'])])

    // The rejection, as in the reference.
    const other = (await sendSample(page, '#sample-code_oauth', { SECRET })).body
    const reader = await browsing.open()
    await reader.goto(`${service.config.publicUrl}/reference#decideTestCode`)
    const known = { APP_ID: id, APP_SECRET: SECRET, TEST_SECRET, USER_CODE: other.user_code, DECISION: 'reject' }
    expect((await sendSample(reader, '#decideTestCode copy-button', known)).status).toBe(200)
    const refused = await sendSample(page, '#sample-poll', { SECRET, DEVICE_CODE: other.device_code })
    expect(refused.body.error).toBe('auth_rejected')
  })

  test('a developer registers a web application; a wrong redirect URI is shown with its problem, and other values are kept', async () => {
    const page = await openConsole()
    await beginRegistration(page, 'Parcel Corner', 'web')
    await button(page, t('register.continue'))
    const addresses = page.getByLabel(t('redirects.label'))
    await addresses.fill('https://parcels.example/connected\nhttp://parcels.example/connected')
    await button(page, t('register.register'))
    const wrong = t('redirects.problem_scheme', { uri: 'http://parcels.example/connected' })
    expect(await page.locator('#redirects-problem').textContent()).toBe(wrong)
    await page.getByRole('alert').getByRole('link', { name: wrong }).click()
    expect(await addresses.evaluate((field) => field === document.activeElement)).toBe(true)
    await addresses.fill('https://parcels.example/connected')
    await button(page, t('register.register'))
    await heading(page).getByText('Parcel Corner is registered').waitFor()
    const id = await idOn(page)
    const dialog = await textOf(page, '#sample-dialog')
    expect(new URL(dialog).searchParams.get('redirect_uri')).toBe('https://parcels.example/connected')
    const [row] = await browsing.northwind.service.database.query(
      'select allowed_scopes, default_scopes, required_scopes, device_flow, public_client as public from applications where id = $1',
      [id],
    )
    expect(row).toEqual({
      allowed_scopes: expect.arrayContaining(['orders:read', 'orders:write', 'stock:read']),
      default_scopes: ['orders:read', 'stock:read'],
      required_scopes: ['orders:read'],
      device_flow: false,
      public: false,
    })
  })
})

describe('the preview', () => {
  test.each(['code', 'dialog'] as const)(
    'of the question that a %s leads to has the chosen permissions, and no answer',
    async (by) => {
      const { own, service } = browsing.northwind
      const page = await browsing.open()
      await signIn(page, browsing.northwind.ann)
      const { id } = by === 'code' ? own.board : own.shop
      await page.goto(`/developer/application?application=${id}`)
      await link(page, t(`own_application.preview_${by}`))
      await shows(page, t('consent.preview'))
      const text = await textOf(page, 'main')
      expect(text).toContain('See orders')
      expect(text).toContain('See stock levels')
      expect(text, 'what it may only ask for by name').not.toContain('Change orders')
      const buttons = page.locator('main button')
      expect(await buttons.count()).toBeGreaterThan(1)
      const answerable = 'main form, main input:not([disabled]), main button:not([disabled]), main [type=submit]'
      expect(await page.locator(answerable).count()).toBe(0)
      await buttons.first().click({ force: true })
      await page.keyboard.press('Enter')
      await shows(page, t('consent.preview'))
      expect(await service.database.query('select from grants where application_id = $1', [own.shop.id])).toEqual([])
      await link(page, t('consent.preview_back'))
      expect(new URL(page.url()).searchParams.get('application')).toBe(id)
    },
  )
})

describe('secrets', () => {
  test('a second one is valid beside the first; when the first is revoked, only the second is', async () => {
    const page = await browsing.open()
    await signIn(page, browsing.northwind.ann)
    const first = await openOwn(page, { name: 'Loading Bay', kind: 'device' })
    await shows(page, t('own_application.only_secret'))
    await page.getByLabel(t('own_application.label')).fill('Bay 2')
    await button(page, t('own_application.add'))
    await heading(page).getByText('New secret for Loading Bay').waitFor()
    const second = await secretOn(page)
    expect(second).not.toBe(first.secret)
    await link(page, t('secret_shown.stored'))
    const ask = (SECRET: string) => sendSample(page, '#sample-code_key', { SECRET })
    await heard(() => ask(second), 200)
    expect((await ask(first.secret)).status).toBe(200)

    const row = page.locator('.rows > li', { hasText: t('own_application.unnamed') })
    await row.locator('summary').click()
    await row.getByRole('button', { name: t('own_application.end_yes') }).click()
    await shows(page, t('own_application.notice_revoked'))
    expect(await page.locator('.rows > li h3').allInnerTexts()).toEqual(['Bay 2'])
    await heard(() => ask(first.secret), 401)
    expect((await ask(second)).status).toBe(200)
    await expect
      .poll(
        async () => {
          await page.reload()
          return textOf(page, '.rows > li')
        },
        { timeout: 30_000 },
      )
      .not.toContain(t('own_application.not_used'))
  })
})

describe('a developer who', () => {
  test('has no JavaScript can register, add and revoke a secret, and change the settings', async () => {
    const page = await browsing.open({ javaScriptEnabled: false })
    await signIn(page, browsing.northwind.ann)
    const { id } = await openOwn(page, { name: 'Back Route', kind: 'web', redirects: 'https://route.example/' })
    await button(page, t('own_application.add'))
    expect(await page.locator('copy-button:visible').count()).toBe(0)
    await link(page, t('secret_shown.stored'))
    await page.locator('summary').last().click()
    await page
      .locator('details[open]')
      .getByRole('button', { name: t('own_application.end_yes') })
      .click()
    await shows(page, t('own_application.notice_revoked'))
    await link(page, t('own_application.settings'))
    await page.getByLabel(t('register.name')).fill('Front Route')
    await page.getByLabel(t('application_settings.device_flow')).check()
    await button(page, t('application_settings.save'))
    await heading(page).getByText('Front Route').waitFor()
    const { service } = browsing.northwind
    const [row] = await service.database.query('select name, device_flow from applications where id = $1', [id])
    expect(row).toEqual({ name: 'Front Route', device_flow: true })
  })

  test('has no mouse can register an application, with a visible focus', async () => {
    const page = await browsing.open()
    await signIn(page, browsing.northwind.ann)
    await page.goto('/developer')
    const { keyboard } = page
    const onwards = () => Promise.all([page.waitForEvent('load'), keyboard.press('Enter')])
    await tabTo(page, t('developer.register'))
    await onwards()
    await page.locator('#name:focus').waitFor()
    await keyboard.type('Night Watch')
    await tabTo(page, t('register.kind_device'))
    await keyboard.press('Space')
    await keyboard.press('ArrowDown')
    await tabTo(page, t('register.continue'))
    await onwards()
    await tabTo(page, 'See orders')
    await keyboard.press('ArrowDown')
    await keyboard.press('ArrowDown')
    await tabTo(page, t('register.continue'))
    await onwards()
    await page.locator('#redirects:focus').waitFor()
    await keyboard.type('https://night.example/')
    await tabTo(page, t('register.register'))
    await onwards()
    await heading(page).getByText('Night Watch is registered').waitFor()
    await tabTo(page, t('secret_shown.stored'))
    await onwards()
    await heading(page).getByText('Night Watch').waitFor()
    await tabTo(page, t('own_application.add'))
  })

  test('has a telephone of 320 pixels never scrolls sideways', async () => {
    const page = await openConsole({ viewport: { width: 320, height: 640 } })
    const wide: string[] = []
    const measure = async (step: string) => {
      const pixels = await overhang(page)
      if (pixels > 0) wide.push(`${step}: ${pixels}`)
    }
    await measure('the list')
    await beginRegistration(page, 'Donaudampfschifffahrtsgesellschaftskapitänsmützenständer', 'web')
    await measure('the permissions')
    await button(page, t('register.continue'))
    await page.getByLabel(t('redirects.label')).fill(`https://a.example/${'long'.repeat(60)}`)
    await measure('the addresses')
    await button(page, t('register.register'))
    await measure('the secret')
    await link(page, t('secret_shown.stored'))
    await measure('the application')
    await link(page, t('own_application.preview_dialog'))
    await measure('the preview')
    await link(page, t('consent.preview_back'))
    await link(page, t('own_application.settings'))
    await measure('the settings')
    expect(wide).toEqual([])
  })
})
