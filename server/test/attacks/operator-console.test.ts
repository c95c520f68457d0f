/** AD-01, AD-06: the operators' console against markup, other users, other hosts, other networks and old sign-ins. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isName } from '../../src/core/applications/name.ts'
import { defaultThresholds } from '../../src/core/reviews/suspension.ts'
import { changeLogo } from '../../src/flows/applications/logo.ts'
import { setApplicationPublisher } from '../../src/flows/applications/manage.ts'
import { addScope, changeScopeTitle } from '../../src/flows/applications/scope-catalogue.ts'
import { confirmDecision, decideReview } from '../../src/flows/reviews/decide.ts'
import { readReviewedApplication } from '../../src/flows/reviews/list.ts'
import { changeRule } from '../../src/flows/reviews/rule.ts'
import { undoDecision } from '../../src/flows/reviews/undo.ts'
import { pageRoutes } from '../../src/http/web/account-routes.ts'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { post } from '../rig/device.ts'
import { drawLogo } from '../rig/logo.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { Operators } from '../rig/operators.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { signedFor, signInAs } from '../rig/signed-in.ts'
import { sized } from '../rig/size.ts'
import { textOf, unescapeHtml, type Web } from '../rig/web.ts'
import { everyRow } from '../rig/witness.ts'
import { markupCorpus } from './markup-corpus.ts'

const MINUTE = 60_000
const { t } = wordsFor('en')

type Account = { readonly id: string; readonly slug: string }

/** A client in one of the configured networks, and one in none. */
const INSIDE = { 'x-forwarded-for': '192.0.2.17' }
const OUTSIDE = { 'x-forwarded-for': '203.0.113.9' }

let service: TestService
let operators: Account
let operator: MadeUser
let web: Web
let application: MadeApplication
let decisionId: string
beforeAll(async () => {
  service = await startTestService(
    { OPERATOR_ACCOUNT: 'operators', OPERATOR_NETWORKS: '192.0.2.0/24,2001:db8:1::/48', TRUST_PROXY: '127.0.0.1' },
    { clock: true },
  )
  const { db } = service.context
  operators = await makeAccount(db, { slug: 'operators' })
  operator = await makeUser(db, 'operators')
  web = await signInAs(service, operator, { account: operators, headers: INSIDE })
  application = await makeApplication(db, service.config, service.account.slug)
  decisionId = await suspendAs(operator)
  await proposeProfile()
  await (await Operators.of(service)).propose(await makeUser(db, 'operators'))
})
afterAll(() => service.stop())

/** A pending change. */
async function proposeProfile(): Promise<void> {
  const { context, user, database } = service
  await setApplicationPublisher(context.db, application.id, { status: 'verified', name: 'acme.example' })
  await changeLogo(context, user.id, application.id, await drawLogo())
  await database.query('update application_proposals set version = 1')
}

/** Decisions to undo and to confirm. */
async function suspendAs(by: MadeUser): Promise<string> {
  const { context } = service
  const looked = await readReviewedApplication(context, application.id)
  const wish = { applicationId: application.id, reviewId: null, seen: looked?.seen ?? '', intervalSeconds: null }
  await decideReview(context, by.id, { ...wish, decision: 'keep', reason: 'phishing', words: 'It deceives.' })
  return (await readReviewedApplication(context, application.id))?.decisions[0]?.id ?? ''
}

const routes = pageRoutes.filter(({ path }) => /^\/operator(\/|$)/.test(path))
const named = (some: typeof routes) => some.map((route) => [`${route.method} ${route.path}`, route] as const)
type Route = (typeof routes)[number]

const addressOf = (route: Route) =>
  route.method === 'GET'
    ? `${route.path}?application=${application.id}&account=${service.account.slug}&version=1`
    : route.path

type Form = Record<string, string>

