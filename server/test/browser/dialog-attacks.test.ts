/** Pages of other origins and hostile texts have no effect on the dialog in real Chromium. */
import type { Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { script } from '../../src/pages/ui/assets.ts'
import { watchViolations } from '../rig/browser/chromium.ts'
import { press } from '../rig/browser/clicks.ts'
import {
  answerAndClose,
  chooseAccount,
  goToQuestion,
  openPopup,
  registerPopup,
  signInThere,
  useDialogBrowsing,
} from '../rig/browser/dialog-browsing.ts'
import { createAccount, createRole, createScope } from '../rig/create.ts'
import { makePkce } from '../rig/dialog.ts'
import { makeUser } from '../rig/make.ts'
import { type CraftedPages, FRAMEABLE, startCraftedPages } from '../rig/network/crafted-pages.ts'
import { USERS_FROM } from '../rig/origins/users-from.ts'
import { everyRoutePage, openViewers } from '../rig/pages/every-page.ts'
import { PASSWORD } from '../rig/scenes/northwind.ts'

const dialogs = useDialogBrowsing()
const { browsing } = dialogs

/** A site of an attacker: another origin and site than the service and the application. */
let crafted: CraftedPages
beforeAll(async () => {
  crafted = await startCraftedPages()
})
afterAll(() => crafted?.stop())

const attacker = () => `http://attacker.localhost:${crafted.port}`

function authorizeAddress(given: Readonly<Record<string, string>> = {}): string {
  const { id, callback } = dialogs.inBrowser
  const right = {
    client_id: id,
    response_type: 'code',
    redirect_uri: callback,
    code_challenge: makePkce().challenge,
    code_challenge_method: 'S256',
  }
  const query = new URLSearchParams({ ...right, ...given })
  return `${browsing.northwind.service.config.publicUrl}/1/auth/oauth/authorize?${query}`
}

/** Every page of the dialog, on both hosts, in a browser with the dialog and a session. */
async function dialogAddresses(): Promise<readonly string[]> {
  const { northwind } = browsing
  const pages = (await everyRoutePage(northwind)).filter(({ popup, name }) => popup || name.startsWith('activate'))
  const addresses = pages.map(({ path }) => new URL(path, northwind.origin).href)
  return [...new Set(addresses), authorizeAddress(), authorizeAddress({ response_type: 'token' })]
}

const WAYS: Readonly<Record<string, (address: string) => string>> = {
  visible: (address) => `<iframe src="${address}"></iframe>`,
  'not to be seen': (address) => `<iframe src="${address}" style="opacity: 0"></iframe>`,
  sandboxed: (address) => `<iframe src="${address}" sandbox="allow-scripts allow-forms allow-same-origin"></iframe>`,
  nested: (address) => `<iframe srcdoc="<iframe src='${address.replaceAll('&', '&amp;')}'></iframe>"></iframe>`,
  'an object': (address) => `<object type="text/html" data="${address}"></object>`,
  embedded: (address) => `<embed type="text/html" src="${address}">`,
}

/** Frames of a page that show content of ours, or the page that may be framed. */
function shownFrames(page: Page): readonly string[] {
  const { host } = new URL(browsing.northwind.service.config.publicUrl)
  const urls = page.frames().map((frame) => frame.url())
  return urls.filter((url) => url.includes(host) || url.endsWith(FRAMEABLE))
}

test('DG-13: the dialog is not shown in any kind of frame, nor is a script', async () => {
  const { northwind, chromium } = browsing
  const { ann } = await openViewers(northwind, () => chromium.open({ baseURL: northwind.origin }))
  onTestFinished(() => ann.context().close())
  const addresses = [...(await dialogAddresses()), northwind.origin + script.path]
  const shown: Record<string, readonly string[]> = {}
  for (const [way, frame] of Object.entries(WAYS)) {
    const asked: string[] = []
    const listen = (request: Request) => asked.push(request.url())
    ann.on('request', listen)
    crafted.show([...addresses, attacker() + FRAMEABLE].map(frame).join(''))
    await ann.goto(attacker())
    ann.off('request', listen)
    await expect.poll(() => ann.frames().filter((each) => each.url() === '')).toEqual([])
    expect(addresses.filter((address) => !asked.includes(address))).toEqual([])
    shown[way] = shownFrames(ann)
  }
  expect(shown).toEqual(Object.fromEntries(Object.keys(WAYS).map((way) => [way, [attacker() + FRAMEABLE]])))
})

/** Opens the dialog of another application, and listens for messages. */
const EAVESDROPPER = `<button>Win a prize</button><script>
  globalThis.heard = []
  addEventListener('message', ({ data }) => heard.push(data))
  document.querySelector('button').onclick = () => { globalThis.popup = open(location.hash.slice(1), 'prize', 'popup') }
</script>`

/** Everything of the popup that a page of another origin can read. */
const LOOK = `(() => {
  const tries = [() => popup.location.href, () => popup.document, () => popup.history.length, () => popup.name]
  return tries.flatMap((look) => { try { return [String(look())] } catch { return [] } })
})()`

test('AP-04: from a first page to the answer, no other origin sees an address of ours in a Referer', async () => {
  const { northwind } = browsing
  const page = await browsing.openAlone()
  const requests: Request[] = []
  const referers: Promise<string | undefined>[] = []
  page.context().on('request', (request) => {
    requests.push(request)
    // As sent: `headers` of a redirect may be those of the request before.
    const sent = request.allHeaders().catch(() => request.headers())
    referers.push(sent.then(({ referer }) => referer))
  })
  const { popup } = await openPopup(page, dialogs.inBrowser)
  await goToQuestion(popup, northwind.ann)
  await answerAndClose(popup, 'allow')
  const ours = [northwind.origin, new URL(northwind.service.config.publicUrl).origin]
  const known = await Promise.all(referers)
  const sent = requests.flatMap((request, at) => {
    const referer = known[at]
    if (referer === undefined || !ours.includes(new URL(referer).origin)) return []
    return [{ from: new URL(referer).origin, to: new URL(request.url()).origin, referer }]
  })
  expect(
    requests.map((request) => request.url()).filter((url) => url.startsWith(dialogs.inBrowser.callback)),
  ).toHaveLength(1)
  expect(sent.length, 'they were recorded').toBeGreaterThan(2)
  expect(sent.filter(({ from, to }) => from !== to)).toEqual([])
  expect(sent.filter(({ referer }) => /[?&](code|access_token|refresh_token|password)=/.test(referer))).toEqual([])
})

describe('DG-16: the answer is sent to nobody else', () => {
  test('when another page opens the dialog of the application', async () => {
    const page = await browsing.open()
    crafted.show(EAVESDROPPER)
    await page.goto(`${attacker()}/#${authorizeAddress()}`)
    const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('button')])
    await popup.locator('#typed').waitFor()
    expect(await page.evaluate(LOOK)).toEqual([])
    await goToQuestion(popup, browsing.northwind.ann)
    expect(await page.evaluate(LOOK)).toEqual([])
    // The two windows keep their references: only the target origin protects the message.
    await popup.evaluate(`opener.postMessage('a probe', '*')`)
    await answerAndClose(popup, 'allow')
    expect(await page.evaluate('heard')).toEqual(['a probe'])
  })

  test('when the application’s own page is navigated elsewhere meanwhile', async () => {
    const { page, popup } = await openPopup(await browsing.open(), dialogs.inBrowser, { violations: 'expected' })
    await goToQuestion(popup, browsing.northwind.ann)
    crafted.show(EAVESDROPPER)
    // As by the popup's opener. From the address bar, Chromium would cut the reference.
    await Promise.all([page.waitForEvent('load'), page.evaluate((to) => location.assign(to), attacker())])
    await popup.evaluate(`opener.postMessage('a probe', '*')`)
    await answerAndClose(popup, 'allow')
    expect(await page.evaluate('heard')).toEqual(['a probe'])
  })
})

