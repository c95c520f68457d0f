/** The device flow as a user sees it, in real Chromium: from the code on a device to its credentials. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { accessibilityProblems } from '../rig/browser/accessibility.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import {
  chooseLanguage,
  confirm,
  decide,
  enterCode,
  isAskedToSignIn,
  signIn,
  signInHere,
} from '../rig/browser/clicks.ts'
import { tabTo } from '../rig/browser/keyboard.ts'
import type { MadeUser } from '../rig/make.ts'
import { needs } from '../rig/origins/needs.ts'
import { SIGN_IN_PAGE } from '../rig/pages/every-page.ts'
import { HAMBURG, LISBON, PASSWORD, startNorthwind } from '../rig/scenes/northwind.ts'
import { digestOf } from '../rig/witness.ts'

const MINUTE = 60_000

/** Texts of the pages, taken from the messages. */
const { t } = wordsFor('en')

const browsing = useBrowsing(() => startNorthwind({}, { clock: true }))

const device = (variant: 'oauth' | 'key' = 'oauth') =>
  browsing.northwind.service.device(variant, browsing.northwind.applications.signage)
const grouped = (code: string) => code.match(/\d{3}/g)?.join(' ') ?? ''
const heading = (page: Page) => page.getByRole('heading', { level: 1 })

/** From the home page by clicks, as documented. */
async function enterByClicks(page: Page, typed: string): Promise<void> {
  await page.getByRole('link', { name: t('home.enter_code') }).click()
  await page.getByRole('textbox', { name: t('enter_code.heading') }).pressSequentially(typed)
  await page.getByRole('button', { name: t('enter_code.continue') }).click()
}

async function signInFromHome(page: Page, user: MadeUser): Promise<void> {
  await page.goto('/')
  await signInHere(page, user)
  await heading(page).getByText(t('home.heading')).waitFor()
}

test.each(['oauth', 'key'] as const)(
  'a person signs in, enters the code with spaces, allows it, and the %s device is let in',
  async (variant) => {
    const code = await device(variant).code({ scope: 'orders:read,orders:write' })
    const page = await browsing.open()
    await signInFromHome(page, browsing.northwind.ann)
    await enterByClicks(page, grouped(code.user_code))
    await heading(page).getByText('Acme Signage wants access to Northwind Traders').waitFor()
    expect(await page.getByText(grouped(code.user_code)).count()).toBe(1)
    expect(await page.getByText(t('publisher.verified', { name: 'acme.example' })).count()).toBe(1)
    const lasts =
      variant === 'key' ? t('consent.lasts_access_key') : t('consent.lasts_token_set', { days: 60, longest: 365 })
    expect(await page.getByText(lasts).count()).toBe(1)
    await page.getByRole('button', { name: t('consent.allow') }).click()
    await heading(page).getByText(t('decided.granted')).waitFor()
    const { status, body } = await device(variant).poll(code.device_code)
    expect(status).toBe(200)
    expect(body).toMatchObject({ scope: 'orders:read,orders:write' })
    expect(Object.keys(body)).toContain(variant === 'key' ? 'access_key' : 'access_token')
  },
)

test('going back and reloading after the decision changes nothing, and shows the outcome', async () => {
  const code = await device().code()
  const page = await browsing.open()
  await signIn(page, browsing.northwind.dana)
  await enterCode(page, code.user_code)
  await decide(page, 'allow')
  await page.reload()
  await heading(page).getByText(t('decided.granted')).waitFor()
  await page.goBack()
  await page.goForward()
  await heading(page).getByText(t('decided.granted')).waitFor()
  expect((await device().poll(code.device_code)).status).toBe(200)
})

test.each([
  { button: t('consent.cancel'), says: t('decided.rejected'), reported: false },
  { button: t('consent.not_me'), says: t('decided.reported'), reported: true },
])('"$button" gives no access, and the poll is answered auth_rejected', async ({ button, says, reported }) => {
  const code = await device().code()
  const page = await browsing.open()
  await signIn(page, browsing.northwind.dana)
  await enterCode(page, code.user_code)
  await page.getByRole('button', { name: button, exact: true }).click()
  await heading(page).getByText(says, { exact: true }).waitFor()
  expect((await device().poll(code.device_code)).body).toMatchObject({ error: 'auth_rejected' })
  const reports = await browsing.northwind.service.database.query(
    "select from audit_events where kind = 'code.reported' and device_code_id = (select id from device_codes where user_code_digest = $1)",
    [digestOf(browsing.northwind.service, code.user_code)],
  )
  expect(reports.length).toBe(reported ? 1 : 0)
})

