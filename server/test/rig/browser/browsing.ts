/** Northwind and one Chromium per test file, one window per case. A case fails if a page violates its content security policy. */
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { type Northwind, startNorthwind } from '../scenes/northwind.ts'
import { type Chromium, startChromium, watchViolations } from './chromium.ts'

export type Browsing = {
  readonly northwind: Northwind
  readonly chromium: Chromium
  /** A window without cookies, at Northwind's address. */
  open(options?: BrowserContextOptions): Promise<Page>
  /** For cases that change more than the cookies of a window: closed when the case is over. */
  openAlone(options?: BrowserContextOptions): Promise<Page>
}

/** Reused windows: opening a new one costs as much as twenty pages. */
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
