/**
 * The dialog as people and applications meet it, in real Chromium: an application's page on an origin of its own opens the
 * window, and hears what became of it. docs/interface/dialog.md.
 */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { languages, wordsFor } from '../../src/pages/ui/words.ts'
import { overhang } from '../rig/browser/chromium.ts'
import { chooseLanguage, decide, press, pressAccount, submit } from '../rig/browser/clicks.ts'
import {
  answerAndClose,
  chooseAccount,
  type DialogPopup,
  goToQuestion,
  openPopup,
  type Steps,
  signInThere,
  stepsThatPart,
  useDialogBrowsing,
} from '../rig/browser/dialog-browsing.ts'
import { tabTo } from '../rig/browser/keyboard.ts'
import { startCookieChromium } from '../rig/browser/third-party-cookies.ts'
import { askMe } from '../rig/connect.ts'
import { post } from '../rig/device.ts'
import { makeAuthenticator } from '../rig/factors/second-factor.ts'
import { secondFactorOf } from '../rig/factors/second-factor-codes.ts'
import { needs } from '../rig/origins/needs.ts'
import { USERS_FROM } from '../rig/origins/users-from.ts'
import { PASSWORD } from '../rig/scenes/northwind.ts'

/** As the pages say it; what they say exactly may change without notice. */
const { t } = wordsFor('en')

const GRANTED = 'connected for orders:read,orders:write,displays:write'

const dialogs = useDialogBrowsing()
const { browsing } = dialogs

const heading = (page: Page) => page.getByRole('heading', { level: 1 })
const says = (page: Page, text: string) => page.locator('output, #outcome').getByText(text, { exact: true }).waitFor()

async function open(application = dialogs.inBrowser, options: BrowserContextOptions = {}): Promise<DialogPopup> {
  return openPopup(await browsing.open(options), application)
}

/** From the page of the host service, which does not know that its user is signed in now. */
async function chooseAgain(popup: Page): Promise<void> {
  await popup.goBack()
  await pressAccount(popup, 'button[name=account][value=northwind]')
}

/** What the page in the browser holds is worth something. */
async function expectWorkingTokens(page: Page): Promise<void> {
  const tokens = await page.evaluate<Record<string, string>>('tokens')
  const { status, body } = await askMe(browsing.northwind.service, tokens.access_token ?? '')
  expect(status).toBe(200)
  expect(body).toMatchObject({ account: 'northwind', application: dialogs.inBrowser.id })
}

