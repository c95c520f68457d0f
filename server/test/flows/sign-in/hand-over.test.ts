/** Sign-in at the host service: the way there and back, users and accounts that appear, roles, and what pages offer. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSetupLink, setUpAccount } from '../../../src/flows/accounts/set-up.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { SESSION } from '../../../src/http/web/cookies.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { markClosed } from '../../../src/store/accounts/closing.ts'
import { askMe, connect } from '../../rig/connect.ts'
import { createRole, createUser } from '../../rig/create.ts'
import { DialogWindow, dialogAddress, makeDialogApplication } from '../../rig/dialog.ts'
import { makeHost, readSignInRequest, signInAtHost, type TestHost } from '../../rig/host-service.ts'
import { makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signInAs } from '../../rig/signed-in.ts'
import { formFields, nextLocation, textOf } from '../../rig/web.ts'
import { everyRow } from '../../rig/witness.ts'

let host: TestHost
let service: TestService
beforeAll(async () => {
  host = await makeHost()
  const creating = { SIGN_IN_CREATES: 'accounts', OPERATOR_ACCOUNT: 'operators' }
  service = await startTestService({ ...host.environment, ...creating }, { clock: true })
  await createRole(service.context.db, { account: service.account.slug, name: 'clerk', scopes: ['orders:read'] })
  await makeAccount(service.context.db, { slug: 'operators' })
})
afterAll(async () => {
  await service.stop()
  host.remove()
})

let count = 0
/** A user whom Latchkey does not know. */
function somebody() {
  count += 1
  return { sub: `somebody-${count}`, email: `somebody${count}@host.example` }
}

const userOf = async (externalId: string) => {
  const [user] = await service.database.query<Record<string, unknown>>(
    'select id, email, name, origin, permissions, disabled_at from users where external_id = $1',
    [externalId],
  )
  return user
}

describe('the way there', () => {
  it('leads to SIGN_IN_URL with the account, a challenge and a return address', async () => {
    const page = await service.web().send('GET', '/connect/code')
    expect(page.location).toBe('/sign-in?next=%2Fconnect%2Fcode')
    const { account, challenge, returnTo, maxAge } = readSignInRequest(
      (await service.web().send('GET', page.location ?? '')).location,
    )
    expect(account).toBe(service.account.slug)
    expect(challenge).toMatch(/^[\w-]{50,70}$/)
    expect(returnTo.href).toBe(`${service.web().origin}/sign-in/return?next=%2Fconnect%2Fcode`)
    expect(maxAge).toBeNull()
  })

  it('shows a link after signing out, and says that the host service may still know the user', async () => {
    const web = service.web()
    await signInAtHost(service, host, web, { claims: somebody() })
    await web.get('/')
    const page = await web.submit('/sign-out')
    expect(textOf(page.text)).toContain('You may still be signed in at host.example.')
    expect([page.status, web.cookies.has(SESSION)]).toEqual([200, false])
    const [link = ''] = /href="http:\/\/host\.example[^"]*"/.exec(page.text) ?? []
    expect(link).not.toContain('max_age')
  })

  it('does not follow from the choice of an account, a form: the page that comes goes on by itself', async () => {
    const window = new DialogWindow(service)
    const activated = await window.base.send('POST', '/activate', { typed: service.account.slug })
    expect([activated.status, activated.location]).toEqual([200, null])
    expect(activated.headers.refresh).toBe(`0; url=${window.account.origin}/connect/code`)
    expect(activated.text).toContain(`href="${window.account.origin}/connect/code"`)
    const application = await makeDialogApplication(service)
    await window.go(dialogAddress(service, { application }))
    const { request = '' } = formFields(window.base.last?.text ?? '', '/dialog')
    const chosen = await window.base.send('POST', '/dialog', { request, typed: service.account.slug })
    expect([chosen.status, nextLocation(chosen)]).toEqual([
      200,
      expect.stringMatching(/^http:\/\/account-[^/]*\/dialog\/enter\?/),
    ])
    const { left } = await window.follow(new URL(window.base.origin), chosen)
    expect(readSignInRequest(left?.href ?? null)).toMatchObject({ account: service.account.slug })
  })

  it('leads there from /activate and from the dialog for an account that does not exist yet', async () => {
    const window = new DialogWindow(service)
    const activated = await window.base.send('POST', '/activate', { typed: 'activates-first' })
    const origin = service.web({}, 'activates-first').origin
    expect([activated.status, nextLocation(activated)]).toEqual([200, `${origin}/connect/code`])
    // Not remembered, because it may have been a typo.
    expect(window.base.cookies.has('__Host-accounts')).toBe(false)
    const arrived = await service.web({}, 'activates-first').send('GET', '/connect/code')
    expect(readSignInRequest(arrived.location)).toMatchObject({ account: 'activates-first' })
    const application = await makeDialogApplication(service)
    await window.go(dialogAddress(service, { application }))
    const { request = '' } = formFields(window.base.last?.text ?? '', '/dialog')
    const chosen = await window.base.send('POST', '/dialog', { request, typed: 'asks-first' })
    expect([chosen.status, nextLocation(chosen)?.startsWith(service.web({}, 'asks-first').origin)]).toEqual([200, true])
    for (const typed of ['www', 'operators-of-nobody.', 'no slug']) {
      expect((await window.base.send('POST', '/activate', { typed })).status, typed).toBe(400)
    }
  })

  it('does not follow from a form, for which the page that comes has a link', async () => {
    const web = service.web()
    await signInAtHost(service, host, web, { claims: somebody() })
    await web.get('/connect/code')
    await service.database.query('delete from sessions')
    const page = await web.submit('/connect/code', { code: '1234' })
    expect(page.text).toContain('href="http://host.example/latchkey/sign-in?')
  })
})

