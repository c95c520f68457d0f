/** What a person does on the pages, whatever language they are in: by the names of fields and buttons, which never change. */
import type { Page } from 'playwright-core'
import type { MadeUser } from './make.ts'
import { PASSWORD } from './northwind.ts'

/** Presses what leads to another page, or to the same one again, and waits until that is there. */
export async function press(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.locator(selector).click()])
}

/** The button of the form with this action. */
export function submit(page: Page, action: string): Promise<void> {
  return press(page, `form[action="${action}"] button[type=submit]`)
}

export async function signIn(page: Page, user: MadeUser, password = PASSWORD): Promise<void> {
  await page.goto('/sign-in')
  await page.fill('#email', user.email)
  await page.fill('#password', password)
  await submit(page, '/sign-in')
}

/** Ends on the consent page, unless something is wrong with the code. */
export async function enterCode(page: Page, code: string): Promise<void> {
  await page.goto('/connect/code')
  await page.fill('#app-code', code)
  await submit(page, '/connect/code')
}

export function decide(page: Page, decision: 'allow' | 'cancel' | 'not_me'): Promise<void> {
  return press(page, `button[name=decision][value=${decision}]`)
}

export function chooseLanguage(page: Page, language: string): Promise<void> {
  return press(page, `button[name=language][value=${language}]`)
}
