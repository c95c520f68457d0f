/** The documentation site in a real browser: without a script, in light and dark, on desktop and telephone. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { removeFolder } from '../../../tools/remove-folder.ts'
import { buildSite } from '../../../tools/site.ts'
import { accessibilityProblems, contrastProblems, problemsButForColours } from '../rig/browser/accessibility.ts'
import { type Chromium, overhang, startChromium, watchViolations } from '../rig/browser/chromium.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}
/** Not at the root: a site may be served under any path. */
const BELOW = '/some/where/'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-site-'))
let chromium: Chromium
let server: Server
beforeAll(async () => {
  const files = buildSite(folder)
  server = createServer(({ url = '' }, response) => {
    const path = url.slice(BELOW.length)
    if (!url.startsWith(BELOW) || !files.includes(path)) return void response.writeHead(404).end()
    response
      .writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' })
      .end(readFileSync(join(folder, path)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium?.close()
  server?.close()
  removeFolder(folder)
})

const at = (path: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}${BELOW}${path}`

const PAGES = ['index.html', 'interface.html', 'install.html', 'guides/television.html', 'decisions/index.html']

test.each(PAGES)('%s has no axe violation in light and dark, and fits a telephone', async (path) => {
  const page = await chromium.open({ viewport: { width: 360, height: 740 } })
  const violations = watchViolations(page)
  await page.goto(at(path))
  expect(await overhang(page)).toBe(0)
  expect(await accessibilityProblems(page)).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await contrastProblems(page)).toEqual([])
  // On a desk nothing has another colour.
  await page.setViewportSize({ width: 1280, height: 900 })
  expect(await problemsButForColours(page)).toEqual([])
  expect(violations).toEqual([])
})

test('navigation and next and previous links work without a script', async () => {
  const page = await chromium.open({ javaScriptEnabled: false })
  await page.goto(at('index.html'))
  await page.getByRole('navigation', { name: 'All pages' }).getByRole('link', { name: 'Errors' }).click()
  expect(await page.title()).toBe('Errors · Latchkey')
  await page.getByText('On this page').click()
  await page.getByRole('link', { name: 'Outcomes of a poll' }).first().click()
  expect(page.url()).toMatch(/errors\.html#outcomes-of-a-poll$/)
  await page.getByRole('navigation', { name: 'Next and previous page' }).getByRole('link').last().click()
  expect(await page.title()).toBe('The client library · Latchkey')
})
