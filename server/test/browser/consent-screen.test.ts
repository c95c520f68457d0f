/** Consent pages on the screen of a phone: what decides is in sight, and nothing dangerous can be overlooked. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { overhang } from '../rig/browser/chromium.ts'
import { chooseLanguage, enterCode, press, signIn } from '../rig/browser/clicks.ts'
import { everyAnswer } from '../rig/pages/every-answer.ts'
import { openViewers, type Viewers } from '../rig/pages/every-page.ts'
import { HAMBURG, LISBON } from '../rig/scenes/northwind.ts'

const browsing = useBrowsing()

const PHONE = { width: 390, height: 844 }
/** High enough for the answers to stay in sight, and too low for the rest. */
const LOW = { width: 390, height: 500 }

const ALLOW = 'button[name=decision][value=allow]'
const CANCEL = 'button[name=decision][value=cancel]'

async function openConsent(
  options: { from?: string; javaScriptEnabled?: boolean; language?: string } = {},
): Promise<Page> {
  const { northwind } = browsing
  const { from = HAMBURG, javaScriptEnabled = true, language } = options
  const page = await browsing.openAlone({ javaScriptEnabled, extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } })
  await page.setViewportSize(PHONE)
  await signIn(page, northwind.ben)
  if (language) await chooseLanguage(page, language)
  const { user_code } = await northwind.ask(northwind.applications.till, { from })
  await enterCode(page, user_code)
  return page
}

/** Selectors of what is not wholly in the window, or behind the answers. */
async function outOfSight(page: Page, selectors: readonly string[]): Promise<string[]> {
  const bar = (await page.locator('.sticky').boundingBox())?.y ?? 0
  const hidden: string[] = []
  for (const selector of selectors) {
    for (const each of await page.locator(selector).all()) {
      const box = await each.boundingBox()
      const within = selector === ALLOW || selector === CANCEL ? PHONE.height : bar
      if (!box || box.y < 0 || box.y + box.height > within) hidden.push(`${selector} ${JSON.stringify(box)}`)
    }
  }
  return hidden
}

describe('with three permissions at 390 by 844', () => {
  test.each(['en', 'de', 'es', 'ar'])(
    'who asks, the code, the permissions and both answers are in sight in %s',
    async (language) => {
      const page = await openConsent({ language })
      expect(await page.locator('.permissions > li').count()).toBe(3)
      expect(await outOfSight(page, ['h1', '.user-code', '.permissions > li', ALLOW, CANCEL])).toEqual([])
    },
  )

  test('text of twice the size overlaps nothing, and the answers take a third of the height at most', async () => {
    const page = await openConsent()
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    expect(await overhang(page)).toBe(0)
    const bar = await page.locator('.sticky').boundingBox()
    expect(bar?.height).toBeLessThanOrEqual(PHONE.height / 3)
    const [cancel, allow] = [await page.locator(CANCEL).boundingBox(), await page.locator(ALLOW).boundingBox()]
    expect((cancel?.y ?? 0) + (cancel?.height ?? 0)).toBeLessThanOrEqual(allow?.y ?? 0)
  })
})

test('every kind of request keeps its answers in sight, and folds no warning', async () => {
  const { northwind } = browsing
  const viewers: Viewers = await openViewers(northwind, () =>
    browsing.openAlone({ viewport: PHONE, extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } }),
  )
  const kinds = everyAnswer(northwind).filter(({ name }) => name.startsWith('consent-'))
  expect(kinds.length).toBeGreaterThanOrEqual(5)
  for (const { name, as, open, after } of kinds) {
    const page = viewers[as]
    await open(page)
    expect([name, ...(await outOfSight(page, [ALLOW, CANCEL]))]).toEqual([name])
    expect([name, await page.locator('details .must-see').count()]).toEqual([name, 0])
    await after?.()
  }
})

describe('what has to be seen', () => {
  test('is shown by the first press of Allow where it was not on the screen yet; the next one allows', async () => {
    const page = await openConsent()
    await page.setViewportSize(LOW)
    await page.reload()
    const dangerous = page.locator('.dangerous')
    expect(await outOfSight(page, ['.dangerous'])).toHaveLength(1)
    expect(await page.locator(ALLOW).getAttribute('aria-disabled')).toBe('true')
    await expect.poll(() => page.locator(CANCEL).getAttribute('aria-disabled')).toBe(null)
    // With the mouse itself: a locator would scroll first.
    const box = await page.locator(ALLOW).boundingBox()
    await page.mouse.click((box?.x ?? 0) + 20, (box?.y ?? 0) + 20)
    expect(await outOfSight(page, ['.dangerous'])).toEqual([])
    expect(await dangerous.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
    await expect.poll(() => page.locator(ALLOW).getAttribute('aria-disabled')).toBe(null)
    await press(page, ALLOW)
    expect(await page.locator('.sign.granted').count()).toBe(1)
  })

  test('is not passed by the keyboard either', async () => {
    const page = await openConsent()
    await page.setViewportSize(LOW)
    await page.reload()
    await page.locator(ALLOW).evaluate((button: HTMLElement) => button.focus({ preventScroll: true }))
    await page.keyboard.press('Enter')
    expect(await page.locator('.must-see:focus').count()).toBe(1)
  })

  test('includes the field for the last digits, which takes the focus', async () => {
    const page = await openConsent({ from: LISBON })
    await page.setViewportSize(LOW)
    await page.reload()
    for (let press = 0; press < 5 && (await page.locator('#last_group:focus').count()) === 0; press += 1) {
      await page.locator(ALLOW).evaluate((button: HTMLElement) => button.focus({ preventScroll: true }))
      await page.keyboard.press('Enter')
    }
    expect(await page.locator('#last_group:focus').count()).toBe(1)
    expect(await outOfSight(page, ['#last_group'])).toEqual([])
  })

  test('stands before the answers where there is no script', async () => {
    const page = await openConsent({ javaScriptEnabled: false })
    await page.setViewportSize(LOW)
    const [seen, answers] = [
      await page.locator('.dangerous').boundingBox(),
      await page.locator('.sticky').boundingBox(),
    ]
    expect(answers?.y).toBeGreaterThan((seen?.y ?? 0) + (seen?.height ?? 0))
    expect(answers?.y).toBeGreaterThan(LOW.height)
  })
})
