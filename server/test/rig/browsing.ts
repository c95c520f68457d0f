/** For a test file: Northwind and a Chromium for all of it, a window for each case; and no page may violate its own policy. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { type Chromium, startChromium, watchViolations } from './chromium.ts'
import { type Northwind, startNorthwind } from './northwind.ts'

export type Browsing = {
  readonly northwind: Northwind
  readonly chromium: Chromium
  /** A window without a cookie, at Northwind's address. */
  open(options?: BrowserContextOptions): Promise<Page>
  /** The same, for cases that change more about a window than its cookies: it is closed when the case is over. */
  openAlone(options?: BrowserContextOptions): Promise<Page>
}

/** A window that was used before. To start one costs as much as twenty pages. */
type Used = { readonly page: Page; readonly violations: string[]; readonly options: string }

export function useBrowsing(start: () => Promise<Northwind> = startNorthwind): Browsing {
  let northwind: Northwind
  let chromium: Chromium
  let rested: Used[] = []
  beforeAll(async () => {
    chromium = await startChromium()
    northwind = await start()
  })
  afterAll(async () => {
    await chromium?.close()
    await northwind?.stop()
  })

  async function openNew(options: BrowserContextOptions): Promise<Used> {
    const page = await chromium.open({ baseURL: northwind.origin, ...options })
    return { page, violations: watchViolations(page), options: JSON.stringify(options) }
  }

  async function rest(used: Used): Promise<void> {
    await used.page.context().clearCookies()
    rested.push(used)
  }

  return {
    get northwind() {
      return northwind
    },
    get chromium() {
      return chromium
    },
    open: async (options = {}) => {
      const known = rested.find((each) => each.options === JSON.stringify(options))
      rested = rested.filter((each) => each !== known)
      const used = known ?? (await openNew(options))
      onTestFinished(async () => {
        await rest(used)
        expect(used.violations.splice(0)).toEqual([])
      })
      return used.page
    },
    openAlone: async (options = {}) => {
      const { page, violations } = await openNew(options)
      onTestFinished(async () => {
        await page.context().close()
        expect(violations).toEqual([])
      })
      return page
    },
  }
}