describe('the way back', () => {
  it('signs in, and goes on to the page that was asked for', async () => {
    const web = service.web()
    const user = somebody()
    const page = await signInAtHost(service, host, web, { claims: user, from: '/sign-in?next=%2Fapplications' })
    expect([page.status, page.location]).toEqual([303, '/applications'])
    expect((await web.get('/')).text).toContain(user.email)
  })

  it('records when and how the user authenticated there', async () => {
    const user = somebody()
    const claims = { ...user, auth_time: Math.floor(Date.now() / 1000) - 600, amr: ['pwd', 'otp'] }
    await signInAtHost(service, host, service.web(), { claims })
    const [session] = await service.database.query<{ amr: string[]; authenticated_at: Date }>(
      `select s.amr, s.authenticated_at from sessions s join users u on u.id = s.user_id where external_id = $1`,
      [user.sub],
    )
    expect(session?.amr).toEqual(['pwd', 'otp'])
    expect(session?.authenticated_at.getTime()).toBe(claims.auth_time * 1000)
  })

  it('works with ES256, too', async () => {
    const other = await makeHost('ES256')
    const served = await startTestService({ ...other.environment, SIGN_IN_CREATES: 'users' })
    expect((await signInAtHost(served, other, served.web())).status).toBe(303)
    await served.stop()
    other.remove()
  })
})

describe('a recent sign-in', () => {
  it('is asked for with max_age, by a page with a link', async () => {
    const web = service.web()
    const user = somebody()
    await signInAtHost(service, host, web, { claims: user })
    await service.database.advance(16 * 60_000)
    const page = await web.get('/security')
    expect(textOf(page.text)).toContain('This step needs a recent sign-in.')
    const [, address = ''] = /href="(http:\/\/host\.example[^"]*)"/.exec(page.text) ?? []
    expect(readSignInRequest(address.replaceAll('&amp;', '&')).maxAge).toBe('450')
  })

  it('after many grants is a new one', async () => {
    const web = service.web()
    await signInAtHost(service, host, web, { claims: somebody() })
    const page = await web.get('/confirm?next=%2Fsecurity&anew=1')
    const [, address = ''] = /href="(http:\/\/host\.example[^"]*)"/.exec(page.text) ?? []
    expect(readSignInRequest(address.replaceAll('&amp;', '&')).maxAge).toBe('10')
  })
})

