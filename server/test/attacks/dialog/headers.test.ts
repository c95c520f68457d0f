/** DG-13, DG-15, DG-17, DG-18, DG-26: headers and redirects of every page of the dialog. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { savePolicy } from '../../../src/flows/accounts/policy.ts'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import {
  DialogWindow,
  dialogAddress,
  exchange,
  makeDialogApplication,
  makePkce,
  openQuestion,
} from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication, type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { USERS_FROM } from '../../rig/origins/users-from.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import { formFields, nextLocation, type Page, type Web } from '../../rig/web.ts'

const PASSWORD = 'a quiet green harbour'
const pkce = makePkce()
const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' }

let service: TestService
let passed: Passed
beforeAll(async () => {
  service = await startTestService()
  passed = await passEverything()
})
afterAll(() => service.stop())

/** Every answer between an application's link and the redirect back, by kind. */
type Passed = {
  readonly application: MadeApplication
  readonly base: ReadonlyMap<string, Page>
  readonly account: ReadonlyMap<string, Page>
}

async function passEverything(): Promise<Passed> {
  const { context, account: home } = service
  const application = await makeDialogApplication(service)
  const user = await makeUser(context.db, home.slug, { password: PASSWORD })
  const window = new DialogWindow(service)
  const { base, account } = window
  const at = { application, base: new Map<string, Page>(), account: new Map<string, Page>() }
  const begin = (given: Record<string, string> = {}) => {
    const url = new URL(dialogAddress(service, { application, parameters: { ...challenge, ...given } }))
    return base.send('GET', url.pathname + url.search)
  }

  at.base.set('no such application', await begin({ client_id: 'x' }))
  at.base.set('no such address', await begin({ redirect_uri: 'https://evil.example/' }))
  at.base.set('a scope that is none', await begin({ scope: 'no:such' }))
  at.base.set('a state that is too long', await begin({ state: 'x'.repeat(1025) }))
  at.base.set('nothing was pushed', await begin({ request_uri: 'x' }))
  at.base.set('a name given twice', await base.send('GET', '/oauth/authorize?client_id=x&client_id=y'))
  at.base.set('not UTF-8', await base.send('POST', '/oauth/authorize?client_id=%ff', {}))
  at.base.set('too much', await base.send('POST', '/oauth/authorize', { state: 'x'.repeat(20_000) }))
  const suspended = await makeDialogApplication(service)
  await suspendApplication(context.db, suspended.id, 'looked into')
  await context.applications.refresh()
  at.base.set('suspended', await begin({ client_id: suspended.id }))
  const unset = await makeDialogApplication(service, { redirectUris: [] })
  at.base.set('not set up', await begin({ client_id: unset.id }))

  const opened = await begin({ state: 'kept' })
  at.base.set('opened', opened)
  at.base.set('opened by a form', await base.send('POST', '/oauth/authorize', { client_id: 'x' }, { origin: 'null' }))
  at.base.set('another browser', await new DialogWindow(service).base.send('GET', opened.location ?? ''))
  at.base.set('which account', await base.send('GET', opened.location ?? ''))
  const request = formFields(base.last?.text ?? '', '/dialog').request ?? ''
  at.base.set('no such account', await base.send('POST', '/dialog', { request, typed: 'nobody-here' }))
  at.base.set('not our form', await base.send('POST', '/dialog', { request }, { origin: 'https://evil.example' }))
  const language = { language: 'de', next: opened.location ?? '' }
  at.base.set('another language', await base.send('POST', '/language', language))
  const chosen = await base.send('POST', '/dialog', { request, typed: home.slug })
  at.base.set('account chosen', chosen)
  at.base.set('not passed on', await base.send('GET', '/dialog/pass?request=x'))
  const entered = await account.send('GET', pathOf(chosen))
  at.account.set('entered', entered)
  const returned = await base.send('GET', pathOf(entered))
  at.base.set('passed on', returned)

  const question = pathOf(returned)
  at.account.set('not signed in', await account.send('GET', question))
  at.account.set('another language', await account.send('POST', '/language', { language: 'en', next: question }))
  const signIn = USERS_FROM === 'own' ? signInHere : signInElsewhere
  for (const [name, page] of Object.entries(await signIn(account, user, question))) at.account.set(name, page)
  at.account.set('another browser', await account.send('GET', '/dialog?request=x'))
  at.account.set('the question', await account.send('GET', question))
  const form = formFields(account.last?.text ?? '', '/dialog/decision')
  at.account.set('not signed', await account.send('POST', '/dialog/decision', { ...form, token: '' }))
  at.account.set('no answer', await account.send('POST', '/dialog/decision', form))
  const bound = { request: form.request ?? '', shown: '' }
  const changed = await signedFor(service, user, '/dialog/decision', bound)
  at.account.set('changed', await account.send('POST', '/dialog/decision', { ...changed, decision: 'allow' }))
  at.account.set('allowed', await account.send('POST', '/dialog/decision', { ...form, decision: 'allow' }))
  at.account.set('answered', await account.send('GET', question))
  const again = await openQuestion(service, { application, user, parameters: challenge })
  const { account: other } = again.window
  const second = formFields(other.last?.text ?? '', '/dialog/decision')
  at.account.set('denied', await other.send('POST', '/dialog/decision', { ...second, decision: 'cancel' }))
  await openQuestion(service, { application, user, parameters: challenge }).then(async ({ window: last }) => {
    const leaving = formFields(last.account.last?.text ?? '', '/dialog/switch')
    at.account.set('switched', await last.account.send('POST', '/dialog/switch', leaving))
  })
  at.account.set('barred', await barred())
  return at
}

