/**
 * Real Chromium, as Debian packs it: one per test file, with a fresh profile; a context of its own for every case. Hosts
 * below `localhost` lead to this machine in it, and count as trustworthy, so cookies that ask for a secure connection work.
 */
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** The engine without the browser around it: half the processor time for the same pages. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell'
/** The whole browser, where its own settings are the subject. */
const BROWSER = '/usr/bin/chromium'
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** What is not there after this time does not come, on a busy machine either. */
const PATIENCE_MS = 30_000

export type Chromium = {
  readonly browser: Browser
  /** A window that shares nothing with any other. English, unless `locale` says otherwise. */
  open(options?: BrowserContextOptions): Promise<Page>
  close(): Promise<void>
}

export async function startChromium(): Promise<Chromium> {
  const browser = await chromium.launch({ executablePath: HEADLESS_SHELL, args: ARGUMENTS })
  return {
    browser,
    open: async (options = {}) => {
      const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
      context.setDefaultTimeout(PATIENCE_MS)
      return context.newPage()
    },
    close: () => browser.close(),
  }
}

/** One with the settings that lie in this folder; to be closed by whoever asked for it. */
export async function startChromiumWithProfile(folder: string): Promise<BrowserContext> {
  const options = { executablePath: BROWSER, args: ARGUMENTS, locale: 'en-GB', reducedMotion: 'reduce' } as const
  const context = await chromium.launchPersistentContext(folder, options)
  context.setDefaultTimeout(PATIENCE_MS)
  return context
}

/** What a page's own policy forbade, and what its script stumbled over. Empty is the only good answer. */
export function watchViolations(page: Page): string[] {
  const violations: string[] = []
  page.on('console', (message) => {
    const text = message.text()
    // A refused form comes back with its status, and Chromium says so; that is no violation.
    const isStatus = /^Failed to load resource: the server responded with a status of (4\d\d|503)/.test(text)
    // What the browser says when it keeps a message from an origin that it was not meant for.
    const isKeptBack = /^Failed to execute 'postMessage' on 'DOMWindow': The target origin provided/.test(text)
    if (!isStatus && !isKeptBack && ['error', 'warning'].includes(message.type()))
      violations.push(`${page.url()}: ${text}`)
  })
  page.on('pageerror', (error) => violations.push(`${page.url()}: ${error.message}`))
  return violations
}

/** How far the document is wider than the window: more than nothing, and people have to scroll sideways. */
export function overhang(page: Page): Promise<number> {
  return page.evaluate<number>('document.scrollingElement.scrollWidth - document.documentElement.clientWidth')
}
