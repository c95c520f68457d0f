/**
 * The dialog of the packed library in real Chromium: an application's page on an origin of its own, the real service, and users
 * who grant, cancel, close windows and go back. docs/interface/dialog.md.
 */
import type { Frame, Page } from 'playwright-core'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { useBrowsing } from '../../server/test/rig/browser/browsing.ts'
import { watchViolations } from '../../server/test/rig/browser/chromium.ts'
import { press } from '../../server/test/rig/browser/clicks.ts'
import { answerAndClose, chooseAccount, goToQuestion } from '../../server/test/rig/browser/dialog-browsing.ts'
import { askMe } from '../../server/test/rig/connect.ts'
import { startNorthwind } from '../../server/test/rig/scenes/northwind.ts'
import { type DialogSite, startDialogSite } from './rig/dialog-site.ts'

const GRANTED = 'connected for orders:read,orders:write,displays:write'

let inBrowser: DialogSite
let onServer: DialogSite
const browsing = useBrowsing(async () => {
  const northwind = await startNorthwind()
  inBrowser = await startDialogSite(northwind, { name: 'Parcel Desk', public: true })
  onServer = await startDialogSite(northwind, { name: 'Parcel Office' })
  return northwind
})
afterAll(async () => {
  await inBrowser?.stop()
  await onServer?.stop()
})

const says = (page: Page | Frame, text: string, timeout = 8_000) =>
  page.locator('output').getByText(text, { exact: true }).waitFor({ timeout })

async function visit(site = inBrowser, headers: Record<string, string> = {}): Promise<Page> {
  site.headers = headers
  onTestFinished(() => {
    site.headers = {}
  })
  const page = await browsing.openAlone()
  await page.goto(site.origin)
  await says(page, 'ready')
  return page
}

/** Clicks a button that opens a window. */
async function pressFor(page: Page, button: string, where: Page | Frame = page): Promise<Page> {
  const [popup] = await Promise.all([page.waitForEvent('popup'), where.click(button)])
  const violations = watchViolations(popup)
  onTestFinished(() => expect(violations).toEqual([]))
  await popup.locator('#typed').waitFor()
  return popup
}

/** The library's `state` of the attempt in this window. */
const stateIn = async (popup: Page) => new URL(await asked(popup)).searchParams.get('state') ?? ''
const addresses = new WeakMap<Page, string>()
async function asked(popup: Page): Promise<string> {
  return addresses.get(popup) ?? ''
}
/** Every authorization URL that the windows of this page open. */
function noteAddresses(page: Page): void {
  page.context().on('request', (request) => {
    if (request.isNavigationRequest() && request.url().includes('/oauth/authorize?')) {
      addresses.set(request.frame().page(), request.url())
    }
  })
}

async function expectWorkingTokens(page: Page | Frame): Promise<void> {
  const { body } = await askMe(browsing.northwind.service, await page.evaluate<string>('client.bearer()'))
  expect(body).toMatchObject({ account: 'northwind', application: inBrowser.id })
}

