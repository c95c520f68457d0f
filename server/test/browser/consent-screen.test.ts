/** Consent pages on the screen of a phone: what decides is in sight, and nothing dangerous can be overlooked. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { overhang } from '../rig/browser/chromium.ts'
import { chooseLanguage, enterCode, press, readAll, signIn } from '../rig/browser/clicks.ts'
import { chooseAccount } from '../rig/browser/dialog-browsing.ts'
import { CALLBACK, type MadeApplication, type MadeUser, makeApplication, makeUser } from '../rig/make.ts'
import { everyAnswer } from '../rig/pages/every-answer.ts'
import { openViewers, type Viewers } from '../rig/pages/every-page.ts'
import { HAMBURG, LISBON, PASSWORD } from '../rig/scenes/northwind.ts'

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
    const [first] = await page.locator('.permissions > li').all()
    expect(await outOfSight(page, ['.dangerous'])).toHaveLength(1)
    expect(await page.locator(ALLOW).getAttribute('aria-disabled')).toBe('true')
    await expect.poll(() => page.locator(CANCEL).getAttribute('aria-disabled')).toBe(null)
    await clickAllow(page)
    expect(await outOfSight(page, ['#can', '.permissions > li'])).toEqual([])
    expect(await first?.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
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
    await readAll(page, '.must-see:not(:has(#last_group))', 'end')
    await page.locator(ALLOW).evaluate((button: HTMLElement) => button.focus({ preventScroll: true }))
    await page.keyboard.press('Enter')
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

describe('with five permissions', () => {
  const SCOPES = ['orders:read', 'orders:write', 'stock:read', 'displays:write', 'invoices:read']
  const SCREENS = [
    { width: 390, height: 844 },
    { width: 390, height: 667 },
    { width: 1280, height: 720 },
    { width: 1366, height: 650 },
    { width: 1440, height: 900 },
  ].map((screen) => ({ ...screen, name: `${screen.width} by ${screen.height}` }))
  let application: MadeApplication
  let user: MadeUser

  beforeAll(async () => {
    const { service, slug } = browsing.northwind
    const { db, applications } = service.context
    const wanted = { name: 'Field Service', allowedScopes: SCOPES, defaultScopes: SCOPES, redirectUris: [CALLBACK] }
    application = await makeApplication(db, service.config, 'makers', wanted)
    await applications.refresh()
    user = await makeUser(db, slug, { holds: SCOPES, password: PASSWORD })
  })

  const deviceFlow = async (page: Page) => {
    const { user_code } = await browsing.northwind.ask(application)
    await enterCode(page, user_code)
  }
  const dialog = async (page: Page) => {
    const query = new URLSearchParams({
      client_id: application.id,
      response_type: 'code',
      redirect_uri: CALLBACK,
      scope: SCOPES.join(','),
    })
    await page.goto(`${browsing.northwind.service.config.publicUrl}/1/auth/oauth/authorize?${query}`)
    await chooseAccount(page)
  }

  /** Moves focus to the answer as the keyboard does, which scrolls. */
  const tabToAllow = async (page: Page) => {
    for (let tabs = 0; (await page.locator(`${ALLOW}:focus`).count()) === 0; tabs += 1) {
      if (tabs === 20) throw new Error('the keyboard does not reach the answer')
      await page.keyboard.press('Tab')
    }
  }
  const WAYS = {
    mouse: { reach: async () => {}, press: clickAllow },
    keyboard: { reach: tabToAllow, press: (page: Page) => page.keyboard.press('Enter') },
  }

  const cases = SCREENS.flatMap((screen) =>
    Object.entries({ 'the device flow': deviceFlow, 'the dialog': dialog }).flatMap(([flow, open]) =>
      Object.entries(WAYS).map(([by, way]) => ({ ...screen, ...way, flow, open, by })),
    ),
  )

  test.each(cases)('at $name in $flow, nobody allows by $by what was not on the screen', async (each) => {
    const { width, height, open, reach, press } = each
    const page = await browsing.openAlone({
      viewport: { width, height },
      extraHTTPHeaders: { 'x-forwarded-for': HAMBURG },
    })
    await page.route(`${CALLBACK}**`, (route) => route.fulfill({ body: 'connected' }))
    await signIn(page, user)
    await open(page)
    expect(await page.locator('.permissions > li').count()).toBe(SCOPES.length)
    const seen = new Set<string>()
    for (let answers = 0; answers < 3 && (await page.locator(ALLOW).count()) > 0; answers += 1) {
      await expect.poll(() => page.locator(CANCEL).getAttribute('aria-disabled')).toBe(null)
      await reach(page)
      for (const permission of await inSight(page)) seen.add(permission)
      const allowed = (await page.locator(ALLOW).getAttribute('aria-disabled')) === null
      await (allowed ? Promise.all([page.waitForEvent('load'), press(page)]) : press(page))
    }
    expect([...seen]).toHaveLength(SCOPES.length)
    expect(await page.locator(ALLOW).count()).toBe(0)
  })
})

/** With the mouse itself: a locator would scroll first. */
async function clickAllow(page: Page): Promise<void> {
  const box = await page.locator(ALLOW).boundingBox()
  await page.mouse.click((box?.x ?? 0) + 20, (box?.y ?? 0) + 20)
}

/** Permissions that end within the window, and not behind the answers. */
async function inSight(page: Page): Promise<string[]> {
  const bar = (await page.locator('.sticky').boundingBox())?.y ?? 0
  const shown: string[] = []
  for (const each of await page.locator('.permissions > li').all()) {
    const box = await each.boundingBox()
    if (box && box.y >= 0 && box.y + box.height <= bar) shown.push((await each.textContent()) ?? '')
  }
  return shown
}