test.each(['oauth', 'key'] as const)(
  'without JavaScript everything works as well, for the %s device',
  async (variant) => {
    const code = await device(variant).code()
    const page = await browsing.open({ javaScriptEnabled: false })
    await signInFromHome(page, browsing.northwind.ann)
    await enterByClicks(page, grouped(code.user_code))
    await page.getByText('This code expires in').waitFor()
    await page.getByRole('button', { name: t('consent.allow') }).click()
    await heading(page).getByText(t('decided.granted')).waitFor()
    expect((await device(variant).poll(code.device_code)).status).toBe(200)
  },
)

test('without JavaScript a problem with the code is shown at the top and at the field, and the input is kept', async () => {
  const page = await browsing.open({ javaScriptEnabled: false })
  await signIn(page, browsing.northwind.dana)
  await enterCode(page, '123 456')
  expect(await page.title()).toMatch(/^Problem: /)
  const field = page.getByRole('textbox', { name: t('enter_code.heading') })
  expect(await field.inputValue()).toBe('123 456')
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  expect(await page.getByText(t('enter_code.problem_length', { fewest: 9, digits: 6 })).count()).toBe(2)
  expect(await page.locator('[role=alert]:focus').count()).toBe(1)
})

test('the keyboard is enough from signing in to the decision, with a visible focus', needs('password'), async () => {
  const code = await device().code()
  const page = await browsing.open({ viewport: { width: 1000, height: 600 } })
  const { keyboard } = page
  await page.goto('/')
  await page.locator('#email:focus').waitFor()
  await keyboard.type(browsing.northwind.dana.email)
  await tabTo(page, t('sign_in.password'))
  await keyboard.type(PASSWORD)
  await keyboard.press('Enter')
  await heading(page).getByText(t('home.heading')).waitFor()
  expect(await tabTo(page, t('layout.skip'))).toBe(1)
  await tabTo(page, t('home.enter_code'))
  await keyboard.press('Enter')
  await page.locator('#app-code:focus').waitFor()
  await keyboard.type(code.user_code)
  await keyboard.press('Enter')
  await heading(page).getByText('Acme Signage wants access to').waitFor()
  await tabTo(page, t('consent.cancel'))
  expect(await tabTo(page, t('consent.allow'))).toBe(1)
  await page.locator('button[value=allow]:focus:not([aria-disabled])').waitFor()
  await keyboard.press('Enter')
  await heading(page).getByText(t('decided.granted')).waitFor()
  expect((await device().poll(code.device_code)).status).toBe(200)
})

test('at 320 pixels no page scrolls sideways', async () => {
  const { northwind } = browsing
  const code = await northwind.ask(northwind.applications.signage, { says: `Player/${'4'.repeat(100)}` })
  const page = await browsing.open({ viewport: { width: 320, height: 640 } })
  const widths: Record<string, number> = {}
  const measure = async (step: string) => {
    widths[step] = await page.evaluate<number>('document.scrollingElement.scrollWidth')
  }
  await page.goto('/')
  await measure('sign in')
  await signIn(page, northwind.ben)
  await measure('home')
  await enterCode(page, '1')
  await measure('a wrong code')
  await enterCode(page, code.user_code)
  await measure('consent')
  await decide(page, 'allow')
  await measure('decided')
  expect(widths).toEqual({ 'sign in': 320, home: 320, 'a wrong code': 320, consent: 320, decided: 320 })
})

test('a browser that asks for Arabic is answered in Arabic, from right to left, and accepts Arabic digits', async () => {
  const { northwind } = browsing
  const code = await device().code()
  const page = await browsing.open({ locale: 'ar' })
  await signIn(page, northwind.ida)
  expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
  await enterCode(page, Array.from(code.user_code, (digit) => String.fromCodePoint(0x660 + Number(digit))).join(''))
  expect(await page.locator('html').getAttribute('lang')).toBe('ar')
  // As on the device in every language: the same digits in the same order.
  expect(await page.locator('.user-code').textContent()).toBe(grouped(code.user_code))
  expect(await page.locator('.user-code').getAttribute('dir')).toBe('ltr')
  const [cancel, allow] = await Promise.all(
    ['cancel', 'allow'].map((value) => page.locator(`button[value=${value}]`).boundingBox()),
  )
  expect(cancel?.x).toBeGreaterThan(allow?.x ?? Number.POSITIVE_INFINITY)
  await decide(page, 'allow')
  expect(await heading(page).textContent()).toBe('تم السماح بالوصول')
  expect((await device().poll(code.device_code)).status).toBe(200)
})