type Kinds = Readonly<Record<string, Page>>

async function signInHere(web: Web, user: MadeUser, question: string): Promise<Kinds> {
  const next = encodeURIComponent(question)
  const wrong = { email: user.email, password: 'not this', next: question }
  const signedIn = {
    'sign in': await web.send('GET', `/sign-in?next=${next}`),
    'wrong password': await web.send('POST', '/sign-in', wrong),
    'second step': await web.send('GET', `/sign-in/code?next=${next}`),
    'wrong second step': await web.send('POST', '/sign-in/code', { code: '1', next: question }),
    'signed in': await web.send('POST', '/sign-in', { ...wrong, password: PASSWORD }),
    'prove it again': await web.send('GET', `/confirm?next=${next}`),
  }
  const proof = await signedFor(service, user, '/confirm', {})
  return {
    ...signedIn,
    'not proven': await web.send('POST', '/confirm', { ...proof, password: 'no', next: question }),
    proven: await web.send('POST', '/confirm', { ...proof, password: PASSWORD, next: question }),
  }
}

async function signInElsewhere(web: Web, { email }: MadeUser, question: string): Promise<Kinds> {
  const next = encodeURIComponent(question)
  const there = USERS_FROM === 'host' ? `/sign-in?next=${next}` : `/sign-in/provider?next=${next}`
  const back = USERS_FROM === 'host' ? `/sign-in/return?next=${next}` : '/sign-in/provider/return'
  const goThere = async (from: string) => {
    await web.send('GET', from)
    const { pathname, search } = await web.authenticateElsewhere(email)
    return web.send('GET', pathname + search)
  }
  return {
    'sign in': await web.send('GET', `/sign-in?next=${next}`),
    'sign in there': await web.send('GET', there),
    'back without an answer': await web.send('GET', back),
    'signed in': await goThere(there),
    'prove it again': await web.send('GET', `/confirm?next=${next}`),
    proven: await goThere(`/confirm?next=${next}`),
  }
}

/** Path and query to which the browser goes on. */
function pathOf(page: Page): string {
  const { pathname, search } = new URL(nextLocation(page) ?? '')
  return pathname + search
}

async function barred(): Promise<Page> {
  const account = await makeAccount(service.context.db)
  const user = await makeUser(service.context.db, account.slug)
  const policy = {
    deviceFlow: true,
    secondFactor: 'optional' as const,
    unverifiedPublishers: true,
    onlyApplications: [],
  }
  expect((await savePolicy(service.context, user.id, policy)).outcome).toBe('saved')
  const application = await makeDialogApplication(service)
  const at = await openQuestion({ ...service, account }, { application, user, parameters: challenge })
  return at.at.page
}