describe('roles and permissions', () => {
  it('are what the host service says, and unknown names are ignored', async () => {
    const user = somebody()
    const given = { roles: ['clerk', 'no role here'], permissions: ['orders:write', 'no:scope'] }
    await signInAtHost(service, host, service.web(), { claims: { ...user, ...given } })
    const known = await userOf(user.sub)
    expect(known).toMatchObject({ origin: 'host', name: 'Ada', permissions: ['orders:write'] })
    const held = await service.database.query<{ name: string }>(
      'select r.name from roles r join user_roles u on u.role_id = r.id where u.user_id = $1',
      [known?.id],
    )
    expect(held).toEqual([{ name: 'clerk' }])
  })

  it('that make an administrator are mailed to all others', async () => {
    const [ann, bea] = [somebody(), somebody()]
    const sign = (who: object, roles: readonly string[]) =>
      signInAtHost(service, host, service.web(), { claims: { ...who, roles } })
    await sign(ann, ['administrator'])
    await sign(bea, ['clerk'])
    await sign(bea, ['administrator'])
    await sign(bea, ['administrator'])
    const { id } = (await userOf(ann.sub)) ?? {}
    const other = (await userOf(bea.sub)) ?? {}
    expect(
      await service.database.query("select detail from mails where user_id = $1 and kind = 'administrator_made'", [id]),
    ).toEqual([{ detail: { user: other.id, by: 'host_service' } }])
  })

  it('cut the credentials of a user who lost them, and the change is recorded', async () => {
    const user = somebody()
    const claims = { ...user, roles: [], permissions: ['orders:read'] }
    await signInAtHost(service, host, service.web(), { claims })
    const { id = '' } = (await userOf(user.sub)) as { id: string }
    const { credential } = await connect(service, { scope: 'orders:read', user: { id, email: user.email } })
    expect((await askMe(service, credential)).body.scope).toBe('orders:read')
    await signInAtHost(service, host, service.web(), { claims: { ...claims, permissions: [] } })
    await service.context.grantCache.pull()
    expect((await askMe(service, credential)).body.scope ?? '').toBe('')
    const [event] = await service.database.query<{ detail: unknown }>(
      `select detail from audit_events where kind = 'user.updated' and user_id = $1`,
      [id],
    )
    expect(event?.detail).toEqual({ changed: { permissions: { from: ['orders:read'], to: [] } } })
  })

  it('follow the address and the name, too', async () => {
    const user = somebody()
    await signInAtHost(service, host, service.web(), { claims: user })
    const email = `new-${user.email}`
    await signInAtHost(service, host, service.web(), { claims: { ...user, email, name: 'Ada L.' } })
    expect(await userOf(user.sub)).toMatchObject({ email, name: 'Ada L.' })
  })
})

describe('what appears on first use', () => {
  it('is an account and its user, if the configuration says so', async () => {
    const web = service.web({}, 'newcomers')
    const page = await signInAtHost(service, host, web, { claims: { account_name: 'Newcomers Ltd' }, from: '/' })
    expect([page.status, page.location]).toEqual([303, '/'])
    expect((await web.get('/')).text).toContain('Newcomers Ltd')
  })

  it('appears once, though several browsers come at the same moment', async () => {
    const user = { ...somebody(), account_name: 'At once' }
    const webs = Array.from({ length: 6 }, () => service.web({}, 'at-once'))
    const pages = await Promise.all(webs.map((web) => signInAtHost(service, host, web, { claims: user, from: '/' })))
    expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 303))
    const sessions = await service.database.query(
      'select from sessions s join users u on u.id = s.user_id where u.external_id = $1',
      [user.sub],
    )
    expect([
      (await service.database.query(`select from accounts where slug = 'at-once'`)).length,
      sessions.length,
    ]).toEqual([1, 6])
    expect(await service.database.query('select from users where external_id = $1', [user.sub])).toHaveLength(1)
  })

  it('is asked of the host service alone, whatever was requested, and nothing is stored before its answer', async () => {
    const web = service.web({}, 'nobody-yet')
    const before = await everyRow(service)
    const requests = { '/': '/', '/connect/code': '/connect/code', '/sign-in?next=https://evil.example/': '/' }
    for (const [path, next] of Object.entries(requests)) {
      const { account, returnTo } = readSignInRequest((await web.send('GET', path)).location)
      const asked = [account, returnTo.origin, returnTo.pathname, returnTo.searchParams.get('next')]
      expect([path, ...asked]).toEqual([path, 'nobody-yet', web.origin, '/sign-in/return', next])
    }
    expect((await web.send('POST', '/sign-in', { email: 'a@b.example', password: 'x', next: '/' })).status).toBe(404)
    expect((await web.send('GET', '/nowhere')).status).toBe(404)
    expect(await everyRow(service)).toEqual(before)
  })

  it.each(['www', 'api', 'xn--bcher-kva', '-', 'two_words', 'deep.er', 'trailing-'])(
    'is nothing at "%s", which no account can have: a page says that there is none',
    async (slug) => {
      const page = await service.web({}, slug).send('GET', '/')
      expect([page.status, page.location, textOf(page.text)]).toEqual([
        404,
        null,
        expect.stringContaining(wordsFor('en').t('refusal.no_account')),
      ])
    },
  )

  it('is nothing where an account was closed', async () => {
    const { id, slug } = await makeAccount(service.context.db)
    await service.context.db.transaction((tx) => markClosed(tx, id))
    const user = somebody()
    const page = await signInAtHost(service, host, service.web({}, slug), { claims: user, from: '/' })
    expect(page.status).not.toBe(303)
    expect(await userOf(user.sub)).toBeUndefined()
    expect(await service.database.query('select id from accounts where slug = $1', [slug])).toEqual([{ id }])
  })

  it('is nothing otherwise, and a page says whom to ask', async () => {
    const strict = await startTestService(host.environment)
    const page = await signInAtHost(strict, host, strict.web())
    expect(page.status).toBe(403)
    expect(textOf(page.text)).toContain(`Ask an administrator of Account ${strict.account.slug}`)
    expect((await strict.web({}, 'newcomers').get('/')).status).toBe(404)
    await strict.stop()
  })
})