test('choosing Arabic on the consent page shows the same request in Arabic', async () => {
  const code = await device().code()
  const page = await browsing.open()
  await signIn(page, browsing.northwind.ann)
  await enterCode(page, code.user_code)
  expect(await page.locator('html').getAttribute('dir')).toBe('ltr')
  await chooseLanguage(page, 'ar')
  expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
  expect(await page.locator('.user-code').textContent()).toBe(grouped(code.user_code))
  await decide(page, 'cancel')
  expect(await page.locator('html').getAttribute('lang')).toBe('ar')
  await chooseLanguage(page, 'en')
  expect((await device().poll(code.device_code)).body).toMatchObject({ error: 'auth_rejected' })
})

test('the dark colour scheme has sufficient contrast', async () => {
  const { northwind } = browsing
  const code = await northwind.ask(northwind.applications.till, { from: LISBON })
  const page = await browsing.open({ colorScheme: 'dark', extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } })
  const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
  const problems: string[] = []
  await page.goto(SIGN_IN_PAGE)
  const dark = await background()
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await background()).not.toBe(dark)
  await page.emulateMedia({ colorScheme: 'dark' })
  problems.push(...(await accessibilityProblems(page)))
  await signIn(page, northwind.ann)
  problems.push(...(await accessibilityProblems(page)))
  await enterCode(page, '000')
  problems.push(...(await accessibilityProblems(page)))
  await enterCode(page, code.user_code)
  expect(await background()).toBe(dark)
  problems.push(...(await accessibilityProblems(page)))
  await decide(page, 'cancel')
  problems.push(...(await accessibilityProblems(page)))
  expect(problems).toEqual([])
})

test('an access key needs a recent sign-in; a token set does not', async () => {
  const { northwind } = browsing
  const page = await browsing.open()
  await signIn(page, northwind.dana)
  await enterCode(page, (await device('key').code()).user_code)
  await heading(page).getByText('Acme Signage wants access to').waitFor()

  await northwind.service.database.advance(16 * MINUTE)
  await enterCode(page, (await device('oauth').code()).user_code)
  await heading(page).getByText('Acme Signage wants access to').waitFor()

  const code = await device('key').code()
  await enterCode(page, code.user_code)
  await heading(page).getByText(t('confirm.title')).waitFor()
  await confirm(page, northwind.dana)
  await page.getByRole('button', { name: t('consent.allow') }).click()
  await heading(page).getByText(t('decided.granted')).waitFor()
  expect((await device('key').poll(code.device_code)).body).toHaveProperty('access_key')
})

test('scopes that the user lacks are shown separately, with the role to ask for, and are not granted', async () => {
  const code = await device().code({ scope: 'orders:read,orders:write' })
  const page = await browsing.open()
  await signIn(page, browsing.northwind.ben)
  await enterCode(page, code.user_code)
  const can = page.getByRole('region', { name: t('consent.can'), exact: true })
  const lacking = page.getByRole('region', { name: t('consent.lacking') })
  expect(await can.getByRole('listitem').allInnerTexts()).toEqual(['See orders'])
  const text = await lacking.getByRole('listitem').textContent()
  expect(text).toContain('Change orders')
  expect(text).toContain(t('consent.ask_for_role', { name: 'Northwind Traders', role: 'Sales' }))
  await decide(page, 'allow')
  expect((await device().poll(code.device_code)).body).toMatchObject({ scope: 'orders:read' })
})

test('a request from another country causes a warning, and the last group of the code has to be typed again', async () => {
  const { northwind } = browsing
  const code = await northwind.ask(northwind.applications.signage, { from: LISBON })
  const page = await browsing.open({ extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } })
  await signIn(page, northwind.ann)
  await enterCode(page, code.user_code)
  await page.getByText(t('consent.other_country')).waitFor()
  await page.getByText('Lisbon, Portugal').waitFor()
  const last = code.user_code.slice(-3)
  // Details state the longest lifetime, 365 days.
  expect(await page.locator('main').textContent()).not.toMatch(new RegExp(`${last}(?! days)`))
  await decide(page, 'allow')
  await page.getByRole('alert').getByText(t('consent.problem_retype')).waitFor()
  await page.getByLabel(t('consent.retype')).fill(last)
  await decide(page, 'allow')
  await heading(page).getByText(t('decided.granted')).waitFor()
  expect((await device().poll(code.device_code)).status).toBe(200)
})

test('"Not you?" signs out and releases the code for the next user', async () => {
  const code = await device().code({ scope: 'orders:write' })
  const page = await browsing.open()
  await signIn(page, browsing.northwind.ben)
  await enterCode(page, code.user_code)
  await page.getByRole('button', { name: 'Not you?' }).click()
  await isAskedToSignIn(page)
  await signIn(page, browsing.northwind.dana)
  await enterCode(page, code.user_code)
  await decide(page, 'allow')
  expect((await device().poll(code.device_code)).body).toMatchObject({ scope: 'orders:write' })
})
