/** Simulates the user Ann in a browser: sets a password, enters codes and grants them. */
import type { Page } from 'playwright-core'
import { decide, press, submit } from '../server/test/rig/browser/clicks.ts'

const EMAIL = 'ann@acme.example'
const PASSWORD = 'four quiet lighthouses'

export type FirstPerson = {
  choosePassword(link: string): Promise<void>
  /** Opens the verification page, selects the account and signs in. Ends on the code page. */
  beginAt(address: string, account: string): Promise<void>
  allow(code: string): Promise<void>
}

export function createFirstPerson(page: Page): FirstPerson {
  return {
    choosePassword: async (link) => {
      await page.goto(link)
      await page.fill('#password', PASSWORD)
      await page.fill('#again', PASSWORD)
      await submit(page, '/link')
    },
    beginAt: async (address, account) => {
      await page.goto(address)
      await page.fill('#typed', account)
      await press(page, 'form[action="/activate"]:has(#typed) button[type=submit]')
      if ((await page.locator('#email').count()) === 0) return
      await page.fill('#email', EMAIL)
      await page.fill('#password', PASSWORD)
      await submit(page, '/sign-in')
    },
    allow: async (code) => {
      await page.goto(new URL('/connect/code', page.url()).href)
      await page.fill('#app-code', code)
      await submit(page, '/connect/code')
      await decide(page, 'allow')
    },
  }
}
