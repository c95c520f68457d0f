/** The television in real Chromium, and its user's account in a second window. */
import type { Page } from 'playwright-core'
import { renderSVG } from 'uqr'
import { expect, onTestFinished, test } from 'vitest'
import { accessibilityProblems } from '../../server/test/rig/browser/accessibility.ts'
import { useBrowsing } from '../../server/test/rig/browser/browsing.ts'
import { overhang } from '../../server/test/rig/browser/chromium.ts'
import { decide } from '../../server/test/rig/browser/clicks.ts'
import { startNorthwind } from '../../server/test/rig/scenes/northwind.ts'
import { pressOk, SOFA, startTelevision, type Television, takeCodeToAccount } from './rig/television.ts'

const browsing = useBrowsing(() => startNorthwind({ POLL_INTERVAL: '1' }, { clock: true }))

const heading = (page: Page, text: string) => page.getByRole('heading', { level: 1, name: text })
const codes = async () => (await browsing.northwind.service.database.query('select from device_codes')).length

async function start(): Promise<Television> {
  const television = await startTelevision(browsing.northwind)
  onTestFinished(television.stop)
  return television
}

async function switchOn(): Promise<Page> {
  const television = await start()
  const screen = await browsing.openAlone({ ...SOFA, baseURL: television.address })
  await screen.goto('/')
  return screen
}

test('the user enters the television’s code, grants it, and the television is connected', async () => {
  const { northwind } = browsing
  const screen = await switchOn()
  await heading(screen, 'Your orders, on the big screen').waitFor()
  await pressOk(screen, 'code')
  expect(await screen.locator('#digits').textContent()).toMatch(/^\d{3} \d{3} \d{3}$/)
  expect(await screen.locator('#left').textContent()).toMatch(/^Valid for (10:00|9:5\d)$/)
  const { publicUrl } = northwind.service.config
  const src = (await screen.locator('#qr').getAttribute('src')) ?? ''
  expect(decodeURIComponent(src)).toContain(renderSVG(`${publicUrl}/activate`, { border: 2 }))

  const page = await browsing.openAlone()
  await takeCodeToAccount(page, screen, northwind.slug, northwind.dana)
  await heading(page, 'Acme Television wants access to Northwind Traders').waitFor()
  expect(await page.locator('main').textContent()).toContain('Acme Television (living room)')
  await decide(page, 'allow')

  await heading(screen, 'Connected').waitFor()
  expect(await screen.locator('#connected').textContent()).toContain(northwind.slug)
  expect(await screen.locator('#connected').textContent()).toContain('orders:read, displays:write')
  // A screen opened later shows the same.
  await screen.reload()
  await heading(screen, 'Connected').waitFor()

  await pressOk(screen, 'welcome')
  await page.goto('/applications')
  expect(await page.locator('main').textContent()).not.toContain('Acme Television')
})

test('the remaining time is shown, and an expired code is not replaced until the user asks', async () => {
  const screen = await switchOn()
  await pressOk(screen, 'code')
  const shown = await screen.locator('#left').textContent()
  await expect.poll(() => screen.locator('#left').textContent(), { timeout: 30_000 }).not.toBe(shown)
  const before = await codes()
  await browsing.northwind.service.database.advance(601_000)
  await heading(screen, 'The code has expired').waitFor()
  expect(await codes()).toBe(before)
  await pressOk(screen, 'code')
  expect(await codes()).toBe(before + 1)

  const { northwind } = browsing
  const page = await browsing.openAlone()
  await takeCodeToAccount(page, screen, northwind.slug, northwind.dana)
  await decide(page, 'cancel')
  await heading(screen, 'Not connected').waitFor()
  expect(await codes()).toBe(before + 1)
})

test('every screen is accessible, and nothing overflows', async () => {
  const screen = await switchOn()
  const look = async () => [...(await accessibilityProblems(screen)), await overhang(screen)]
  const seen = [await look()]
  await pressOk(screen, 'code')
  seen.push(await look())
  expect(await screen.evaluate('document.documentElement.scrollHeight')).toBe(SOFA.viewport.height)
  await browsing.northwind.service.database.advance(601_000)
  await heading(screen, 'The code has expired').waitFor()
  seen.push(await look())
  expect(seen.flat()).toEqual([0, 0, 0])
})

test('another site cannot press the button', async () => {
  const television = await start()
  const before = await codes()
  for (const site of ['cross-site', 'same-site']) {
    const response = await fetch(`${television.address}/connect`, {
      method: 'POST',
      headers: { 'sec-fetch-site': site },
    })
    expect(response.status).toBe(403)
  }
  expect(await codes()).toBe(before)
})
