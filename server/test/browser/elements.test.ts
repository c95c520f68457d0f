/** Custom elements of assets/latchkey.js in real Chromium. Every case checks the content security policy. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { chooseLanguage, enterCode, signIn } from '../rig/browser/clicks.ts'
import { needs } from '../rig/origins/needs.ts'

const MINUTE = 60_000

/** Texts of the pages, taken from the messages. */
const { t } = wordsFor('en')

const browsing = useBrowsing()

/** The field for a code, empty and with the focus. */
async function codeField(page: Page) {
  await signIn(page, browsing.northwind.dana)
  await page.goto('/connect/code')
  await page.locator('#app-code:focus').waitFor()
  return page.locator('#app-code')
}

test('digits are grouped while typing, and the caret stays after its digit', async () => {
  const page = await browsing.open()
  const field = await codeField(page)
  const seen: string[] = []
  for (const digit of '432324981') {
    await page.keyboard.press(digit)
    seen.push(await field.inputValue())
  }
  expect(seen).toEqual(['4', '43', '432', '4323', '432 32', '432 324', '432 3249', '432 324 98', '432 324 981'])
  for (let step = 0; step < 5; step += 1) await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('7')
  expect(await field.inputValue()).toBe('432 327 4981')
  await page.keyboard.press('Backspace')
  await page.keyboard.press('Backspace')
  expect(await field.inputValue()).toBe('432 349 81')
})

test('deleting a gap deletes the digit before it', async () => {
  const page = await browsing.open()
  const field = await codeField(page)
  await page.keyboard.type('432324981')
  await page.keyboard.press('Home')
  for (let step = 0; step < 4; step += 1) await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Backspace')
  expect(await field.inputValue()).toBe('433 249 81')
  await page.keyboard.type('2')
  expect(await field.inputValue()).toBe('432 324 981')
})

test.each([
  { what: 'with dashes', pasted: '432-324-981' },
  { what: 'with dots and a line break', pasted: '432.324.\n981' },
  { what: 'in full-width digits', pasted: '４３２　３２４　９８１' },
  { what: 'in Arabic-Indic digits', pasted: '٤٣٢ ٣٢٤ ٩٨١' },
])('a code pasted $what is accepted', async ({ pasted }) => {
  const page = await browsing.open({ permissions: ['clipboard-read', 'clipboard-write'] })
  const field = await codeField(page)
  await page.evaluate((text) => navigator.clipboard.writeText(text), pasted)
  await page.keyboard.press('Control+V')
  expect(await field.inputValue()).toBe('432 324 981')
})

test('other characters stay as typed', async () => {
  const page = await browsing.open()
  const field = await codeField(page)
  await page.keyboard.type('43x2324')
  expect(await field.inputValue()).toBe('43x2324')
})

test('the consent page shows the expiry of the code, and announces it before and after', async () => {
  const { northwind } = browsing
  const { user_code } = await northwind.ask(northwind.applications.mobile)
  const page = await browsing.openAlone({ timezoneId: 'Asia/Tokyo' })
  await page.clock.install()
  await signIn(page, northwind.dana)
  await enterCode(page, user_code)
  const [until, status] = [page.locator('expiry-notice p').first(), page.locator('expiry-notice [role=status]')]
  const end = new Date(Date.now() + 10 * MINUTE)
  const time = (at: Date) =>
    at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'Asia/Tokyo' })
  const around = [time(new Date(end.getTime() - MINUTE)), time(end)].map((each) =>
    t('elements.valid_until', { time: each }),
  )
  expect(around).toContain(await until.textContent())
  expect(await status.textContent()).toBe('')
  await page.clock.fastForward(7 * MINUTE)
  expect(await status.textContent()).toBe('')
  await page.clock.fastForward(1.1 * MINUTE)
  expect(await status.textContent()).toBe(t('elements.two_minutes'))
  await page.clock.fastForward(1.5 * MINUTE)
  expect(await status.textContent()).toBe(t('elements.thirty_seconds'))
  await page.clock.fastForward(MINUTE)
  expect(await status.textContent()).toBe(t('elements.over'))
  expect(await until.isVisible()).toBe(false)
})

test(
  'the secret of an authenticator app is copied without gaps, and the copying is announced',
  needs('second_factor'),
  async () => {
    const page = await browsing.open({ permissions: ['clipboard-read', 'clipboard-write'] })
    await signIn(page, browsing.northwind.dana)
    await page.goto('/security/authenticator')
    const secret = (await page.locator('.secret').textContent()) ?? ''
    await page.getByRole('button', { name: t('elements.copy') }).click()
    await page.getByRole('status').getByText(t('elements.copied')).waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret.replaceAll(' ', ''))
  },
)