/** Headers of every page (WB-11), except the two that differ in a dialog. */
const HEADERS = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const policyOf = ({ headers }: Page) => String(headers['content-security-policy']).replace(/nonce-[\w+/=]+/g, 'nonce-…')
const policy = (formAction: string) =>
  "default-src 'none'; script-src 'nonce-…'; style-src 'nonce-…'; img-src 'self'; " +
  `form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'`

const everything = () => [...passed.base, ...passed.account]

describe('every page of the dialog', () => {
  it('is tested in all its kinds', () => {
    const statuses = new Set(everything().map(([, { status }]) => status))
    expect([...statuses].sort()).toEqual([200, 303, 400, 403, 413])
  })

  it('DG-13: may not be framed, whatever it shows', () => {
    for (const [name, { headers }] of everything()) {
      expect([name, headers]).toEqual([name, expect.objectContaining(HEADERS)])
    }
  })

  it('DG-13: has one strict policy; forms lead from the base host to accounts, and from the consent page to the application', () => {
    const accounts = `'self' ${service.config.publicUrl.replace('://', '://*.')}`
    for (const [name, page] of passed.base) expect([name, policyOf(page)]).toEqual([name, policy(accounts)])
    for (const [name, page] of passed.account) {
      const asks = name === 'the question' || name === 'changed'
      expect([name, policyOf(page)]).toEqual([name, policy(asks ? "'self' https://app.example" : "'self'")])
    }
  })

  it('DG-15: keeps the reference to the page that opened it', () => {
    for (const [name, { headers }] of everything()) {
      expect([name, headers['cross-origin-opener-policy']]).toEqual([name, 'unsafe-none'])
    }
  })

  it('DG-17: has no external link but those back to the application, without a referrer, and to where users sign in', () => {
    for (const [name, { text }] of everything()) {
      for (const [tag, href = ''] of text.matchAll(/<a\b[^>]*href="([^"]*)"[^>]*>/g)) {
        const inside = /^(#|\/(?!\/))/.test(href) || href.startsWith(`http://${service.account.slug}.`)
        const elsewhere = service.config.signInUrl !== null && href.startsWith(`${service.config.signInUrl}?`)
        const known = inside || elsewhere || (href.startsWith(`${CALLBACK}?error=`) && tag.includes('rel="noreferrer"'))
        const opens = /target=/.test(tag) && !/rel="noopener noreferrer"/.test(tag)
        expect([name, tag, known, opens]).toEqual([name, tag, true, false])
      }
    }
  })

  it('DG-17: loads nothing from elsewhere', () => {
    for (const [name, { text }] of everything()) {
      const loaded = Array.from(text.matchAll(/<(?:img|script|link)\b[^>]*(?:src|href)="([^"]*)"/g), ([, from]) => from)
      expect([name, loaded.filter((from) => !/^\/(?!\/)/.test(from ?? ''))]).toEqual([name, []])
    }
  })

  it('DG-18: redirects only by 303, which repeats no form', () => {
    const redirects = everything().filter(([, { location }]) => location !== null)
    expect(redirects.length).toBeGreaterThanOrEqual(12)
    for (const [name, { status, text, location }] of redirects) {
      expect([name, status, text]).toEqual([name, 303, ''])
      expect(decodeURIComponent(location ?? '')).not.toMatch(/harbour|not this|token=|SVC|secret|password/)
    }
    expect(everything().filter(([, { status }]) => status > 303 && status < 400)).toEqual([])
  })

  it('DG-18, DG-26: sends the application code, state and issuer, and nothing else', () => {
    const out = redirectsTo('https://app.example')
    expect(out.map(([name, url]) => [name, [...url.searchParams.keys()]])).toEqual([
      ['allowed', ['code', 'state', 'iss']],
      ['denied', ['error', 'iss']],
    ])
  })

  it('DG-26: shows the code on no page, in no other address and in no row', async () => {
    const [, url] = redirectsTo('https://app.example')[0] ?? ['', new URL(CALLBACK)]
    const code = url.searchParams.get('code') ?? ''
    expect(code).toMatch(/^lkc_.{20,}/)
    const bare = code.slice('lkc_0000'.length)
    const seen = everything().filter(([, page]) => page.text.includes(bare) || page.location?.includes(bare))
    expect(seen.map(([name]) => name)).toEqual(['allowed'])
    const exchanged = await exchange(service, passed.application, { code, pkce })
    expect(exchanged.status, 'it is the real one').toBe(200)
    const tables = await service.database.query<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')",
    )
    for (const { name } of tables) {
      const rows = await service.database.query(`select from public.${name} t where t::text like $1`, [`%${bare}%`])
      expect([name, rows.length]).toEqual([name, 0])
    }
  })
})

