/** AD-06: the operators' console against other users, other hosts, other networks and old sign-ins. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addScope, changeScopeTitle } from '../../../src/flows/applications/scope-catalogue.ts'
import { confirmDecision, decideReview, withdrawDecision } from '../../../src/flows/reviews/decide.ts'
import { readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { post } from '../../rig/device.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import {
  INSIDE,
  OperatorConsole,
  type OperatorPage,
  OUTSIDE,
  operatorPages,
} from '../../rig/scenes/operator-console.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import { textOf, type Web } from '../../rig/web.ts'
import { everyRow } from '../../rig/witness.ts'

const MINUTE = 60_000
const { t } = wordsFor('en')

let scene: OperatorConsole
let service: TestService
let web: Web
beforeAll(async () => {
  scene = await OperatorConsole.start()
  service = scene.service
  web = await scene.signIn()
})
afterAll(() => service.stop())

const named = (some: typeof operatorPages) => some.map((route) => [`${route.method} ${route.path}`, route] as const)

async function makeStranger(holds?: readonly string[]) {
  const account = await makeAccount(service.context.db)
  const user = await makeUser(service.context.db, account.slug, holds ? { holds } : {})
  return { user, web: await signInAs(service, user, { account, headers: INSIDE }) }
}

it('routes are found, and all of them are for operators', () => {
  expect(operatorPages.length).toBeGreaterThanOrEqual(14)
  expect(pageRoutes.filter(({ access }) => access === 'operator')).toEqual(operatorPages)
})

it('AD-06: an operator can open every route', async () => {
  for (const route of operatorPages.filter(({ method }) => method === 'GET')) {
    expect([route.path, (await web.send('GET', scene.addressOf(route))).status]).toEqual([route.path, 200])
  }
})

describe('other hosts', () => {
  const pageFrom = async (stranger: Web, route: OperatorPage, form?: Record<string, string>) => {
    const unknown = await stranger.send(route.method, '/nothing/of/that/name', form)
    const page = await stranger.send(route.method, scene.addressOf(route), form)
    return { page, unknown }
  }

  it.each(named(operatorPages))(
    'AD-06: %s is no page at another account’s address, for its administrator',
    async (_name, route) => {
      const { user, web: stranger } = await makeStranger()
      const form = await scene.formFor(user, route)
      const before = await everyRow(service)
      const { page, unknown } = await pageFrom(stranger, route, form)
      expect([page.status, textOf(page.text)]).toEqual([404, textOf(unknown.text)])
      expect(page.headers.allow).toBeUndefined()
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it.each(named(operatorPages))('AD-06: %s does not exist there, even for an operator', async (_name, route) => {
    const there = service.web({ ...INSIDE })
    for (const [name, value] of web.cookies) there.cookies.set(name, value)
    const form = await scene.formFor(scene.operator, route)
    const before = await everyRow(service)
    const { page, unknown } = await pageFrom(there, route, form)
    expect([page.status, textOf(page.text)]).toEqual([404, textOf(unknown.text)])
    expect(await everyRow(service)).toEqual(before)
  })

  it('AD-06: no route exists with another method, on the base host, or at an unknown host', async () => {
    for (const route of operatorPages) {
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
    for (const route of operatorPages) {
      expect([route.path, (await visitor.send(route.method, route.path)).status]).toEqual([route.path, 404])
    }
    await plain.stop()
  })
})

describe('other users', () => {
  it.each(named(operatorPages))(
    'AD-06: %s is closed to whoever is no administrator of the operators’ account',
    async (_name, route) => {
      const clerk = await makeUser(service.context.db, 'operators', { holds: ['orders:read'] })
      const visit = await scene.signIn(clerk)
      const form = await scene.formFor(clerk, route)
      const before = await everyRow(service)
      const page = await visit.send(route.method, scene.addressOf(route), form)
      expect([page.status, textOf(page.text)]).toEqual([403, expect.stringContaining(t('refusal.forbidden'))])
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it.each(named(operatorPages))('AD-06: %s redirects to the sign-in without a session', async (_name, route) => {
    const before = await everyRow(service)
    const page = await service.web({ ...INSIDE }, 'operators').send(route.method, scene.addressOf(route), {})
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
    const { seen = '' } = (await readReviewedApplication(context, scene.application.id)) ?? {}
    const wish = { applicationId: scene.application.id, seen, intervalSeconds: null } as const
    const before = await everyRow(service)
    for (const { id } of [stranger.user, clerk, gone, { id: 'usr_nobodyatall0' }]) {
      const outcomes = [
        await decideReview(context, id, { ...wish, decision: 'reinstate', reason: 'other', words: 'Mine.' }),
        await confirmDecision(context, id, scene.decisionId),
        await withdrawDecision(context, id, scene.decisionId),
        await addScope(context, id, { name: 'taken:over', title: 'Taken', dangerous: false, deviceFlow: true }),
        await changeScopeTitle(context, id, 'orders:read', 'Taken'),
      ]
      expect(outcomes).toEqual(outcomes.map(() => ({ outcome: 'forbidden' })))
    }
    expect(await everyRow(service)).toEqual(before)
  })
})

describe('other networks', () => {
  it.each(named(operatorPages))('AD-06: %s is refused from outside the operators’ networks', async (_name, route) => {
    const form = await scene.formFor(scene.operator, route)
    const before = await everyRow(service)
    const elsewhere = {
      'from outside': OUTSIDE,
      'from outside, with an address of ours in front': { 'x-forwarded-for': '192.0.2.17, 203.0.113.9' },
      'from another network of IPv6': { 'x-forwarded-for': '2001:db8:2::1' },
      'from the proxy itself': { 'x-forwarded-for': '' },
      'with another header': { ...OUTSIDE, 'x-real-ip': '192.0.2.17', forwarded: 'for=192.0.2.17' },
    }
    for (const [what, headers] of Object.entries(elsewhere)) {
      const page = await web.send(route.method, scene.addressOf(route), form, headers)
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
    const delicate = operatorPages.filter(({ method, path }) => method === 'POST' || path === '/operator/account')
    expect(delicate.filter(({ fresh }) => !fresh).map(({ method, path }) => `${method} ${path}`)).toEqual([])
  })

  it.each(named(operatorPages.filter(({ fresh }) => fresh)))(
    'AD-06: %s does nothing without a recent one',
    async (_name, route) => {
      const user = await makeUser(service.context.db, 'operators')
      const late = await scene.signIn(user)
      const form = await scene.formFor(user, route)
      await service.database.advance(16 * MINUTE)
      await service.context.applications.refresh()
      const before = await everyRow(service)
      const page = await late.send(route.method, scene.addressOf(route), form)
      expect([page.status, page.text]).toEqual([303, ''])
      expect(page.location).toMatch(/^\/confirm\?next=%2Foperator/)
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it('AD-06: the queue and an application can be viewed, without a form to decide', async () => {
    const user = await makeUser(service.context.db, 'operators')
    const late = await scene.signIn(user)
    await service.database.advance(16 * MINUTE)
    expect((await late.send('GET', '/operator/reviews')).status).toBe(200)
    const page = await late.send('GET', `/operator/application?application=${scene.application.id}`)
    expect(page.status).toBe(200)
    expect(page.text).not.toContain('action="/operator/application/decide"')
    expect(page.text).toContain('/confirm?next=%2Foperator%2Fapplication')
  })
})

describe('forms from other sites', () => {
  it.each(named(operatorPages.filter(({ method }) => method === 'POST')))(
    'AD-06: %s takes no form without our token, with another form’s, or for other values than were shown',
    async (_name, route) => {
      const fresh = await scene.signIn()
      const { token = '', ...unsigned } = (await scene.formFor(scene.operator, route)) ?? {}
      const { token: other = '' } = await signedFor(service, scene.operator, '/account/policy', {})
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
