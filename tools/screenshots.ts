/**
 * `npm run screenshots`: takes screenshots of every page, light and dark, wide and narrow, in `.gallery/`, which git ignores;
 * those of the documentation are copied to docs/screenshots/. The account is the one of the browser tests
 * (server/test/rig/scenes/northwind.ts), in a temporary database.
 */
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startChromium } from '../server/test/rig/browser/chromium.ts'
import { chooseLanguage, signIn } from '../server/test/rig/browser/clicks.ts'
import { everyAnswer } from '../server/test/rig/pages/every-answer.ts'
import { everyRoutePage, NO_PAGES, openViewers } from '../server/test/rig/pages/every-page.ts'
import { type BusyService, startBusyService } from '../server/test/rig/process/busy-service.ts'
import { HAMBURG, startNorthwind } from '../server/test/rig/scenes/northwind.ts'
import { startEngines } from './engines.ts'
import { palettePng } from './palette-png.ts'
import { removeFolder } from './remove-folder.ts'
import { GALLERY, SCREENSHOTS, shownScreenshots } from './shown-screenshots.ts'
import { takeTelevision } from './television-pictures.ts'

const WIDTHS = { wide: 1280, narrow: 390 } as const
/** Of a phone. */
const HEIGHT = 844
/** Size of the dialog window. */
const POPUP = { width: 480, height: 640 }
const COLOURS = ['light', 'dark'] as const

/** Additional states of pages. Other states differ from these only by a sentence. */
const ANSWERS = [
  'sign-in-wrong',
  'recover-sent',
  'enter-code-mistyped',
  'enter-code-off',
  'consent-dangerous',
  'consent-not-possible',
  'consent-suspended',
  'decided-granted',
  'decided-rejected',
  'decided-reported',
  'decided-closed',
  'dialog-account-unknown',
  'dialog-consent-dangerous',
  'dialog-consent-not-possible',
  'dialog-answered',
  'authorize-elsewhere',
  'developer-new-scopes',
  'developer-new-redirects',
  'developer-new-redirects-scheme',
  'developer-new-registered',
  'developer-new-registered-public',
  'developer-secret-added',
  'developer-secret-sure',
  'developer-secret-too-many',
  'operator-decide-nothing',
  'operator-decide-all',
  'operator-decided',
  'developer-publisher-other',
  'developer-publisher-missing',
  'developer-logo-no-picture',
  'developer-application-declined',
  'refusal-not-found',
]

/** Routes without a page, duplicates, very long pages, and pages taken from the busy service below. */
const NOT_TAKEN = [
  ...NO_PAGES,
  'dialog-enter',
  'reference',
  'operator',
  'operator-reviews',
  'operator-application',
  'operator-application-reported',
  'operator-applications',
  'operator-accounts',
  'operator-account',
  'operator-audit',
]

const ARABIC = ['home', 'consent', 'dialog-account', 'dialog-consent', 'developer-application', 'developer-preview']

const { databaseUrl, redisUrl } = await startEngines()
process.env.DATABASE_URL ??= databaseUrl
process.env.REDIS_URL ??= redisUrl

for (const folder of [GALLERY, SCREENSHOTS]) {
  removeFolder(folder)
  mkdirSync(folder, { recursive: true })
}

// A fixed address, because it is visible in some screenshots.
const northwind = await startNorthwind({ PORT: '28080', PUBLIC_URL: 'http://service.localhost:28080' })
const chromium = await startChromium()
try {
  const routes = (await everyRoutePage(northwind)).filter(({ name }) => !NOT_TAKEN.includes(name))
  const viewers = await open('en')
  for (const { name, as, path, popup } of routes) {
    await viewers[as].goto(path)
    await takeAll(viewers[as], name, popup)
  }
  const answers = everyAnswer(northwind).filter(({ name }) => ANSWERS.includes(name))
  for (const { name, as, open: reach, after, popup } of answers) {
    await reach(viewers[as])
    await takeAll(viewers[as], name, popup)
    await after?.()
  }
  const arabic = await open('ar')
  for (const { name, as, path, popup } of routes.filter(({ name }) => ARABIC.includes(name))) {
    await arabic[as].goto(path)
    await take(arabic[as], `${name}-arabic`, 'light', popup ? 'popup' : 'wide')
  }
} finally {
  await northwind.stop()
}

await takeTelevision(chromium)

// The operator console needs data: a service after thirty days.
const busy = await startBusyService({ PORT: '28080', PUBLIC_URL: 'http://service.localhost:28080' })
try {
  const operators = await chromium.open({ baseURL: busy.originOf('operators') })
  await signIn(operators, busy.operator)
  for (const [name, path] of Object.entries(operatorPaths(busy))) {
    await operators.goto(path)
    await takeAll(operators, name)
  }
  await chooseLanguage(operators, 'ar')
  await operators.goto(`/operator/application?application=${busy.firmware}`)
  await take(operators, 'operator-application-arabic', 'light', 'wide')
  const developer = await chromium.open({ baseURL: busy.originOf('brightframe') })
  await signIn(developer, busy.developer)
  await developer.goto(`/developer/application/activity?application=${busy.firmware}`)
  await takeAll(developer, 'developer-activity-suspended')
  const shown = shownScreenshots()
  for (const name of shown) copyFileSync(join(GALLERY, name), join(SCREENSHOTS, name))
  console.log(`${readdirSync(GALLERY).length} screenshots in ${GALLERY}, ${shown.length} of them in ${SCREENSHOTS}`)
} finally {
  await chromium.close()
  await busy.stop()
}

function operatorPaths({ firmware, phisher }: BusyService): Readonly<Record<string, string>> {
  return {
    operator: '/operator',
    'operator-reviews': '/operator/reviews',
    'operator-application': `/operator/application?application=${firmware}`,
    'operator-application-reported': `/operator/application?application=${phisher}`,
    'operator-applications': '/operator/applications',
    'operator-accounts': '/operator/accounts?q=b',
    'operator-account': '/operator/account?account=brightframe',
    'operator-audit': '/operator/audit',
  }
}

function open(language: string) {
  const options = { baseURL: northwind.origin, extraHTTPHeaders: { 'x-forwarded-for': HAMBURG } }
  return openViewers(northwind, () => chromium.open(options), language)
}

async function takeAll(page: Page, name: string, popup = false): Promise<void> {
  const sizes = popup ? (['popup'] as const) : (['wide', 'narrow'] as const)
  for (const size of sizes) {
    for (const colours of COLOURS) await take(page, name, colours, size)
  }
}

/** Captures the full page, or the visible part where buttons stay at the end of the window. */
async function take(
  page: Page,
  name: string,
  colorScheme: (typeof COLOURS)[number],
  size: keyof typeof WIDTHS | 'popup',
): Promise<void> {
  await page.setViewportSize(size === 'popup' ? POPUP : { width: WIDTHS[size], height: HEIGHT })
  await page.emulateMedia({ colorScheme })
  const fullPage = (await page.locator('.sticky').count()) === 0
  const picture = palettePng(await page.screenshot({ fullPage, animations: 'disabled' }))
  writeFileSync(join(GALLERY, `${name}-${colorScheme}-${size}.png`), picture)
}