describe('in a window of its own', () => {
  test('the user grants: the page has valid tokens, the window is closed, and nothing of the attempt is stored', async () => {
    const page = await visit()
    const popup = await pressFor(page, '#popup')
    await goToQuestion(popup, browsing.northwind.ann)
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED)
    await expectWorkingTokens(page)
    expect(await page.evaluate('Object.keys(sessionStorage)')).toEqual(['latchkey'])
  })

  test('the user cancels, and the application gets that error', async () => {
    const page = await visit()
    const popup = await pressFor(page, '#popup')
    await goToQuestion(popup, browsing.northwind.ben)
    await answerAndClose(popup, 'cancel')
    await says(page, 'access_denied')
    expect(await page.evaluate('client.credentials()')).toBeNull()
  })

  test('the user closes it: detected after a delay, because an answer might be on its way', async () => {
    const page = await visit()
    const popup = await pressFor(page, '#popup')
    await page.waitForTimeout(1_500)
    await popup.close()
    await page.waitForTimeout(2_000)
    expect(await page.locator('output').textContent()).toBe('ready')
    await says(page, 'dialog_closed')
  })

  test('it may be opened by the application before it waits for something else', async () => {
    const page = await visit()
    const popup = await pressFor(page, '#ready')
    await goToQuestion(popup, browsing.northwind.ann)
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED)
  })

  test('an application with a secret gets a code for its server; the browser never has the tokens', async () => {
    const page = await visit(onServer)
    const popup = await pressFor(page, '#server')
    await goToQuestion(popup, browsing.northwind.ann)
    await answerAndClose(popup, 'allow')
    await says(page, `${GRANTED} by the server`)
    expect(await page.evaluate('client.credentials()')).toBeNull()
    const { body } = await askMe(browsing.northwind.service, onServer.exchanged.at(-1) ?? '')
    expect(body).toMatchObject({ application: onServer.id })
  })

  test('an application with a secret and without a server gets an error that says what to do', async () => {
    const page = await visit(onServer)
    const popup = await pressFor(page, '#popup')
    await goToQuestion(popup, browsing.northwind.ann)
    await answerAndClose(popup, 'allow')
    await says(page, 'invalid_application')
    expect(await page.evaluate('failure.message')).toContain('exchange "server"')
  })

  test('a second click uses the same window, and only the last attempt counts', async () => {
    const page = await visit()
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.evaluate(
        'void (globalThis.first = client.dialog.open({ redirectUri: location.origin + "/callback" }).catch((error) => error.code))',
      ),
    ])
    await popup.locator('#typed').waitFor()
    await Promise.all([popup.waitForEvent('load'), page.click('#popup')])
    expect(page.context().pages().length).toBe(2)
    expect(await page.evaluate('first')).toBe('dialog_closed')
    await popup.locator('#typed').waitFor()
    await goToQuestion(popup, browsing.northwind.ann)
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED)
  })

  test('the application aborts: the window is closed', async () => {
    const page = await visit()
    await page.evaluate(`globalThis.over = new AbortController()`)
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.evaluate('void openDialog({ signal: over.signal })'),
    ])
    await popup.locator('#typed').waitFor()
    await Promise.all([popup.waitForEvent('close'), page.evaluate('over.abort()')])
    await says(page, 'aborted')
  })

  test('two pages ask at the same time, and each gets its own answer', async () => {
    const first = await visit()
    const one = await pressFor(first, '#popup')
    const second = await first.context().newPage()
    await second.goto(inBrowser.origin)
    const other = await pressFor(second, '#popup')
    await goToQuestion(one, browsing.northwind.ann)
    await answerAndClose(one, 'cancel')
    await says(first, 'access_denied')
    expect(await second.locator('output').textContent()).toBe('ready')
    await chooseAccount(other)
    await answerAndClose(other, 'allow')
    await says(second, GRANTED)
  })

  test('a scope that is not allowed is reported through the link of the error page', async () => {
    const page = await visit()
    const [popup] = await Promise.all([
      page.waitForEvent('popup'),
      page.evaluate('void openDialog({ scope: ["orders:delete"] })'),
    ])
    const back = popup.locator(`a[href^="${inBrowser.callback}"]`)
    await back.waitFor()
    await Promise.all([popup.waitForEvent('close'), back.click()])
    await says(page, 'invalid_scope')
  })
})

describe('where one channel is cut off, the other is used', () => {
  test('a page without a reference to its windows still gets the answer', async () => {
    const page = await visit(inBrowser, { 'cross-origin-opener-policy': 'same-origin' })
    await page.evaluate(
      '{ const { open } = globalThis; globalThis.open = (...given) => (globalThis.popup = open(...given)) }',
    )
    const popup = await pressFor(page, '#popup')
    expect(await page.evaluate('popup.closed')).toBe(true)
    // Longer than the time given to a window that was seen at the service.
    await page.waitForTimeout(6_000)
    expect(await page.locator('output').textContent()).toBe('ready')
    await goToQuestion(popup, browsing.northwind.ann)
    await answerAndClose(popup, 'allow')
    await says(page, GRANTED)
    await expectWorkingTokens(page)
  })

  test('a page in a frame of another site does, too', async () => {
    const page = await browsing.openAlone()
    // Browsers partition channels in such a frame; this one is started without partitioning.
    await page.addInitScript(
      'globalThis.BroadcastChannel = class extends BroadcastChannel { constructor(name) { super("apart " + name) } }',
    )
    const { port } = new URL(onServer.origin)
    await page.goto(`http://somebody.localhost:${port}/frame?of=${inBrowser.origin}/`)
    const frame = page.frame({ url: `${inBrowser.origin}/` }) as Frame
    await says(frame, 'ready')
    const popup = await pressFor(page, '#popup', frame)
    await goToQuestion(popup, browsing.northwind.ann)
    await answerAndClose(popup, 'allow')
    await says(frame, GRANTED)
    await expectWorkingTokens(frame)
  })
})