/** A complete form, signed for this user's session, as if it had been shown. */
async function formFor(user: MadeUser, route: Route, decision = decisionId): Promise<Form | undefined> {
  if (route.method === 'GET') return undefined
  const { seen = '' } = (await readReviewedApplication(service.context, application.id)) ?? {}
  const values: Record<string, string> = { application: application.id, review: '', seen, decision }
  const bound = Object.fromEntries(
    (route.bound ?? []).map((name) => [name, name === 'scope' ? 'orders:read' : (values[name] ?? '')]),
  )
  const thresholds = Object.fromEntries(Object.entries(defaultThresholds).map(([name, value]) => [name, String(value)]))
  const free = {
    ...{ reason: 'other', words: 'Taken over.', interval: '30', name: 'taken:over', title: 'Taken over' },
    ...(route.path.endsWith('/decide') ? { decision: 'keep_and_revoke' } : {}),
    ...thresholds,
    share: '7',
  }
  return { ...free, ...(await signedFor(service, user, route.path, bound)) }
}

async function makeStranger(holds?: readonly string[]) {
  const account = await makeAccount(service.context.db)
  const user = await makeUser(service.context.db, account.slug, holds ? { holds } : {})
  return { user, web: await signInAs(service, user, { account, headers: INSIDE }) }
}

it('routes are found, and all of them are for operators', () => {
  expect(routes.length).toBeGreaterThanOrEqual(14)
  expect(pageRoutes.filter(({ access }) => access === 'operator')).toEqual(routes)
})

it('AD-06: an operator can open every route', async () => {
  for (const route of routes.filter(({ method }) => method === 'GET')) {
    expect([route.path, (await web.send('GET', addressOf(route))).status]).toEqual([route.path, 200])
  }
})

