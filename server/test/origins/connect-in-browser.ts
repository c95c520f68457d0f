/** A user grants a device in real Chromium. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { decide, submit } from '../rig/browser/clicks.ts'
import { Device } from '../rig/device.ts'
import { makeApplication } from '../rig/make.ts'
import type { Harness } from './harness.ts'
import { SCOPE } from './watch.ts'

const POLLS = 20

/** Every process knows a new application by then. */
const KNOWN_AFTER_MS = 2_000

/**
 * Each time with another application: the tenth user who connects one application in ten minutes has to sign in again.
 * `signIn` begins where the account's pages send a browser without a session. Returns the access token.
 */
export async function connectInBrowser(harness: Harness, page: Page, signIn: () => Promise<void>): Promise<string> {
  const application = await makeApplication(harness.context.db, harness.config, harness.account.slug)
  const known = sleep(KNOWN_AFTER_MS)
  await page.goto('/connect/code')
  await signIn()
  await known
  const device = new Device(harness.addresses[0] ?? '', application)
  const code = await device.code({ scope: SCOPE })
  await page.waitForURL(`${harness.origin}/connect/code`)
  await page.fill('#app-code', code.user_code)
  await submit(page, '/connect/code')
  await decide(page, 'allow')
  for (let polls = 1; polls <= POLLS; polls += 1) {
    const { body } = await device.poll(code.device_code)
    if (body.access_token) return body.access_token
    await sleep(1_000)
  }
  throw new Error('the device was not granted access')
}

/** The header with which this window sends its cookies. */
export async function cookieOf(page: Page, origin: string): Promise<string> {
  return (await page.context().cookies(origin)).map(({ name, value }) => `${name}=${value}`).join('; ')
}