describe('by redirect in the same window', () => {
  test('the page goes to the dialog and returns with tokens; the code is removed from the URL, and nothing is done twice', async () => {
    const page = await visit()
    await page.click('#here')
    await page.locator('#typed').waitFor()
    await goToQuestion(page, browsing.northwind.ann)
    await press(page, 'button[value=allow]')
    await says(page, GRANTED)
    await expectWorkingTokens(page)
    expect(page.url()).toBe(inBrowser.callback)
    expect(await page.evaluate('completed.returnTo')).toBe(`${inBrowser.origin}/`)
    expect(await page.evaluate('Object.keys(sessionStorage)')).toEqual(['latchkey'])
    await page.reload()
    await says(page, 'invalid_request')
    expect(await page.evaluate('client.dialog.resumeAfterRedirect()')).toBeNull()
    await expectWorkingTokens(page)
  })

  test('a browser that blocks the window: an error, or a redirect', async () => {
    const page = await visit()
    await page.evaluate('globalThis.open = () => null')
    await page.click('#popup')
    await says(page, 'popup_blocked')
    await page.click('#auto')
    await page.locator('#typed').waitFor()
    await goToQuestion(page, browsing.northwind.ann)
    await press(page, 'button[value=cancel]')
    await says(page, 'access_denied')
  })
})

describe('a forged answer', () => {
  const crafted = (site: DialogSite, fields: Record<string, string>) =>
    `${site.callback}?${new URLSearchParams(fields)}`
  const iss = () => browsing.northwind.service.config.publicUrl

  test('a link with another user’s code connects nothing', async () => {
    const page = await visit()
    await page.goto(crafted(inBrowser, { code: `lkc_${'x'.repeat(44)}`, state: 'theirs', iss: iss() }))
    await says(page, 'undelivered')
    expect(page.url()).toBe(inBrowser.callback)
    expect(await page.evaluate('client.credentials()')).toBeNull()
    await page.evaluate('history.replaceState(null, "", "?code=x&state=theirs&keep=1")')
    expect(await page.evaluate('client.dialog.resumeAfterRedirect().catch((error) => error.code)')).toBe(
      'state_mismatch',
    )
    expect(page.url()).toBe(`${inBrowser.callback}?keep=1`)
  })

  test.each([
    ['another state', 'state_mismatch', () => ({ state: 'theirs' })],
    ['another issuer', 'wrong_issuer', () => ({ iss: 'https://elsewhere.example' })],
    ['no issuer', 'wrong_issuer', () => ({ iss: '' })],
    ['no code', 'unexpected_answer', () => ({ code: '' })],
  ])('%s in the right window is %s, and the code is not exchanged', async (_, code, changed) => {
    const page = await visit()
    noteAddresses(page)
    const exchanges: string[] = []
    page.on('request', (request) => exchanges.push(request.url()))
    const popup = await pressFor(page, '#popup')
    const state = await stateIn(popup)
    expect(state).toMatch(/^[\w-]{43}$/)
    const fields = { code: `lkc_${'x'.repeat(44)}`, state, iss: iss(), ...changed() }
    await popup.evaluate((address) => window.location.assign(address), crafted(inBrowser, fields))
    await says(page, code)
    expect(exchanges.filter((url) => url.includes('/auth/oauth/token'))).toEqual([])
  })

  test('a page of another origin with a reference to the window cannot answer for it', async () => {
    const page = await visit()
    noteAddresses(page)
    const popup = await pressFor(page, '#popup')
    const query = new URLSearchParams({ error: 'access_denied', state: await stateIn(popup), iss: iss() }).toString()
    const message = { type: 'latchkey.dialog.returned', query }
    await popup.evaluate((sent) => window.opener.postMessage(sent, '*'), message)
    await page.waitForTimeout(500)
    expect(await page.locator('output').textContent()).toBe('ready')
  })
})

describe('a page', () => {
  test('with the application’s secret gets an error', async () => {
    const page = await visit()
    const code = `(() => { try { createClient({ baseUrl: 'https://x.example', appId: 'app_x', appSecret: 'lks_x' }) } catch (error) { return error.code } })()`
    expect(await page.evaluate(code)).toBe('secret_in_browser')
  })

  test('with a redirect URI on another origin gets an error', async () => {
    const page = await visit()
    await page.evaluate('void openDialog({ redirectUri: "https://elsewhere.example/callback" })')
    await says(page, 'invalid_request')
  })
})
