/**
 * What pages of other origins can do to an account's pages in real Chromium: nothing. Accounts are siblings on one site, as
 * they are behind a real domain, so a sibling's forms bring the user's cookies along; a stranger's do not.
 */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { onFreePort } from '../../../tools/free-port.ts'
import { remindOperators } from '../../src/flows/reviews/remind-operators.ts'
import { sweep } from '../../src/flows/sweep.ts'
import type { PageRoute } from '../../src/http/route.ts'
import { pageRoutes } from '../../src/http/web/account-routes.ts'
import { script } from '../../src/pages/ui/assets.ts'
import { signForm } from '../../src/secrets/web-texts.ts'
import { useBrowsing } from '../rig/browser/browsing.ts'
import { signIn } from '../rig/browser/clicks.ts'
import { post } from '../rig/device.ts'
import { type CraftedPages, FRAMEABLE, startCraftedPages } from '../rig/network/crafted-pages.ts'
import { EVERY_ANSWER } from '../rig/pages/every-answer.ts'
import { AWAY, everyRoutePage, NO_PAGES, openViewers, type RoutePage } from '../rig/pages/every-page.ts'
import { LAYOUTS } from '../rig/pages/kinds-of-page.ts'
import { PASSWORD, startNorthwind } from '../rig/scenes/northwind.ts'
import { everyRow } from '../rig/witness.ts'

let elsewhere: CraftedPages

const browsing = useBrowsing(async () => {
  elsewhere = await startCraftedPages()
  // Behind `localhost` itself every account would be a site of its own, and there would be no siblings.
  // Rows must not change by themselves: without SMTP no mail is sent.
  return onFreePort((port) =>
    startNorthwind({ PORT: String(port), PUBLIC_URL: `http://service.localhost:${port}`, SMTP_URL: '' }),
  )
})
afterAll(() => elsewhere?.stop())

let routes: readonly RoutePage[]
beforeAll(async () => {
  routes = await everyRoutePage(browsing.northwind)
  // What tasks of the service have to do about these pages they do now, and not while rows are compared: remind
  // operators of suspensions after a minute, and sweep after five.
  const { context, config } = browsing.northwind.service
  await remindOperators(context)
  await sweep(context.db, config)
})

/** A site is a scheme and a domain (HTML, "same site"): the port makes no difference to it, and none to cookies. */
const ORIGINS = [
  { who: 'a sibling account', host: 'southwind.service.localhost', withCookies: true },
  { who: 'an attacker', host: 'attacker.localhost', withCookies: false },
]

/** At this account's address: those for operators are not there (AD-06). What programs call has no forms. */
const postRoutes = pageRoutes.filter(
  ({ method, access, fromProgram }) => method === 'POST' && access !== 'operator' && !fromProgram,
)

/** One place refuses them all, and attacks/sign-in/sessions.test.ts tries each without a browser (WB-01): here some of them are enough. */
const sent = postRoutes.filter((_route, at) => EVERY_ANSWER || at % 4 === 0)

/** Ann's window. What she is shown elsewhere is the test's; the policy of her own pages is not at stake there. */
async function openAnn(): Promise<Page> {
  const page = await browsing.chromium.open({ baseURL: browsing.northwind.origin })
  onTestFinished(() => page.context().close())
  await signIn(page, browsing.northwind.ann)
  return page
}

/** Lures a window to a page that somebody else wrote. */
async function lure(page: Page, host: string, body: string): Promise<void> {
  elsewhere.show(body)
  await page.goto(`http://${host}:${elsewhere.port}/`, { timeout: 60_000 })
}

