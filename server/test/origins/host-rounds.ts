/** Rounds with users of the example service: an owner there takes a permission from a user, or dismisses them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { Chromium } from '../rig/browser/chromium.ts'
import { connectInBrowser, cookieOf } from './connect-in-browser.ts'
import type { Harness } from './harness.ts'
import { placesOfCredential, placesOfSession, type Watched, watchChange } from './watch.ts'

const PASSWORD = 'a quiet green harbour'

/** Longer than clocks may differ: until then, a statement could be older than the change. */
const STATEMENT_REST_MS = 6_500

export type HostRounds = { round(kind: 'permission' | 'dismissed'): Promise<Watched> }

export async function hostRounds(harness: Harness, chromium: Chromium): Promise<HostRounds> {
  const owner = await chromium.open({ baseURL: harness.own })
  await owner.goto('/sign-in?next=/team')
  await signIn(owner, 'ada@own.example')
  let restoredAt = -STATEMENT_REST_MS

  /** The window of the owner shows the team. */
  const choose = async (role: string) => {
    await Promise.all([owner.waitForEvent('load'), owner.getByRole('button', { name: role }).click()])
    await owner.getByText(`Bob: ${role}`).waitFor()
  }
  return {
    round: async (kind) => {
      await sleep(Math.max(0, restoredAt + STATEMENT_REST_MS - performance.now()))
      const page = await chromium.open({ baseURL: harness.origin })
      const credential = await connectInBrowser(harness, page, () => signIn(page, 'bob@own.example'))
      const sessions = kind === 'dismissed' ? placesOfSession(harness, await cookieOf(page, harness.origin)) : []
      const places = [...placesOfCredential(harness, credential), ...sessions]
      const watched = await watchChange(places, () => choose(kind === 'permission' ? 'guest' : 'dismissed'))
      await page.context().close()
      await choose('clerk')
      restoredAt = performance.now()
      return watched
    },
  }
}

/** At the example service, whose form the window shows or is about to. */
async function signIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Sign in' }).click()])
}