test.each([
  { language: 'en', locale: 'en-GB', timezoneId: 'Europe/Berlin' },
  { language: 'de', locale: 'de-AT', timezoneId: 'America/New_York' },
])('a time is shown in the browser’s time zone: $locale, $timezoneId', async ({ language, locale, timezoneId }) => {
  const page = await browsing.open({ locale, timezoneId })
  await signIn(page, browsing.northwind.dana)
  await page.goto('/security')
  await chooseLanguage(page, language)
  const time = page.locator('local-time time').first()
  const moment = new Date((await time.getAttribute('datetime')) ?? '')
  const wanted = moment.toLocaleString(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: timezoneId })
  expect(await time.textContent()).toBe(wanted)
})

test('without JavaScript a time is shown in UTC', async () => {
  const page = await browsing.open({ javaScriptEnabled: false })
  await signIn(page, browsing.northwind.dana)
  await page.goto('/security')
  expect(await page.locator('local-time time').first().textContent()).toMatch(/UTC$/)
})

test('without JavaScript functions that need a script are not offered', needs('second_factor'), async () => {
  const page = await browsing.open({ javaScriptEnabled: false })
  await signIn(page, browsing.northwind.dana)
  await page.goto('/security/authenticator')
  expect(await page.getByRole('button', { name: t('elements.copy') }).count()).toBe(0)
})

/** A picture of noise, which no encoder makes small, drawn and encoded in the page. */
async function drawNoise(page: Page, type: string, width: number): Promise<Buffer> {
  const draw = ([format, side]: readonly [string, number]) => {
    const canvas = Object.assign(document.createElement('canvas'), { width: side, height: side / 2 })
    const drawn = canvas.getContext('2d')
    const noise = drawn?.createImageData(side, side / 2)
    for (let at = 0; noise && at < noise.data.length; at += 1) noise.data[at] = at % 4 === 3 ? 255 : Math.random() * 256
    if (noise) drawn?.putImageData(noise, 0, 0)
    return canvas.toDataURL(format)
  }
  const encoded = await page.evaluate(draw, [type, width] as const)
  expect(encoded).toContain(`data:${type};base64,`)
  return Buffer.from(encoded.slice(encoded.indexOf(',') + 1), 'base64')
}

/** Chooses a file as the logo of the account and sends it. */
async function sendLogo(page: Page, mimeType: string, buffer: Buffer): Promise<void> {
  await page.goto('/account/branding')
  await page.setInputFiles('#logo', { name: 'logo', mimeType, buffer })
  await page.getByRole('button', { name: t('branding.save'), exact: true }).click()
}

test.each(['image/jpeg', 'image/webp'])('a picture of the type %s becomes a PNG that is small enough', async (type) => {
  const { service, ann } = browsing.northwind
  const page = await browsing.open()
  await signIn(page, ann)
  await sendLogo(page, type, await drawNoise(page, type, 1600))
  await page.getByText(t('branding.saved')).waitFor()
  const [row] = await service.database.query<{ logo: Buffer }>(
    'select logo from accounts where id = (select account_id from users where id = $1)',
    [ann.id],
  )
  const [width = 0, height = 0] = [16, 20].map((at) => row?.logo.readUInt32BE(at))
  expect(row?.logo.subarray(1, 4).toString()).toBe('PNG')
  expect([width <= 1024, width >= 128, width / height]).toEqual([true, true, 2])
})

test('a file that the browser cannot decode is sent, and the page says what it needs', async () => {
  const page = await browsing.open()
  await signIn(page, browsing.northwind.ann)
  await sendLogo(page, 'image/tiff', Buffer.from('II*\0 and no more'))
  await page
    .getByText(t('picture.problem_format', { found: 'TIFF' }))
    .first()
    .waitFor()
})

test('without JavaScript the page asks for a PNG, and says so again for anything else', async () => {
  const drawing = await browsing.open()
  await signIn(drawing, browsing.northwind.ann)
  const jpeg = await drawNoise(drawing, 'image/jpeg', 64)
  const page = await browsing.openAlone({ javaScriptEnabled: false })
  await signIn(page, browsing.northwind.ann)
  await sendLogo(page, 'image/jpeg', jpeg)
  await page
    .getByText(t('picture.problem_format', { found: 'JPEG' }))
    .first()
    .waitFor()
  expect(await page.locator('#logo').getAttribute('accept')).toBe('image/png')
})
