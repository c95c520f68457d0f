/**
 * `npm run verify -- site`: builds the documentation site under a path and opens it in a real browser. Passes if every internal link
 * leads somewhere, nothing is loaded from another host, nothing overflows a screen of 360 pixels, all diagrams are drawn, axe
 * finds nothing in light and dark, and the search finds twelve things by the words that people use.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { accessibilityProblems } from '../server/test/rig/browser/accessibility.ts'
import { type Chromium, overhang, startChromium, watchViolations } from '../server/test/rig/browser/chromium.ts'
import { type BuiltPage, findBrokenLinks, readBuiltPages } from './site/built-links.ts'
import { serveFolder } from './site/server.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, '.site')
/** Not at the root: a site may be served under any path. */
const BASE_PATH = '/some/where/'

/** What people search for, and the page that has to be among the first five results. */
const SEARCHES: Readonly<Record<string, string>> = {
  'device flow': 'interface/device-flow/',
  'API reference': 'interface/',
  'threat model': 'security/',
  'refresh token': 'interface/credentials/',
  'rate limits': 'interface/limits/',
  slow_down: 'errors/',
  'back up': 'operations/backup/',
  'roll back': 'operations/upgrade/',
  'webhook signature': 'interface/webhooks/',
  keycloak: 'comparison/',
  createVerifier: 'sdk/main/',
  PUBLIC_URL: 'configuration/',
}
const AXE_PAGES = [
  '',
  'guides/television/',
  'interface/credentials/',
  'api/requesttokencode/',
  'sdk/main/',
  'sdk/browser/',
  'decisions/',
  'install/',
]

/** Starlight marks scrolling code when the browser is idle. */
const EVERY_SCROLLER_IS_FOCUSABLE =
  "[...document.querySelectorAll('pre')].every((pre) => pre.scrollWidth <= pre.clientWidth || pre.tabIndex === 0)"

const problems: string[] = []
const report = (name: string, count: string, found: readonly string[], from: number) => {
  problems.push(...found)
  const seconds = ((performance.now() - from) / 1000).toFixed(1).padStart(6)
  console.log(`${seconds} s  ${name}: ${count}, problems ${found.length}`)
}

async function checkSearch(page: Page, address: string): Promise<readonly string[]> {
  const missed: string[] = []
  await page.goto(address)
  await page.locator('button[data-open-modal]').click()
  const field = page.getByRole('dialog').getByRole('searchbox').or(page.locator('.pagefind-ui__search-input'))
  for (const [words, expected] of Object.entries(SEARCHES)) {
    await field.first().fill(words)
    await page.locator(`.pagefind-ui__message:has-text("${words}")`).waitFor()
    const paths = await firstPages(page, address, expected)
    if (!paths.includes(expected)) missed.push(`"${words}" finds ${paths.join(', ')}, not ${expected}`)
  }
  return missed
}

/** The first five pages of the results, which are loaded one by one: waits until the expected one is among them, or gives up. */
async function firstPages(page: Page, address: string, expected: string): Promise<readonly string[]> {
  const links = page.locator('.pagefind-ui__result-title .pagefind-ui__result-link')
  for (const until = performance.now() + 10_000; ; await page.waitForTimeout(100)) {
    const found = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    const pages = new Set(found.map((href) => new URL(href, address).pathname.slice(BASE_PATH.length)))
    const paths = [...pages].slice(0, 5)
    if (paths.includes(expected) || performance.now() > until) return paths
  }
}

async function checkDiagrams(page: Page, address: string, pages: readonly BuiltPage[]) {
  const withDiagrams = pages.filter(({ html }) => html.includes('class="diagram"'))
  const missing: string[] = []
  let drawn = 0
  for (const { path, html } of withDiagrams) {
    const expected = html.split('class="diagram"').length - 1
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.goto(`${address}${path}`)
      await page
        .locator('pre.diagram[data-drawn] svg')
        .nth(expected - 1)
        .waitFor({ timeout: 20_000 })
        .catch(() => {})
      const found = await page.locator(`pre.diagram[data-drawn="${colorScheme}"] svg text`).count()
      const shown = await page.locator('pre.diagram[data-drawn] svg').count()
      drawn += shown
      if (shown !== expected || found === 0)
        missing.push(`${path} (${colorScheme}) draws ${shown} of ${expected} diagrams`)
    }
  }
  return { drawn, missing }
}