describe.each(ORIGINS)('$who', ({ host, withCookies }) => {
  test('cannot put any page into a frame, nor a script', async () => {
    const page = await openAnn()
    const ours = routes.filter(({ name }) => !AWAY.includes(name))
    const paths = [...ours.map(({ path }) => path), '/nowhere', '/sign-out', script.path]
    const frameable = `http://${host}:${elsewhere.port}${FRAMEABLE}`
    const framed = [...paths.map((path) => new URL(path, browsing.northwind.origin).href), frameable]
    const frames = framed.map((url) => `<iframe src="${url}"></iframe>`)
    await lure(page, host, frames.join(''))
    // Without cookies, some lead to the host service, whose pages are not ours to protect.
    const { signInUrl } = browsing.northwind.service.config
    const isThere = (url: string) => signInUrl !== null && url.startsWith(`${signInUrl}?`)
    const shown = (url: string) => (isThere(url) ? 'chrome-error://chromewebdata/' : url)
    const urls = () => page.frames().map((frame) => shown(frame.url()))
    // So many take their time.
    await expect
      .poll(() => urls().slice(1), { timeout: 60_000 })
      .toEqual([...paths.map(() => 'chrome-error://chromewebdata/'), frameable])
  })

  test(`cannot send any of ${sent.length} forms, not even one that is signed for the session it meets, and no row changes`, async () => {
    const page = await openAnn()
    const before = await everyRow(browsing.northwind.service)
    const statuses: Record<string, number> = {}
    for (const { path } of sent) {
      await lure(page, host, await formFor(path))
      const [request] = await Promise.all([
        page.waitForRequest((each) => each.method() === 'POST'),
        page.waitForEvent('load'),
        page.click('button'),
      ])
      const cookies = (await request.allHeaders()).cookie ?? ''
      expect(cookies.includes('__Host-session=')).toBe(withCookies)
      statuses[path] = (await request.response())?.status() ?? 0
    }
    // An upload is read only in the session of an administrator: without one it leads to where users sign in.
    const refusal = ({ file }: PageRoute) => (file !== undefined && !withCookies ? 303 : 403)
    expect(statuses).toEqual(Object.fromEntries(sent.map((route) => [route.path, refusal(route)])))
    expect(await everyRow(browsing.northwind.service)).toEqual(before)
  })
})

test('the same form, sent from a page of the account itself, is taken: it was the origin that was refused', async () => {
  const page = await openAnn()
  const before = await everyRow(browsing.northwind.service)
  const body = await formFor('/account/policy')
  await page.route('/crafted', (route) => route.fulfill({ contentType: 'text/html', body }))
  await page.goto('/crafted')
  await Promise.all([page.waitForEvent('load'), page.click('button')])
  expect(new URL(page.url()).pathname).toBe('/account/policy')
  expect(await everyRow(browsing.northwind.service)).not.toEqual(before)
})

/** A form that would be taken, if it came from the right page: Ann's newest session has signed it. */
async function formFor(path: string): Promise<string> {
  const { origin } = browsing.northwind
  const hidden = Object.entries(await fieldsFor(path)).map(([name, value]) => `<input name="${name}" value="${value}">`)
  return `<form method="post" action="${origin}${path}">${hidden.join('')}<button>Win a prize</button></form>`
}

async function fieldsFor(path: string): Promise<Record<string, string>> {
  const { service, ann, ben, dana, own } = browsing.northwind
  const { database, config } = service
  const find = async (sql: string) => (await database.query<{ id: string }>(sql))[0]?.id ?? ''
  const queryOf = (name: string) => new URLSearchParams(routes.find((route) => route.name === name)?.path.split('?')[1])
  const [session] = await database.query<{ at: number }>(
    'select (extract(epoch from created_at) * 1000)::float8 as at from sessions where user_id = $1 order by created_at desc limit 1',
    [ann.id],
  )
  const all: Record<string, string> = {
    language: 'de',
    next: '/',
    email: path === '/sign-in' ? ben.email : dana.email,
    password: PASSWORD,
    again: PASSWORD,
    current: PASSWORD,
    link: queryOf(path === '/link' ? 'link-setup' : 'link-remove').get('token') ?? '',
    ref: queryOf('consent').get('ref') ?? '',
    request: queryOf('dialog-consent').get('request') ?? '',
    shown: 'orders:read',
    decision: 'cancel',
    grant: await find(`select id from grants where user_id = '${ann.id}'`),
    user: dana.id,
    role: path.startsWith('/account/role') ? await find("select id from roles where name = 'Sales'") : '',
    passkey: await find('select id from passkeys'),
    name: 'Somebody else',
    colour: '#ff0000',
    device_flow: 'on',
    application: own.shop.id,
    secret: await find(`select id from application_secrets where application_id = '${own.shop.id}'`),
    step: 'scopes',
    kind: 'device',
    'use.orders:read': 'default',
  }
  const bound = pageRoutes.find((route) => route.method === 'POST' && route.path === path)?.bound ?? []
  const holder = { userId: ann.id, sessionCreatedAt: Math.floor(session?.at ?? 0) }
  const token = signForm(config.keys, holder, path, Object.fromEntries(bound.map((name) => [name, all[name] ?? ''])))
  return { ...all, token }
}