function redirectsTo(origin: string): [string, URL][] {
  return everything().flatMap(([name, { location }]): [string, URL][] => {
    const url = location === null ? null : URL.parse(location)
    return url?.origin === origin ? [[name, url]] : []
  })
}

describe('every other page', () => {
  const openerPolicy = ({ headers }: Page) => headers['cross-origin-opener-policy']

  it('DG-15: has no reference to the page that opened it', async () => {
    const { base, account } = await new DialogWindow(service).signIn(service.user)
    const nobody = new DialogWindow(service).account
    const pages = [
      await base.send('GET', '/activate'),
      await base.send('POST', '/activate', { typed: 'nobody-here' }),
      await base.send('POST', '/activate', { typed: service.account.slug }),
      await base.send('POST', '/language', { language: 'de', next: '/activate' }),
      await nobody.send('GET', '/sign-in'),
      await nobody.send('GET', '/sign-in?next=/connect/code'),
      await nobody.send('GET', '/sign-in?next=//dialog'),
      await nobody.send('GET', '/sign-in?next=https://evil.example/dialog'),
      await nobody.send('GET', '/sign-in?next=/dialogue'),
      await nobody.send('GET', '/sign-in?next=/connect/dialog'),
      await nobody.send('POST', '/sign-in', { email: 'x@y.example', password: 'x', next: '/' }),
      await nobody.send('GET', '/recover'),
      await nobody.send('POST', '/language', { language: 'de', next: '/' }),
      await account.send('GET', '/dialogue'),
      await account.send('GET', '/connect/dialog'),
      await account.send('GET', '/confirm?next=/security'),
    ]
    expect(pages.map(openerPolicy)).toEqual(pages.map(() => 'same-origin'))
  })

  const onTheWay = [
    ...['/dialog', '/dialog/enter', '/sign-in', '/sign-in/return', '/sign-in/code', '/confirm'],
    ...['/sign-in/provider', '/sign-in/provider/return'],
    ...['/second-factor', '/security/authenticator'],
  ]
  const others = pageRoutes.filter(({ method, path }) => method === 'GET' && !onTheWay.includes(path))

  it('DG-15: has none after any redirect either', async () => {
    const web = await signInAs(service, service.user)
    const open: string[] = []
    for (const { path } of others) {
      for (const query of ['', '?next=/dialog', '?next=%2Fdialog%3Frequest%3Dx', '?next=/sign-in%3Fnext%3D/dialog']) {
        if (openerPolicy(await web.send('GET', path + query)) !== 'same-origin') open.push(path + query)
      }
    }
    expect(open).toEqual([])
  })

  it('DG-15: has none if it belongs to no account either', async () => {
    const { base } = new DialogWindow(service)
    const elsewhere = service.web({}, 'nobody-here')
    for (const page of [await elsewhere.send('GET', '/'), await elsewhere.send('GET', '/?next=/dialog')]) {
      expect([page.status, openerPolicy(page)]).toEqual([404, 'same-origin'])
    }
    expect(openerPolicy(await base.send('GET', '/activate?next=/dialog'))).toBe('same-origin')
  })
})