describe('the command line', () => {
  const settings = () => {
    const { keys, publicUrl, operatorAccount, signInUrl } = service.config
    return { keys, publicUrl, operatorAccount, signInUrl }
  }
  const create = (account: string, externalId?: string) =>
    createUser(
      service.context.db,
      { account, email: somebody().email, roles: ['administrator'], password: null, externalId },
      'operators',
      service.config.signInUrl,
    )

  it('creates users by their id at the host service, and no others', async () => {
    const { slug } = service.account
    expect(await create(slug, 'known before')).toMatchObject({ outcome: 'done' })
    expect(await create(slug, 'known before')).toMatchObject({ outcome: 'refused' })
    expect(await create(slug)).toEqual({ outcome: 'refused', reason: 'external_id' })
  })

  it('creates own users only in the account of the operators', async () => {
    expect(await create('operators', 'outsider')).toMatchObject({ outcome: 'refused' })
    expect(await create('operators')).toMatchObject({ outcome: 'done' })
  })

  it('makes no links to set a password', async () => {
    const { db } = service.context
    const { email } = service.user
    const link = { account: service.account.slug, email, reset: false }
    expect(await createSetupLink(db, settings(), link)).toMatchObject({ outcome: 'refused' })
    const account = { slug: 'with-administrator', name: 'With administrator', administrator: email }
    expect(await setUpAccount(db, settings(), account)).toMatchObject({ outcome: 'refused' })
  })
})

describe('pages', () => {
  it('that Latchkey’s own sign-in needs do not exist for users of the host service', async () => {
    const web = service.web()
    await signInAtHost(service, host, web, { claims: somebody() })
    const needing = pageRoutes.filter(({ needs }) => needs !== undefined)
    expect(needing.length).toBeGreaterThan(20)
    for (const { method, path } of needing) {
      expect([path, (await web.send(method, path, method === 'POST' ? {} : undefined)).status]).toEqual([path, 404])
    }
  })

  it('offer none of it', async () => {
    const web = service.web()
    const user = somebody()
    await signInAtHost(service, host, web, { claims: user })
    const { id } = (await userOf(user.sub)) as { id: string }
    const needing = pageRoutes.filter(({ needs }) => needs !== undefined).map(({ method, path }) => `${method} ${path}`)
    for (const path of ['/', '/security', '/account/policy', '/account/people', `/account/person?user=${id}`]) {
      const { text, status } = await web.get(path)
      expect([path, status]).toEqual([path, 200])
      const offered = Array.from(
        text.matchAll(/(href|action)="(\/[^"?]*)/g),
        ([, how, to]) => `${how === 'href' ? 'GET' : 'POST'} ${to}`,
      )
      expect(offered).toContain('POST /sign-out')
      expect(offered.filter((each) => needing.includes(each))).toEqual([])
      expect(text).not.toContain('name="second_factor"')
    }
  })

  it('have no session for an own user of such an account', async () => {
    const user = await makeUser(service.context.db, service.account.slug)
    expect((await (await signInAs(service, user)).send('GET', '/')).location).toBe('/sign-in?next=%2F')
  })
})