describe('looking', () => {
  test(`at ${EVERY_ANSWER ? 'every page' : 'a page of each kind'} in a browser changes no row, sessions and audit included`, async () => {
    const viewers = await openViewers(browsing.northwind, () => browsing.open())
    const before = await everyRow(browsing.northwind.service)
    const pages = routes.filter(({ name }) => (EVERY_ANSWER ? !NO_PAGES.includes(name) : LAYOUTS.includes(name)))
    for (const { as, path } of pages) await viewers[as].goto(path)
    expect(await everyRow(browsing.northwind.service)).toEqual(before)
  })

  test('changes no row either where a form was meant, or with the fields of a form in the address, or with HEAD', async () => {
    const { northwind } = browsing
    const web = northwind.service.web({}, northwind.slug)
    await web.signIn(northwind.ann.email, PASSWORD)
    const fields = new Map(
      await Promise.all(postRoutes.map(async ({ path }) => [path, await fieldsFor(path)] as const)),
    )
    const before = await everyRow(northwind.service)
    for (const [path, values] of fields) await web.send('GET', `${path}?${new URLSearchParams(values)}`)
    for (const { path } of routes) {
      const { host, pathname, search } = new URL(path, northwind.origin)
      const headers = { host, cookie: Array.from(web.cookies, (pair) => pair.join('=')).join('; ') }
      await post(northwind.service.address, pathname + search, { method: 'HEAD', headers })
    }
    expect(await everyRow(northwind.service)).toEqual(before)
  })
})

test('a code in an address fills in nothing', async () => {
  const { northwind } = browsing
  const { user_code } = await northwind.ask(northwind.applications.mobile)
  const page = await browsing.open()
  await signIn(page, northwind.ann)
  await page.goto(`/connect/code?code=${user_code}&user_code=${user_code}#${user_code}`)
  expect(await page.locator('#app-code').inputValue()).toBe('')
})

test('markup that somehow got into a page would not run', async () => {
  const page = await openAnn()
  await page.goto('/security')
  const attempts = [
    "document.body.innerHTML = '<img src=x onerror=globalThis.ran=1>'",
    "document.body.insertAdjacentHTML('beforeend', '<b>')",
    "const script = document.createElement('script'); script.textContent = 'globalThis.ran = 1'; document.body.append(script)",
    "setTimeout('globalThis.ran = 1')",
  ]
  const answers = await Promise.all(
    attempts.map((attempt) =>
      page.evaluate(`(() => { ${attempt} })()`).then(
        () => 'done',
        (error: Error) => error.message,
      ),
    ),
  )
  expect(answers.map((answer) => /Trusted(HTML|Script)/.test(answer))).toEqual([true, true, true, true])
  const link = await page
    .evaluate(`(() => {
    const link = document.createElement('a')
    link.setAttribute('href', 'javascript:globalThis.ran=1')
    link.setAttribute('onclick', 'globalThis.ran=1')
    document.body.append(link)
    link.click()
    return globalThis.ran
  })()`)
    .catch((error: Error) => error.message)
  expect(String(link)).toMatch(/undefined|Trusted/)
  expect(await page.evaluate('globalThis.ran')).toBeUndefined()
})
