/** What a browser loads for any page: the page, one stylesheet, one small script, the icon, and logos. */
import type { Page, Response } from 'playwright-core'
import { expect, test } from 'vitest'
import { icon, script, stylesheet } from '../../src/pages/ui/assets.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { EVERY_ANSWER } from '../rig/pages/every-answer.ts'
import { everyRoutePage, NO_PAGES, openViewers, SIGN_IN_PAGE } from '../rig/pages/every-page.ts'
import { LAYOUTS } from '../rig/pages/kinds-of-page.ts'

const MAX_SCRIPTS = 15_000

const browsing = useBrowsing()

/** Every response of a window from now on, in order. */
function watchResponses(page: Page): Response[] {
  const responses: Response[] = []
  page.on('response', (response) => responses.push(response))
  return responses
}

test('the JavaScript of all pages together is below 15 kB compressed', async () => {
  const page = await browsing.open()
  const responses = watchResponses(page)
  await page.goto(SIGN_IN_PAGE, { waitUntil: 'networkidle' })
  const scripts = responses.filter((response) => response.request().resourceType() === 'script')
  const sizes = await Promise.all(scripts.map(async (each) => (await each.request().sizes()).responseBodySize))
  const total = sizes.reduce((sum, size) => sum + size, 0)
  console.log(`JavaScript: ${total} bytes sent, ${script.bytes.length} as written, ${script.gzip.length} with gzip`)
  console.log(`stylesheet: ${stylesheet.brotli.length} bytes sent, ${stylesheet.bytes.length} as written`)
  expect(await Promise.all(scripts.map((each) => each.headerValue('content-encoding')))).toEqual(['br'])
  expect(total).toBe(script.brotli.length)
  expect(Math.max(total, script.gzip.length)).toBeLessThan(MAX_SCRIPTS)
})

test(`${EVERY_ANSWER ? 'no page' : 'no kind of page'} loads anything else`, async () => {
  const { northwind } = browsing
  const viewers = await openViewers(northwind, () => browsing.open())
  const responses = Object.values(viewers).map(watchResponses)
  const routes = await everyRoutePage(northwind)
  const pages = routes.filter(({ name }) => (EVERY_ANSWER ? !NO_PAGES.includes(name) : LAYOUTS.includes(name)))
  for (const { as, path } of pages) await viewers[as].goto(path)
  const isPage = (response: Response) =>
    response.request().isNavigationRequest() && response.frame().parentFrame() === null
  const pictures = ['/logo', '/application-logo', '/operator/application/logo']
  const known = [northwind.origin, northwind.operators, northwind.service.config.publicUrl].flatMap((origin) =>
    [stylesheet.path, script.path, icon.path, ...pictures].map((path) => origin + path),
  )
  const shown = responses.flat().filter(isPage)
  const beside = responses.flat().filter((response) => !isPage(response))
  const loaded = new Set(beside.map((response) => response.url().replace(/(logo)\?[\w=&]+$/, '$1')))
  expect([...loaded].filter((address) => !known.includes(address))).toEqual([])
  expect(loaded.size).toBeGreaterThan(2)
  expect(shown.length).toBeGreaterThanOrEqual(pages.length)
})
