/** The web application in real Chromium: the dialog in a popup, and the API called from the page. */

import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { useBrowsing } from '../../server/test/rig/browser/browsing.ts'
import { answerAndClose, goToQuestion } from '../../server/test/rig/browser/dialog-browsing.ts'
import { makeApplication } from '../../server/test/rig/make.ts'
import { type Northwind, startNorthwind } from '../../server/test/rig/scenes/northwind.ts'
import { freePort, onFreePort } from '../../tools/free-port.ts'
import { type Program, startExample } from './rig/program.ts'

const programs: Program[] = []
let origin = ''
const browsing = useBrowsing(async () => {
  const northwind = await startNorthwind()
  origin = await startExamples(northwind)
  return northwind
})
afterAll(async () => {
  for (const program of programs) await program.stop()
})

/** The page and the API, each at its own address. */
const startExamples = (northwind: Northwind) => onFreePort((pagePort) => startExamplesAt(pagePort, northwind))

async function startExamplesAt(pagePort: number, { service: { context, config } }: Northwind): Promise<string> {
  const apiPort = await freePort()
  const page = `http://127.0.0.1:${pagePort}`
  const { id: LATCHKEY_PUBLIC_APP_ID } = await makeApplication(context.db, config, 'makers', {
    name: 'Acme Orders',
    public: true,
    deviceFlow: false,
    redirectUris: [`${page}/connected`],
  })
  const resource = await makeApplication(context.db, config, 'makers', { deviceFlow: false, resourceServer: true })
  await context.applications.refresh()
  const environment = {
    LATCHKEY_BASE_URL: config.publicUrl,
    LATCHKEY_PUBLIC_APP_ID,
    LATCHKEY_RESOURCE_ID: resource.id,
    LATCHKEY_RESOURCE_SECRET: resource.secret,
    ORDERS_API_URL: `http://127.0.0.1:${apiPort}`,
    PAGE_ORIGIN: page,
  }
  programs.push(startExample('web-app/server.ts', { ...environment, PORT: String(pagePort) }))
  programs.push(startExample('api/server.ts', { ...environment, PORT: String(apiPort) }))
  await programs[0]?.says(/is at/)
  await programs[1]?.says(/is at/)
  return page
}

const status = (page: Page, text: string) => page.getByRole('status').getByText(text, { exact: true }).waitFor()

async function openDialog(page: Page): Promise<Page> {
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.getByRole('button', { name: 'Connect' }).click()])
  await popup.locator('#typed').waitFor()
  return popup
}

test('a user connects in a popup, sees the orders, and disconnects', async () => {
  const page = await browsing.openAlone({ baseURL: origin })
  await page.goto('/')
  await status(page, 'Not connected.')
  const popup = await openDialog(page)
  await goToQuestion(popup, browsing.northwind.dana)
  await answerAndClose(popup, 'allow')
  await status(page, 'Orders of northwind')
  expect(await page.getByRole('listitem').allInnerTexts()).toEqual(['two bottles of ink'])
  await page.reload()
  await status(page, 'Orders of northwind')
  await page.getByRole('button', { name: 'Disconnect' }).click()
  await status(page, 'Disconnected. The access is revoked.')
  expect(await page.evaluate('Object.keys(sessionStorage)')).toEqual([])
})

test('a user who rejects can start over', async () => {
  const page = await browsing.openAlone({ baseURL: origin })
  await page.goto('/')
  const popup = await openDialog(page)
  await goToQuestion(popup, browsing.northwind.dana)
  await answerAndClose(popup, 'cancel')
  await status(page, 'You rejected the request.')
  await page.getByRole('button', { name: 'Connect' }).waitFor()
})