async function checkAxe(chromium: Chromium, address: string): Promise<readonly string[]> {
  const found: string[] = []
  for (const path of AXE_PAGES) {
    for (const viewport of [
      { width: 390, height: 844 },
      { width: 1440, height: 900 },
    ]) {
      for (const colorScheme of ['light', 'dark'] as const) {
        const page = await chromium.open({ viewport, colorScheme })
        const violations = watchViolations(page)
        await page.goto(`${address}${path}`)
        await page.waitForFunction(EVERY_SCROLLER_IS_FOCUSABLE, undefined, { timeout: 5_000 }).catch(() => {})
        const axe = await accessibilityProblems(page)
        found.push(...[...axe, ...violations].map((each) => `${path} (${colorScheme}, ${viewport.width}): ${each}`))
        await page.context().close()
      }
    }
  }
  return found
}

/** Code is highlighted and can be copied. */
async function checkCode(page: Page, address: string): Promise<readonly string[]> {
  await page.goto(`${address}guides/television/`)
  const copies = await page.locator('.expressive-code .copy button').count()
  const colours = await page
    .locator('.expressive-code pre code span')
    .evaluateAll((spans) => new Set(spans.map((span) => span.getAttribute('style'))).size)
  return copies > 0 && colours > 3 ? [] : [`the television guide has ${copies} copy buttons and ${colours} colours`]
}

async function checkWidth(page: Page, address: string, pages: readonly BuiltPage[]): Promise<readonly string[]> {
  const wide: string[] = []
  for (const { path } of pages) {
    await page.goto(`${address}${path}`)
    const pixels = await overhang(page)
    if (pixels > 0) wide.push(`${path} is ${pixels} pixels wider than the screen`)
  }
  return wide
}

async function main(): Promise<void> {
  const begun = performance.now()
  const env = { ...process.env, SITE_URL: `http://localhost${BASE_PATH}` }
  execFileSync(process.execPath, [join(ROOT, 'site/build.ts')], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const pages = readBuiltPages(FOLDER)
  report('build', `${pages.length} pages`, [], begun)

  let from = performance.now()
  const { links, broken } = findBrokenLinks(FOLDER, pages, BASE_PATH)
  report('links', `${links} internal links`, broken, from)

  const { address, close } = await serveFolder(FOLDER, BASE_PATH)
  const chromium = await startChromium()
  try {
    from = performance.now()
    const phone = await chromium.open({ viewport: { width: 360, height: 740 } })
    const strangers: string[] = []
    phone.on('request', (request) => {
      if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(address))
        strangers.push(`loads ${request.url()}`)
    })
    report('360 pixels', `${pages.length} pages`, [...(await checkWidth(phone, address, pages)), ...strangers], from)

    const desk = await chromium.open({ viewport: { width: 1440, height: 900 } })
    from = performance.now()
    const { drawn, missing } = await checkDiagrams(desk, address, pages)
    report('diagrams', `${drawn} drawn in light and dark`, drawn === 0 ? ['no diagram was drawn'] : missing, from)

    from = performance.now()
    report('code', 'highlighting, copy buttons', await checkCode(desk, address), from)

    from = performance.now()
    report('search', `${Object.keys(SEARCHES).length} searches`, await checkSearch(desk, address), from)

    from = performance.now()
    report('axe', `${AXE_PAGES.length} pages, two widths, light and dark`, await checkAxe(chromium, address), from)
  } finally {
    await chromium.close()
    close()
  }
  for (const problem of problems) console.log(`FAILED: ${problem}`)
  console.log(`site: problems=${problems.length} seconds=${Math.round((performance.now() - begun) / 1000)}`)
  process.exitCode = problems.length === 0 ? 0 : 1
}

await main()