/** Submits a form from the shown page to another address, as injected markup would. */
async function sendFrom(page: Page, address: string): Promise<readonly string[]> {
  const refused: string[] = []
  const before = page.url()
  page.on('console', (message) => {
    if (message.text().includes('form-action')) refused.push(message.text())
  })
  await page.evaluate((action) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action })
    document.body.append(form)
    form.requestSubmit()
  }, address)
  await expect.poll(() => refused.length + Number(page.url() !== before)).toBeGreaterThan(0)
  // Playwright waits for the blocked navigation; opening the page again ends that.
  if (refused.length > 0) await page.reload()
  return refused
}

describe('WB-12: forms of the dialog can only be submitted to their own targets', () => {
  test('the consent form only to the origin of the application', async () => {
    const { popup } = await openPopup(await browsing.open(), dialogs.inBrowser, { violations: 'expected' })
    const other = dialogs.onServer.origin
    expect(await sendFrom(popup, attacker())).toHaveLength(1)
    expect(await sendFrom(popup, dialogs.inBrowser.origin)).toHaveLength(1)
    await chooseAccount(popup)
    // The page of the host service has a policy of its own.
    if (USERS_FROM !== 'host') expect(await sendFrom(popup, dialogs.inBrowser.origin)).toHaveLength(1)
    await signInThere(popup, browsing.northwind.ann)
    const question = popup.url()
    for (const address of [attacker(), other, browsing.northwind.service.config.publicUrl]) {
      expect(await sendFrom(popup, address)).toHaveLength(1)
      expect(popup.url()).toBe(question)
    }
    expect(await sendFrom(popup, `${dialogs.inBrowser.origin}/`)).toEqual([])
    expect(popup.url()).toBe(`${dialogs.inBrowser.origin}/`)
  })
})

