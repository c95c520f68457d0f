/** Tests of the dialog in real Chromium: Northwind, two applications with web sites of their own, and their popups. */
import type { Page } from 'playwright-core'
import { afterAll, expect, onTestFinished } from 'vitest'
import { type MadeUser, makeApplication } from '../make.ts'
import { type PopupApplication, startPopupApplication } from '../network/popup-application.ts'
import { type Northwind, PASSWORD, startNorthwind } from '../scenes/northwind.ts'
import { type Browsing, useBrowsing } from './browsing.ts'
import { watchViolations } from './chromium.ts'
import { pressAccount, readAll, signInHere } from './clicks.ts'

export type DialogBrowsing = {
  readonly browsing: Browsing
  /** A public application that runs in the browser only. */
  readonly inBrowser: PopupApplication
  /** A confidential application: its server keeps the secret. */
  readonly onServer: PopupApplication
}

const SCOPES = ['orders:read', 'orders:write', 'displays:write']

export function useDialogBrowsing(): DialogBrowsing {
  let inBrowser: PopupApplication
  let onServer: PopupApplication
  const browsing = useBrowsing(async () => {
    const northwind = await startNorthwind()
    inBrowser = await registerPopup(northwind, { name: 'Parcel Desk', public: true })
    onServer = await registerPopup(northwind, { name: 'Parcel Office' })
    return northwind
  })
  afterAll(async () => {
    await inBrowser?.stop()
    await onServer?.stop()
  })
  return {
    browsing,
    get inBrowser() {
      return inBrowser
    },
    get onServer() {
      return onServer
    },
  }
}

export async function registerPopup(
  { service, slug }: Northwind,
  given: Parameters<typeof makeApplication>[3],
): Promise<PopupApplication> {
  const { context, config } = service
  return startPopupApplication(config.publicUrl, async (callback) => {
    const wish = { deviceFlow: false, allowedScopes: SCOPES, defaultScopes: SCOPES, redirectUris: [callback], ...given }
    const made = await makeApplication(context.db, config, slug, wish)
    await context.applications.refresh()
    return made
  })
}

export type DialogPopup = {
  /** The application's page. */
  readonly page: Page
  readonly popup: Page
}

type HowOpened = {
  readonly button?: '#popup' | '#form'
  /** Only for tests that violate a content security policy on purpose. */
  readonly violations?: 'expected'
}

/** Clicks the application's button. Any error in the popup fails the test. */
export async function openPopup(page: Page, application: PopupApplication, how: HowOpened = {}): Promise<DialogPopup> {
  await page.goto(application.origin)
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click(how.button ?? '#popup')])
  const violations = watchViolations(popup)
  onTestFinished(async () => {
    await popup.close()
    if (how.violations !== 'expected') expect(violations).toEqual([])
  })
  await popup.locator('#typed').waitFor()
  return { page, popup }
}

export async function chooseAccount(popup: Page, typed = 'northwind'): Promise<void> {
  await popup.fill('#typed', typed)
  await pressAccount(popup, 'form:has(#typed) button[type=submit]')
}

export async function signInThere(popup: Page, user: MadeUser, password = PASSWORD): Promise<void> {
  await signInHere(popup, user, password)
}

/** From the first page to the consent page. */
export async function goToQuestion(popup: Page, user: MadeUser): Promise<void> {
  await chooseAccount(popup)
  await signInThere(popup, user)
}

/** The callback page of the application has received the answer and closes the popup. */
export async function answerAndClose(popup: Page, decision: 'allow' | 'cancel'): Promise<void> {
  await readAll(popup)
  await Promise.all([popup.waitForEvent('close'), popup.click(`button[name=decision][value=${decision}]`)])
}

/** Whether application and popup still have references to each other. */
async function areJoined({ page, popup }: DialogPopup): Promise<boolean> {
  const open = await page.evaluate<boolean>('!popup.closed && noticed.length === 0')
  return open && (await popup.evaluate<boolean>('opener !== null'))
}

/** What users do in the popup, by name, in order. */
export type Steps = Readonly<Record<string, () => Promise<unknown>>>

/** The steps after which application and popup no longer reference each other. */
export async function stepsThatPart(dialog: DialogPopup, steps: Steps): Promise<string[]> {
  const parting: string[] = []
  for (const [step, act] of Object.entries(steps)) {
    await act()
    if (!(await areJoined(dialog))) parting.push(step)
  }
  return parting
}