describe('in a window that a click opened', () => {
  test('the user picks the account, signs in and allows; a public application exchanges the code in the browser', async () => {
    const { page, popup } = await open()
    await heading(popup).getByText('Parcel Desk wants to connect to your account').waitFor()
    await chooseAccount(popup)
    await signInThere(popup, browsing.northwind.ann)
    await heading(popup).getByText('Parcel Desk wants access to Northwind Traders').waitFor()
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED)
    expect(await page.evaluate('noticed')).toEqual(['answered'])
    await expectWorkingTokens(page)
  })

  test('an application with a secret exchanges the code on its server', async () => {
    const { ann } = browsing.northwind
    const { page, popup } = await open(dialogs.onServer)
    await goToQuestion(popup, ann)
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED.replaceAll(',', ' '))
    expect(dialogs.onServer.knows.at(-1)).toMatchObject({ user: ann.id, application: dialogs.onServer.id })
  })

  test.each(['inBrowser', 'onServer'] as const)('the user says no, and the application %s says so', async (which) => {
    const { page, popup } = await open(dialogs[which])
    await goToQuestion(popup, browsing.northwind.ben)
    await answerAndClose(popup, 'cancel')
    await says(page, 'not connected: access_denied')
  })

  test('the second time the account is one press away, and whoever is signed in is asked at once', async () => {
    const first = await open()
    await goToQuestion(first.popup, browsing.northwind.ann)
    await answerAndClose(first.popup, 'cancel')
    const { page, popup } = await openPopup(first.page, dialogs.onServer)
    await pressAccount(popup, 'button[name=account][value=northwind]')
    await heading(popup).getByText('Parcel Office wants access to').waitFor()
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED.replaceAll(',', ' '))
  })

  test('two applications ask at the same time, and each gets its own answer', async () => {
    const first = await open()
    await chooseAccount(first.popup)
    const page = await first.page.context().newPage()
    onTestFinished(() => page.close())
    const second = await openPopup(page, dialogs.onServer)
    await chooseAccount(second.popup)
    await signInThere(first.popup, browsing.northwind.ann)
    await (USERS_FROM === 'host' ? chooseAgain(second.popup) : second.popup.reload())
    await answerAndClose(second.popup, 'cancel')
    await answerAndClose(first.popup, 'allow')
    await says(first.page, GRANTED)
    await says(second.page, 'not connected: access_denied')
  })

  test('the application may send its request as a form', async () => {
    const { page, popup } = await openPopup(await browsing.open(), dialogs.inBrowser, { button: '#form' })
    await goToQuestion(popup, browsing.northwind.ann)
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED)
  })

  test('DG-22: whoever presses "Allow access" again while the answer is on its way has allowed it once, and the application hears of it', async () => {
    const { service, ida } = browsing.northwind
    const { page, popup } = await open()
    await goToQuestion(popup, ida)
    await popup.locator('button[value=allow]:not([aria-disabled])').waitFor()
    const box = await popup.locator('button[value=allow]').boundingBox()
    const pressAllow = () => popup.mouse.click((box?.x ?? 0) + 20, (box?.y ?? 0) + 20)
    const statuses: number[] = []
    // The first answer never arrives, as if the network were slow and the user impatient.
    await popup.route('**/dialog/decision', async (route) => {
      const form = Object.fromEntries(new URLSearchParams(route.request().postData() ?? ''))
      const { cookie = '', origin = '' } = await route.request().allHeaders()
      if (statuses.length > 0) return route.continue()
      const headers = { cookie, origin, host: new URL(origin).host }
      statuses.push((await post(service.address, '/dialog/decision', { form, headers })).status)
    })
    await pressAllow()
    await expect.poll(() => statuses).toEqual([303])
    await pressAllow()
    await page.locator('output, #outcome').getByText('connected for').waitFor()
    const grants = await service.database.query('select from grants where user_id = $1', [ida.id])
    expect(grants.length).toBe(1)
  })

  test(
    'with the keyboard alone one gets from the application to the decision, and always sees where one is',
    needs('second_factor'),
    async () => {
      const page = await browsing.open()
      await page.goto(dialogs.inBrowser.origin)
      await page.locator('#popup:enabled').waitFor()
      await page.keyboard.press('Tab')
      const [popup] = await Promise.all([page.waitForEvent('popup'), page.keyboard.press('Enter')])
      const { keyboard } = popup
      await popup.locator('#typed:focus').waitFor()
      await keyboard.type('northwind')
      await keyboard.press('Enter')
      await popup.locator('#email:focus').waitFor()
      await keyboard.type(browsing.northwind.ann.email)
      await tabTo(popup, t('sign_in.password'))
      await keyboard.type(PASSWORD)
      await keyboard.press('Enter')
      await popup.locator('#code:focus').waitFor()
      await keyboard.type((await secondFactorOf(browsing.northwind.ann.email)) ?? '')
      await keyboard.press('Enter')
      await heading(popup).getByText('Parcel Desk wants access to').waitFor()
      await tabTo(popup, t('consent.cancel'))
      expect(await tabTo(popup, t('consent.allow'))).toBe(1)
      await Promise.all([popup.waitForEvent('close'), keyboard.press('Enter')])
      await says(page, GRANTED)
    },
  )

  test('no page of the dialog needs JavaScript', async () => {
    const { page, popup } = await open()
    const devtools = await popup.context().newCDPSession(popup)
    await devtools.send('Emulation.setScriptExecutionDisabled', { value: true })
    await popup.reload()
    await chooseAccount(popup)
    expect(await popup.evaluate('customElements.get("passkey-button")')).toBeUndefined()
    await signInThere(popup, browsing.northwind.ann)
    // The page that comes after the answer is the application's own, and that does need it.
    await devtools.send('Emulation.setScriptExecutionDisabled', { value: false })
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED)
  })
})

describe('without a window of its own', () => {
  test('a public application’s page goes to the dialog and comes back with tokens; going back shows what became of it', async () => {
    const page = await browsing.open()
    await page.goto(dialogs.inBrowser.origin)
    await page.click('#here')
    await page.locator('#typed').waitFor()
    await goToQuestion(page, browsing.northwind.ann)
    const question = page.url()
    await decide(page, 'allow')
    await says(page, GRANTED)
    await expectWorkingTokens(page)
    await page.goBack()
    expect(page.url()).toBe(question)
    expect(await heading(page).textContent()).toBe(t('dialog_problem.answered'))
    expect(await page.locator('button[name=decision]').count()).toBe(0)
    // Before that, whoever signs in elsewhere was there.
    if (USERS_FROM !== 'own') return
    await page.goBack()
    expect(await heading(page).textContent()).toBe(t('dialog_problem.answered'))
  })

  test('nothing at all needs JavaScript where the application has a server', async () => {
    const { ann } = browsing.northwind
    const page = await browsing.open({ javaScriptEnabled: false })
    await page.goto(dialogs.onServer.origin)
    await press(page, '#here')
    await goToQuestion(page, ann)
    await decide(page, 'allow')
    await says(page, GRANTED.replaceAll(',', ' '))
    expect(dialogs.onServer.knows.at(-1)).toMatchObject({ user: ann.id })
  })
})