/** Each would set `ran` if interpreted as markup. */
const HOSTILE = [
  '<script>ran=1</script>',
  '"><img src=x onerror=ran=1>',
  "'><svg/onload=ran=1>",
  '</title><script>ran=1</script>',
  '" autofocus onfocus="ran=1',
  'javascript:ran=1',
  '<base href=//evil.example>',
  '<iframe srcdoc="<script>parent.ran=1</script>">',
  '&lt;img src=x onerror=ran=1&gt;',
  '<!--<img src="--><img src=x onerror=ran=1>',
]

/** Elements and attributes that no page of ours has. */
const STRANGE = `document.querySelectorAll(
  'script:not([nonce]), iframe, object, embed, base, [onerror], [onload], [onfocus], a[href^="javascript:"], img[src="x"]',
).length`

/** What ran on a page, or was inserted into it. */
async function suspects(page: Page): Promise<readonly unknown[]> {
  const found = [await page.evaluate('globalThis.ran'), await page.evaluate(STRANGE)]
  return found[0] === undefined && found[1] === 0 ? [] : [page.url(), ...found]
}

describe('DG-20: hostile texts are text', () => {
  test('in an address or a form', async () => {
    const { service, origin } = browsing.northwind
    const page = await browsing.open()
    const found: unknown[] = []
    for (const text of HOSTILE) {
      for (const given of [{ client_id: text, redirect_uri: text }, { scope: text }]) {
        await page.goto(authorizeAddress({ state: text, ...given }))
        found.push(...(await suspects(page)))
      }
      await page.goto(authorizeAddress({ state: text }))
      await chooseAccount(page, text)
      expect(await page.locator('#typed').inputValue()).toBe(text)
      found.push(...(await suspects(page)))
      const query = new URLSearchParams({ request: text, account: text, browser: text, next: text })
      for (const start of [`${service.config.publicUrl}/dialog/pass`, `${origin}/dialog`, `${origin}/dialog/enter`]) {
        await page.goto(`${start}?${query}`)
        found.push(...(await suspects(page)))
      }
    }
    expect(found).toEqual([])
  })

  test('in the names of an account, an application, a role and a scope, and `state` is returned unchanged', async () => {
    const { northwind } = browsing
    const { db } = northwind.service.context
    const text = '"><img src=x onerror=ran=1><script>ran=1</script>'
    const [slug, email, scope] = ['hostile', 'zoe@hostile.example', 'hostile:read']
    await createAccount(db, { slug, name: text })
    await createScope(db, { name: scope, title: text })
    await createScope(db, { name: 'hostile:write', title: text })
    await createRole(db, { account: slug, name: text, scopes: [scope] })
    await createRole(db, { account: slug, name: `${text}!`, scopes: ['hostile:write'] })
    const zoe = await makeUser(db, slug, { email, role: text, password: PASSWORD })
    const allowed = { name: text, allowedScopes: [scope, 'hostile:write'], defaultScopes: [scope, 'hostile:write'] }
    const application = await registerPopup({ ...northwind, slug }, { ...allowed, public: true })
    onTestFinished(() => application.stop())
    const page = await browsing.open()
    const given = { client_id: application.id, redirect_uri: application.callback, state: text }
    await page.goto(authorizeAddress(given))
    const found = [...(await suspects(page))]
    await chooseAccount(page, slug)
    found.push(...(await suspects(page)))
    await signInThere(page, zoe)
    expect(await page.locator('h1').textContent()).toContain(text)
    expect(await page.locator('main li').allInnerTexts()).toHaveLength(2)
    found.push(...(await suspects(page)))
    const [callback] = await Promise.all([
      page.waitForRequest((request) => request.url().startsWith(application.callback)),
      press(page, 'button[value=cancel]'),
    ])
    expect(new URL(callback.url()).searchParams.get('state')).toBe(text)
    expect(found).toEqual([])
  })

  test('and a script that would run is blocked by the policy', async () => {
    const page = await browsing.chromium.open()
    onTestFinished(() => page.context().close())
    const planted = watchViolations(page)
    await page.goto(authorizeAddress())
    await page.evaluate(
      `void document.body.append(Object.assign(document.createElement('iframe'), { src: '/activate' }))`,
    )
    await expect.poll(() => planted.length).toBeGreaterThan(0)
  })
})