describe('other hosts', () => {
  const pageFrom = async (stranger: Web, route: Route, form?: Form) => {
    const unknown = await stranger.send(route.method, '/nothing/of/that/name', form)
    const page = await stranger.send(route.method, addressOf(route), form)
    return { page, unknown }
  }

  it.each(named(routes))(
    'AD-06: %s is no page at another account’s address, for its administrator',
    async (_name, route) => {
      const { user, web: stranger } = await makeStranger()
      const form = await formFor(user, route)
      const before = await everyRow(service)
      const { page, unknown } = await pageFrom(stranger, route, form)
      expect([page.status, textOf(page.text)]).toEqual([404, textOf(unknown.text)])
      expect(page.headers.allow).toBeUndefined()
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it.each(named(routes))('AD-06: %s does not exist there, even for an operator', async (_name, route) => {
    const there = service.web({ ...INSIDE })
    for (const [name, value] of web.cookies) there.cookies.set(name, value)
    const form = await formFor(operator, route)
    const before = await everyRow(service)
    const { page, unknown } = await pageFrom(there, route, form)
    expect([page.status, textOf(page.text)]).toEqual([404, textOf(unknown.text)])
    expect(await everyRow(service)).toEqual(before)
  })

  it('AD-06: no route exists with another method, on the base host, or at an unknown host', async () => {
    for (const route of routes) {
      const other = route.method === 'GET' ? 'POST' : 'GET'
      const { web: stranger } = await makeStranger()
      expect([route.path, (await stranger.send(other, route.path)).status]).toEqual([route.path, 404])
      const sent = { headers: { host: new URL(service.config.publicUrl).host }, method: route.method }
      const base = await post(service.address, route.path, sent)
      const unknown = await post(service.address, '/nothing/of/that/name', sent)
      expect([route.path, base.status, base.body]).toEqual([route.path, 404, unknown.body])
      const nobody = await service.web({ ...INSIDE }, 'nobody').send(route.method, route.path)
      expect([route.path, nobody.status]).toEqual([route.path, 404])
    }
  })

  it('AD-06: without an operators’ account the routes do not exist', async () => {
    const plain = await startTestService()
    const user = await makeUser(plain.context.db, plain.account.slug)
    const visitor = await signInAs(plain, user)
    for (const route of routes) {
      expect([route.path, (await visitor.send(route.method, route.path)).status]).toEqual([route.path, 404])
    }
    await plain.stop()
  })
})

describe('other users', () => {
  it.each(named(routes))(
    'AD-06: %s is closed to whoever is no administrator of the operators’ account',
    async (_name, route) => {
      const clerk = await makeUser(service.context.db, 'operators', { holds: ['orders:read'] })
      const visit = await signInAs(service, clerk, { account: operators, headers: INSIDE })
      const form = await formFor(clerk, route)
      const before = await everyRow(service)
      const page = await visit.send(route.method, addressOf(route), form)
      expect([page.status, textOf(page.text)]).toEqual([403, expect.stringContaining(t('refusal.forbidden'))])
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it.each(named(routes))('AD-06: %s redirects to the sign-in without a session', async (_name, route) => {
    const before = await everyRow(service)
    const page = await service.web({ ...INSIDE }, 'operators').send(route.method, addressOf(route), {})
    expect([page.status, page.text]).toEqual([303, ''])
    expect(page.location).toMatch(/^\/sign-in\?next=%2Foperator/)
    expect(await everyRow(service)).toEqual(before)
  })

  it('AD-06: every change checks the user again: an administrator of another account, a clerk, a disabled operator', async () => {
    const { context } = service
    const stranger = await makeStranger()
    const clerk = await makeUser(context.db, 'operators', { holds: ['orders:read'] })
    const gone = await makeUser(context.db, 'operators')
    await service.database.query('update users set disabled_at = now() where id = $1', [gone.id])
    const { seen = '' } = (await readReviewedApplication(context, application.id)) ?? {}
    const wish = { applicationId: application.id, reviewId: null, seen, intervalSeconds: null } as const
    const before = await everyRow(service)
    for (const { id } of [stranger.user, clerk, gone, { id: 'usr_nobodyatall0' }]) {
      const outcomes = [
        await decideReview(context, id, { ...wish, decision: 'reinstate', reason: 'other', words: 'Mine.' }),
        await confirmDecision(context, id, decisionId),
        await undoDecision(context, id, decisionId),
        await changeRule(context, id, defaultThresholds, true),
        await addScope(context, id, { name: 'taken:over', title: 'Taken', dangerous: false, deviceFlow: true }),
        await changeScopeTitle(context, id, 'orders:read', 'Taken'),
      ]
      expect(outcomes).toEqual(outcomes.map(() => ({ outcome: 'forbidden' })))
    }
    expect(await everyRow(service)).toEqual(before)
  })
})

describe('other networks', () => {
  it.each(named(routes))('AD-06: %s is refused from outside the operators’ networks', async (_name, route) => {
    const form = await formFor(operator, route)
    const before = await everyRow(service)
    const elsewhere = {
      'from outside': OUTSIDE,
      'from outside, with an address of ours in front': { 'x-forwarded-for': '192.0.2.17, 203.0.113.9' },
      'from another network of IPv6': { 'x-forwarded-for': '2001:db8:2::1' },
      'from the proxy itself': { 'x-forwarded-for': '' },
      'with another header': { ...OUTSIDE, 'x-real-ip': '192.0.2.17', forwarded: 'for=192.0.2.17' },
    }
    for (const [what, headers] of Object.entries(elsewhere)) {
      const page = await web.send(route.method, addressOf(route), form, headers)
      expect([what, page.status]).toEqual([what, 403])
      expect(textOf(page.text)).toContain(t('refusal.elsewhere'))
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('is available from every configured network, and other pages from anywhere', async () => {
    for (const address of ['192.0.2.200', '2001:db8:1:7::9', '::ffff:192.0.2.3']) {
      const page = await web.send('GET', '/operator/reviews', undefined, { 'x-forwarded-for': address })
      expect([address, page.status]).toEqual([address, 200])
    }
    expect((await web.send('GET', '/', undefined, OUTSIDE)).status).toBe(200)
  })
})

describe('an old sign-in', () => {
  it('AD-06: every change, and every page that names users, needs a recent one', () => {
    const delicate = routes.filter(({ method, path }) => method === 'POST' || path === '/operator/account')
    expect(delicate.filter(({ fresh }) => !fresh).map(({ method, path }) => `${method} ${path}`)).toEqual([])
  })

  it.each(named(routes.filter(({ fresh }) => fresh)))(
    'AD-06: %s does nothing without a recent one',
    async (_name, route) => {
      const user = await makeUser(service.context.db, 'operators')
      const late = await signInAs(service, user, { account: operators, headers: INSIDE })
      const form = await formFor(user, route)
      await service.database.advance(16 * MINUTE)
      await service.context.applications.refresh()
      const before = await everyRow(service)
      const page = await late.send(route.method, addressOf(route), form)
      expect([page.status, page.text]).toEqual([303, ''])
      expect(page.location).toMatch(/^\/confirm\?next=%2Foperator/)
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it('AD-06: the queue and an application can be viewed, without a form to decide', async () => {
    const user = await makeUser(service.context.db, 'operators')
    const late = await signInAs(service, user, { account: operators, headers: INSIDE })
    await service.database.advance(16 * MINUTE)
    expect((await late.send('GET', '/operator/reviews')).status).toBe(200)
    const page = await late.send('GET', `/operator/application?application=${application.id}`)
    expect(page.status).toBe(200)
    expect(page.text).not.toContain('action="/operator/application/decide"')
    expect(page.text).toContain('/confirm?next=%2Foperator%2Fapplication')
  })
})

describe('forms from other sites', () => {
  it.each(named(routes.filter(({ method }) => method === 'POST')))(
    'AD-06: %s takes no form without our token, with another form’s, or for other values than were shown',
    async (_name, route) => {
      const fresh = await signInAs(service, operator, { account: operators, headers: INSIDE })
      const { token = '', ...unsigned } = (await formFor(operator, route)) ?? {}
      const { token: other = '' } = await signedFor(service, operator, '/account/policy', {})
      const before = await everyRow(service)
      const changed = Object.fromEntries((route.bound ?? []).map((name) => [name, `${unsigned[name]}x`]))
      const forms = {
        unsigned,
        'of another form': { ...unsigned, token: other },
        ...(route.bound ? { 'for other values': { ...unsigned, token, ...changed } } : {}),
      }
      for (const [what, form] of Object.entries(forms)) {
        expect([what, (await fresh.send('POST', route.path, form)).status]).toEqual([what, 403])
      }
      const foreign = { origin: service.web().origin, 'sec-fetch-site': 'same-site' }
      expect((await fresh.send('POST', route.path, { ...unsigned, token }, foreign)).status).toBe(403)
      expect(await everyRow(service)).toEqual(before)
    },
  )
})

describe('markup in texts', () => {
  /** Every tag with the names of its attributes; values are always in double quotes and may contain `>`. */
  const markupOf = (html: string) =>
    (html.match(/<[a-z!/?](?:"[^"]*"|[^>"])*>/gi) ?? []).join('').replace(/"[^"]*"/g, '""')
  /** Where the markup of pages differs, from there on. */
  const differing = (shown: readonly string[], usual: readonly string[]) =>
    shown.map(markupOf).flatMap((markup, place) => {
      const [one, other] = [markup, usual[place] ?? '']
      const at = Array.from(one).findIndex((character, index) => character !== other[index])
      return one === other ? [] : [`${place}: ${one.slice(at - 60, at + 80)} ... ${other.slice(at - 60, at + 80)}`]
    })
  const texts = markupCorpus.filter((text) => /[<>"&']/.test(text) && text.length <= 100)
  const some = (count: number) => texts.filter((_text, at) => at % Math.ceil(texts.length / count) === 0)
  /** Written into the rows directly, although no flow would write it. */
  async function writeEverywhere(text: string): Promise<void> {
    const { database } = service
    const { id } = application
    // All applications, because they are sorted by name.
    await database.query('update applications set name = $1, publisher = $1', [text])
    await database.query('update accounts set name = $2 where id = $1', [service.account.id, text])
    await database.query("update scopes set title = $1 where name = 'orders:read'", [text])
    await database.query('update review_decisions set words = $1', [text])
    await database.query('update application_proposals set name = $1', [text])
    await database.query('update operator_changes set email = $1', [text])
    await database.query(
      'update reviews set appeal = $1, appealed_at = now(), appealed_by = $2, closed_at = null where application_id = $3',
      [text, service.user.id, id],
    )
    // The log is append-only; this disables its triggers.
    await database.query('alter table audit_events disable trigger user')
    await database.query('update audit_events set detail = $2 where application_id = $1', [
      id,
      JSON.stringify({ reason: text, [text]: text }),
    ])
    await database.query('alter table audit_events enable trigger user')
  }

  it('AD-01: names, appeals, operators’ texts and all other values of rows are text on every page', async () => {
    const looking = await signInAs(service, operator, { account: operators, headers: INSIDE })
    await service.database.query('insert into application_vettings (application_id, requested_at) values ($1, now())', [
      application.id,
    ])
    const looked = routes.filter(
      ({ method, path }) => method === 'GET' && !['/operator/rule', '/operator/changes/logo'].includes(path),
    )
    const pages = async (text: string) => {
      await writeEverywhere(text)
      const shown: string[] = []
      for (const route of looked) {
        const page = await looking.send('GET', addressOf(route))
        expect([route.path, page.status]).toEqual([route.path, 200])
        expect(unescapeHtml(page.text), `it is on ${route.path}`).toContain(text)
        // Only the words of relative times may differ between pages.
        shown.push(page.text)
      }
      return shown
    }
    const usual = (await pages('Harmless')).map(markupOf)
    for (const text of some(sized(40, 12))) {
      const shown = await pages(text)
      expect([text, ...differing(shown, usual)]).toEqual([text])
      if (/[<"&]/.test(text)) expect([text, shown.filter((html) => html.includes(text))]).toEqual([text, []])
    }
  })

  it('AD-01: values of forms and of the query are never markup', async () => {
    const looking = await signInAs(service, operator, { account: operators, headers: INSIDE })
    await writeEverywhere('Harmless')
    await service.database.query('delete from application_vettings')
    const answers = async (text: string) => {
      const shown: string[] = []
      for (const route of routes.filter(({ method }) => method === 'POST')) {
        // Nothing is confirmed or undone, so that all pages have the same content.
        const form = (await formFor(operator, route, 'dec_000000000000')) ?? {}
        const { token = '' } = form
        const bound = Object.fromEntries((route.bound ?? []).map((name) => [name, form[name] ?? '']))
        const free = Object.fromEntries(Object.keys(form).map((name) => [name, text]))
        const page = await looking.send('POST', route.path, { ...free, [text]: text, ...bound, token })
        shown.push(`${page.status} ${page.text}`)
      }
      for (const path of ['/operator/accounts', '/operator/applications', '/operator/reviews', '/operator/rule']) {
        const query = new URLSearchParams({ q: text, after: text, filter: text, notice: text })
        shown.push((await looking.send('GET', `${path}?${query}`)).text)
      }
      return shown
    }
    const titled = async (text: string) =>
      service.database.query("update scopes set title = 'Harmless' where title = $1", [text])
    const usual = (await answers('No harm')).map(markupOf)
    await titled('No harm')
    for (const text of some(sized(20, 8)).filter(isName)) {
      const shown = await answers(text)
      await titled(text)
      await writeEverywhere('Harmless')
      expect([text, ...differing(shown, usual)]).toEqual([text])
    }
  })
})
