/** "Your device is connected": the page after "Access allowed" says so once the device has its credentials, in real Chromium. */
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { accessibilityProblems } from '../rig/browser/accessibility.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { decide, enterCode, signIn } from '../rig/browser/clicks.ts'
import type { CodeRecord } from '../rig/device.ts'

const { t } = wordsFor('en')

const browsing = useBrowsing()

const device = (variant: 'oauth' | 'key' = 'oauth') =>
  browsing.northwind.service.device(variant, browsing.northwind.applications.signage)
const connected = (page: Page) => page.getByText(t('decided.connected'))

async function openDecision(page: Page, code: CodeRecord): Promise<void> {
  await signIn(page, browsing.northwind.dana)
  await enterCode(page, code.user_code)
}

test.each(['oauth', 'key'] as const)(
  'the %s device holds a poll while the user clicks: the page says that it is connected',
  async (variant) => {
    const code = await device(variant).code()
    const page = await browsing.open()
    await openDecision(page, code)
    const poll = device(variant).poll(code.device_code, { prefer: 'wait=20' })
    await expect.poll(() => browsing.northwind.service.context.heldPolls.count).toBe(1)
    await decide(page, 'allow')
    await connected(page).waitFor()
    expect((await poll).status).toBe(200)
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(t('decided.granted'))
  },
)

test('until the device collects its credentials the page does not say so; then it does, to screen readers as well', async () => {
  const code = await device().code()
  const page = await browsing.open()
  await openDecision(page, code)
  await decide(page, 'allow')
  const status = page.getByRole('status')
  const asked = page.waitForResponse(/\/connect\/delivery/)
  expect(await (await asked).json()).toEqual({ connected: false })
  expect(await status.textContent()).toBe('You can now return to Acme Signage and close this page.')
  expect((await device().poll(code.device_code)).status).toBe(200)
  await status.getByText(t('decided.connected')).waitFor()
  expect(await accessibilityProblems(page)).toEqual([])
  const after: string[] = []
  page.on('request', (request) => after.push(request.url()))
  await page.waitForTimeout(1_500)
  expect(after, 'the page has stopped asking').toEqual([])
})

test('a page that is open for half a minute stops asking', async () => {
  const code = await device().code()
  const page = await browsing.openAlone()
  await page.clock.install()
  await openDecision(page, code)
  const asked: string[] = []
  page.on('request', (request) => request.url().includes('/connect/delivery') && asked.push(request.url()))
  await decide(page, 'allow')
  for (let second = 0; second < 45; second += 1) {
    await page.clock.runFor(1_000)
    await page.evaluate('fetch(location.href)')
  }
  expect(asked.length).toBeGreaterThan(20)
  expect(asked.length).toBeLessThan(35)
  const before = asked.length
  await page.clock.runFor(10_000)
  expect(asked.length).toBe(before)
})

test('without JavaScript a reload says it', async () => {
  const code = await device().code()
  const page = await browsing.open({ javaScriptEnabled: false })
  await openDecision(page, code)
  await decide(page, 'allow')
  await page.reload()
  expect(await connected(page).count()).toBe(0)
  expect((await device().poll(code.device_code)).status).toBe(200)
  // It is stored a moment after the answer was sent.
  await expect.poll(() => page.reload().then(() => connected(page).count())).toBe(1)
})
