/** /reference, in real Chromium: for a developer who reads it on any screen, in any language around it, without a script. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeRoutes } from '../../src/http/openapi/document.ts'
import { routes } from '../../src/http/routes.ts'
import { accessibilityProblems, contrastProblems, problemsExceptContrast } from '../rig/browser/accessibility.ts'
import { type Chromium, overhang, startChromium, watchViolations } from '../rig/browser/chromium.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let chromium: Chromium
beforeAll(async () => {
  chromium = await startChromium()
  service = await startTestService()
})
afterAll(async () => {
  await chromium?.close()
  await service?.stop()
})

const read = (page: Page) => page.goto(`${service.config.publicUrl}/reference`)

/** Colours are the same at every width and in every language, and take axe longer than all the rest. */
async function problemsWithColours(page: Page): Promise<readonly string[]> {
  const light = await accessibilityProblems(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  return [...light, ...(await contrastProblems(page))]
}

test.each([
  [1280, 'en-GB', 'in light and dark', problemsWithColours],
  [480, 'en-GB', 'whatever the colours', problemsExceptContrast],
  [1280, 'ar-EG', 'whatever the colours', problemsExceptContrast],
] as const)(
  '%i pixels wide, %s: nothing hangs over, axe finds nothing, %s',
  async (width, locale, _colours, problemsOf) => {
    const page = await chromium.open({ viewport: { width, height: 900 }, locale, colorScheme: 'light' })
    const violations = watchViolations(page)
    expect((await read(page))?.status()).toBe(200)
    expect(await overhang(page)).toBe(0)
    expect([...(await problemsOf(page)), ...violations]).toEqual([])
    await page.context().close()
  },
)

test('without a script every operation is there, in the order of the table, with its commands and refusals', async () => {
  const page = await chromium.open({ javaScriptEnabled: false })
  await read(page)
  const shown = await page.locator('article').evaluateAll((articles) => articles.map(({ id }) => id))
  const { paths } = describeRoutes(routes, service.config.publicUrl)
  const described = Object.values(paths).flatMap(({ get, post }) => [get, post].filter((each) => each !== undefined))
  const ids = described.map(({ operationId }) => operationId).filter((id) => !id.endsWith('InXml'))
  expect(shown.toSorted()).toEqual(ids.toSorted())
  expect(shown).toEqual(routes.flatMap(({ operation }) => operation?.id ?? []))
  const poll = page.locator('#pollForTokenSet')
  expect(await poll.textContent()).toContain(`curl ${service.config.publicUrl}/auth/oauth/device/polling \\`)
  expect(await poll.locator('dt').allInnerTexts()).toEqual(
    expect.arrayContaining([expect.stringMatching(/^auth_pending HTTP 400/), expect.stringMatching(/^access_token/)]),
  )
  await page.context().close()
})

test('every link of the contents leads to its operation, and a command can be copied', async () => {
  const page = await chromium.open({ permissions: ['clipboard-read', 'clipboard-write'] })
  await read(page)
  const lost = await page.evaluate<string[]>(
    '[...document.querySelectorAll(\'main a[href^="#"]\')].map((link) => link.hash).filter((id) => !document.querySelector(id))',
  )
  expect(lost).toEqual([])
  await page.locator('#checkLive copy-button button').click()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(`curl ${service.config.publicUrl}/health/live`)
  await page.context().close()
})