describe('DG-15: the application keeps hold of the window', () => {
  test('on the way to the page where users sign in, there, and back', async () => {
    const { dana, ben } = browsing.northwind
    const joined = await open()
    const { popup } = joined
    const steps: Steps = {
      'signing in': () => chooseAccount(popup),
      'the question': () => signInThere(popup, dana),
      '"Not you?"': () => submit(popup, '/dialog/switch'),
      'somebody else': () => signInThere(popup, ben),
    }
    expect(await stepsThatPart(joined, steps)).toEqual([])
    await heading(popup).getByText('Parcel Desk wants access to').waitFor()
  })

  test(
    'through every page of it, and notices when the user closes it, not before',
    needs('second_factor'),
    async () => {
      const { dana, ben, service } = browsing.northwind
      const authenticator = await makeAuthenticator(service, dana)
      const joined = await open()
      const { page, popup } = joined
      const steps: Steps = {
        'the first page': async () => {},
        'its problem': () => chooseAccount(popup, 'nowhere-at-all'),
        'its language': () => chooseLanguage(popup, 'de'),
        'signing in': () => chooseAccount(popup),
        'its language, too': () => chooseLanguage(popup, 'es'),
        'a wrong password': () => signInThere(popup, dana, 'not this one at all'),
        'the language of that': () => chooseLanguage(popup, 'ar'),
        'the second step': () => signInThere(popup, dana),
        'the language of the second step': () => chooseLanguage(popup, 'en'),
        'a wrong code': async () => {
          await popup.fill('#code', '12345')
          await submit(popup, '/sign-in/code')
        },
        'the question': async () => {
          await popup.fill('#code', await authenticator.code())
          await submit(popup, '/sign-in/code')
          await heading(popup).getByText('Parcel Desk wants access to').waitFor()
        },
        'its language as well': () => chooseLanguage(popup, 'en'),
        '"Not you?"': () => submit(popup, '/dialog/switch'),
        'a page that is not there': () => popup.goto(popup.url().replace('/sign-in?', '/dialog/nowhere?')),
        'the way back': () => popup.goBack(),
        'somebody else': () => signInThere(popup, ben),
      }
      expect(await stepsThatPart(joined, steps)).toEqual([])
      await popup.close()
      await says(page, 'the window was closed')
      expect(await page.evaluate('noticed')).toEqual(['closed'])
    },
  )

  test('which it would lose on a page with the policy of all other pages', async () => {
    const { page, popup } = await open()
    await chooseAccount(popup)
    const headers = { 'content-type': 'text/html', 'cross-origin-opener-policy': 'same-origin' }
    await popup.route('**/sign-in?*', (route) => route.fulfill({ headers, body: '<!doctype html>' }))
    await popup.reload()
    await says(page, 'the window was closed')
  })

  test('and every other page lets go of whoever opened it', async () => {
    const { origin } = browsing.northwind
    const page = await browsing.open()
    await page.goto(dialogs.inBrowser.origin)
    const [other] = await Promise.all([
      page.waitForEvent('popup'),
      page.evaluate(`void (globalThis.popup = open('${origin}/sign-in', 'other', 'popup'))`),
    ])
    onTestFinished(() => other.close())
    await other.locator('#email').waitFor()
    expect(await other.evaluate('opener')).toBeNull()
    expect(await page.evaluate('popup.closed')).toBe(true)
  })
})

async function addFrame(page: Page, address: string): Promise<void> {
  await page.evaluate((src) => {
    document.body.append(Object.assign(document.createElement('iframe'), { src }))
  }, address)
}

describe.each(['allowed', 'blocked'] as const)('with third-party cookies %s', (cookies) => {
  test('DG-14: the dialog works in a window, and is not shown in a frame', async () => {
    const chromium = await startCookieChromium(cookies)
    onTestFinished(() => chromium.stop())
    await chromium.page.goto(dialogs.inBrowser.origin)
    await addFrame(chromium.page, `${browsing.northwind.service.config.publicUrl}/activate`)
    await expect.poll(() => chromium.page.frames()[1]?.url()).toBe('chrome-error://chromewebdata/')
    const { page, popup } = await openPopup(chromium.page, dialogs.inBrowser)
    expect(await chromium.sendsThirdPartyCookies()).toBe(cookies === 'allowed')
    await goToQuestion(popup, browsing.northwind.ann)
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED)
    await expectWorkingTokens(page)
  })
})

describe('in 480 by 640 pixels', () => {
  test.each(languages)(
    'the question has both answers in sight, and no page is too wide, in $name',
    async ({ code }) => {
      const { popup } = await open()
      const wide: string[] = []
      const measure = async (step: string) => {
        if ((await overhang(popup)) > 0) wide.push(step)
      }
      expect(await popup.evaluate('[innerWidth, innerHeight]')).toEqual([480, 640])
      await chooseLanguage(popup, code)
      await measure('the first page')
      await chooseAccount(popup)
      const here = (await popup.locator('form[action="/sign-in"]').count()) > 0
      if (here) await chooseLanguage(popup, code)
      await measure('signing in')
      // Ben lacks permissions, so there is more to say.
      await signInThere(popup, browsing.northwind.ben)
      await chooseLanguage(popup, code)
      await measure('the question')
      expect(wide).toEqual([])
      for (const where of ['0', 'document.body.scrollHeight']) {
        await popup.evaluate(`scrollTo(0, ${where})`)
        for (const answer of ['cancel', 'allow']) {
          const box = await popup.locator(`button[value=${answer}]`).boundingBox()
          expect(box?.y).toBeGreaterThan(0)
          expect((box?.y ?? 640) + (box?.height ?? 0)).toBeLessThanOrEqual(640)
        }
      }
    },
  )
})
