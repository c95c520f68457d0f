/** Actions of a user on the pages, in any language: by the names of fields and buttons, which are not translated. */
import type { Page } from 'playwright-core'
import { secondFactorOf } from '../factors/second-factor-codes.ts'
import type { MadeUser } from '../make.ts'
import { USERS_FROM } from '../origins/users-from.ts'
import { PASSWORD } from '../scenes/northwind.ts'

/** Clicks a link or a button and waits for the navigation. */
export async function press(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.locator(selector).click()])
}

/** Chooses an account on the service's own host. With a host service, the page that follows goes on by itself. */
export async function pressAccount(page: Page, selector: string): Promise<void> {
  const { host } = new URL(page.url())
  await press(page, selector)
  const refused = (await page.locator('[role=alert]').count()) > 0
  if (USERS_FROM === 'host' && !refused) await page.waitForURL((url) => url.host !== host)
}

/** Submit button of the form with this action. */
export function submit(page: Page, action: string): Promise<void> {
  return press(page, `form[action="${action}"] button[type=submit]`)
}

/** Opens a page, fills in its form with this action, by the ids of the fields, and submits it. */
export async function send(
  page: Page,
  path: string,
  action: string,
  values: Readonly<Record<string, string>>,
): Promise<void> {
  await page.goto(path)
  for (const [id, value] of Object.entries(values)) await page.fill(`form[action="${action}"] #${id}`, value)
  await submit(page, action)
}

/** At the window's own account, unless another one is given. */
export async function signIn(page: Page, user: MadeUser, password = PASSWORD, at = ''): Promise<void> {
  await page.goto(`${at}/sign-in`)
  await signInHere(page, user, password)
}

/** On the sign-in page that is shown: ours, or the one where the user comes from. */
export async function signInHere(page: Page, user: MadeUser, password = PASSWORD): Promise<void> {
  if (USERS_FROM !== 'own' && (await signInElsewhere(page, user))) return
  await page.fill('#email', user.email)
  await page.fill('#password', password)
  await submit(page, '/sign-in')
  await proveSecondFactor(page, user)
}

/** Links to the identity provider and to the host service. */
const EXTERNAL_SIGN_IN = 'a[href^="/sign-in/provider"], a[href*="challenge="]'
const ELSEWHERE = 'form#elsewhere'

/** False: users of this account sign in here. */
async function signInElsewhere(page: Page, { email }: MadeUser): Promise<boolean> {
  if ((await page.locator(EXTERNAL_SIGN_IN).count()) > 0) await press(page, EXTERNAL_SIGN_IN)
  if ((await page.locator(ELSEWHERE).count()) === 0) return false
  await page.fill('#email', email)
  await press(page, `${ELSEWHERE} button`)
  return true
}

/** Waits until the window asks its user to sign in: on our page, or where the user comes from. */
export function isAskedToSignIn(page: Page): Promise<void> {
  return page.locator(`form[action="/sign-in"], ${ELSEWHERE}, ${EXTERNAL_SIGN_IN}`).first().waitFor()
}

/** On the page that asks for a recent sign-in. */
export async function confirm(page: Page, user: MadeUser, password = PASSWORD): Promise<void> {
  if (USERS_FROM !== 'own' && (await signInElsewhere(page, user))) return
  await page.fill('#password', password)
  await submit(page, '/confirm')
}

/** Completes the sign-in of a user whom the rig has given an authenticator. */
async function proveSecondFactor(page: Page, user: Pick<MadeUser, 'email'>): Promise<void> {
  const code = page.url().includes('/sign-in/code') ? await secondFactorOf(user.email) : null
  if (code === null) return
  await page.fill('#code', code)
  await submit(page, '/sign-in/code')
}

/** Ends on the consent page, unless the code is refused. */
export async function enterCode(page: Page, code: string): Promise<void> {
  await page.goto('/connect/code')
  await page.fill('#app-code', code)
  await submit(page, '/connect/code')
}

/** Has everything on the screen once that the page demands of whoever allows. The page notices in the frame after a scroll. */
export async function readAll(page: Page, selector = '.must-see', block: 'center' | 'end' = 'center'): Promise<void> {
  for (const each of await page.locator(`.consent:has(steady-answers:defined) ${selector}`).all())
    await each.evaluate((element, at) => {
      element.scrollIntoView({ block: at })
      return new Promise(requestAnimationFrame)
    }, block)
}

export async function decide(page: Page, decision: 'allow' | 'cancel' | 'not_me'): Promise<void> {
  await readAll(page)
  await press(page, `button[name=decision][value=${decision}]`)
}

export async function chooseLanguage(page: Page, language: string): Promise<void> {
  const menu = page.locator('.languages-menu:not([open]) > summary')
  if ((await menu.count()) > 0) await menu.click()
  return press(page, `button[name=language][value=${language}]`)
}

export type Registration = {
  readonly name: string
  readonly kind?: 'device' | 'web' | 'page'
  /** By the scope's name. */
  readonly uses?: Readonly<Record<string, 'no' | 'may' | 'default' | 'required'>>
  /** One per line. */
  readonly redirects?: string
}

/** Not the button that goes back. */
const CONTINUE_BUTTON = 'form[action="/developer/new"] button.button'

/** Fills in step by step, up to the first step without a value or with a problem. */
export async function registerApplication(page: Page, { name, kind, uses, redirects }: Registration): Promise<void> {
  await page.goto('/developer/new')
  await page.fill('#name', name)
  if (kind) await page.check(`#kind-${kind}`)
  await press(page, CONTINUE_BUTTON)
  if (!uses || (await page.locator('select').count()) === 0) return
  for (const [scope, use] of Object.entries(uses)) await page.selectOption(`select[name="use.${scope}"]`, use)
  await press(page, CONTINUE_BUTTON)
  if (redirects === undefined || (await page.locator('#redirects').count()) === 0) return
  await page.fill('#redirects', redirects)
  await press(page, CONTINUE_BUTTON)
}
