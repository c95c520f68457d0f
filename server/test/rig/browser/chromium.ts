/**
 * Real Chromium, as Debian packs it: one per test file, with a fresh profile; a context of its own for every case. Hosts
 * below `localhost` resolve to this machine and are trustworthy origins, so that Secure cookies work.
 */
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** The headless shell: half the processor time of the full browser for the same pages. */
const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell'
/** The full browser, for tests of its own settings. */
const BROWSER = '/usr/bin/chromium'
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A process fewer per browser: an eighth of its processor time.
  '--in-process-gpu',
]

/** Time limit for an element to appear, also on a busy machine. */
const TIMEOUT_MS = 30_000

export type Chromium = {
  readonly browser: Browser
  /** A context that shares nothing with any other. English, unless `locale` says otherwise. */
  open(options?: BrowserContextOptions): Promise<Page>
  close(): Promise<void>
}

export async function startChromium(): Promise<Chromium> {
  const browser = await chromium.launch({ executablePath: HEADLESS_SHELL, args: ARGUMENTS })
  return {
    browser,
    open: async (options = {}) => {
      const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
      context.setDefaultTimeout(TIMEOUT_MS)
      return context.newPage()
    },
    close: () => browser.close(),
  }
}

/** A browser with the profile in this folder; the caller closes it. */
export async function startChromiumWithProfile(folder: string): Promise<BrowserContext> {
  const options = { executablePath: BROWSER, args: ARGUMENTS, locale: 'en-GB', reducedMotion: 'reduce' } as const
  const context = await chromium.launchPersistentContext(folder, options)
  context.setDefaultTimeout(TIMEOUT_MS)
  return context
}

/** Violations of the page's content security policy and errors of its script. Expected to be empty. */
export function watchViolations(page: Page): string[] {
  const violations: string[] = []
  page.on('console', (message) => {
    const text = message.text()
    // Chromium logs the status of a refused form; that is no violation.
    const isStatus = /^Failed to load resource: the server responded with a status of (4\d\d|503)/.test(text)
    // Chromium logs a postMessage that it withholds from an origin that is not its target.
    const isKeptBack = /^Failed to execute 'postMessage' on 'DOMWindow': The target origin provided/.test(text)
    if (!isStatus && !isKeptBack && ['error', 'warning'].includes(message.type()))
      violations.push(`${page.url()}: ${text}`)
  })
  page.on('pageerror', (error) => violations.push(`${page.url()}: ${error.message}`))
  return violations
}

/** How much wider the document is than the window: above zero, users have to scroll sideways. */
export function overhang(page: Page): Promise<number> {
  return page.evaluate<number>('document.scrollingElement.scrollWidth - document.documentElement.clientWidth')
}
