/** AD-01, AD-04 to AD-06: the developer console. Names that are more than names, fields that nobody asked for, other people. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isApplicationName } from '../../../src/core/applications/application.ts'
import { registerApplication } from '../../../src/flows/applications/own.ts'
import { pageRoutes } from '../../../src/http/web/account-routes.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { makeSettings } from '../../rig/application-settings.ts'
import { type MadeUser, makeAccount, makeApplication, makeScopes, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor, signInAs } from '../../rig/signed-in.ts'
import { sized } from '../../rig/size.ts'
import { textOf, unescapeHtml, type Web } from '../../rig/web.ts'
import { makeDelivered } from '../../rig/webhooks.ts'
import { everyRow } from '../../rig/witness.ts'
import { markupCorpus } from '../web/markup-corpus.ts'

const MINUTE = 60_000
const { t } = wordsFor('en')

type Account = { readonly id: string; readonly slug: string }
type Own = {
  readonly id: string
  readonly secret: string
  readonly secretId: string
  readonly endpointId: string
  readonly deliveryId: string
}

let service: TestService
let administrator: MadeUser
let web: Web
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
  await makeScopes(service.context.db, ['orders:read', 'orders:write'])
  administrator = await makeUser(service.context.db, service.account.slug)
  web = await signInAs(service, administrator)
})
afterAll(() => service.stop())

const SETTINGS = { ...makeSettings({ redirectUris: ['https://board.example/'] }), public: false }

/** Registered by somebody of their account. */
async function makeOwn(by: MadeUser, given: { name?: string } = {}): Promise<Own> {
  // More of them than an account may have before a review.
  await service.database.query('delete from application_vettings')
  const made = await registerApplication(service.context, by.id, { ...SETTINGS, ...given })
  if (made.outcome !== 'registered') throw new Error(`it was not registered: ${made.outcome}`)
  const secrets = 'select id from application_secrets where application_id = $1'
  const [row] = await service.database.query<{ id: string }>(secrets, [made.id])
  const hooked = await makeDelivered(service, made.id, by)
  return { id: made.id, secret: made.secret ?? '', secretId: row?.id ?? '', ...hooked }
}

async function makeStranger(): Promise<{ account: Account; user: MadeUser; web: Web }> {
  const account = await makeAccount(service.context.db)
  const user = await makeUser(service.context.db, account.slug)
  return { account, user, web: await signInAs(service, user, { account }) }
}

const routes = pageRoutes.filter(({ path }) => path.startsWith('/developer'))
const ofOne = routes.filter(({ path }) => path.startsWith('/developer/application'))
const named = (some: typeof routes) => some.map((route) => [`${route.method} ${route.path}`, route] as const)

/** A whole form for a route, as if this user's own page had had it. */
async function fieldsFor(user: MadeUser, route: (typeof routes)[number], own: Own): Promise<Record<string, string>> {
  const { id: application, secretId: secret, endpointId: endpoint, deliveryId: delivery } = own
  const values: Record<string, string> = { application, secret, endpoint, delivery, domain: 'acme.example' }
  const bound = Object.fromEntries((route.bound ?? []).map((name) => [name, values[name] ?? '']))
  const url = 'https://evil.example/hooks'
  const typed = { name: 'Taken Over', label: 'Taken over', domain: 'evil.example', remove_logo: 'on', url }
  const free = { step: 'scopes', kind: 'device', ...typed, 'use.orders:read': 'default' }
  return { ...free, device_flow: 'on', ...(await signedFor(service, user, route.path, bound)) }
}

const addressOf = (route: (typeof routes)[number], { id, endpointId }: Own) =>
  route.method === 'GET' ? `${route.path}?application=${id}&endpoint=${endpointId}` : route.path

it('there are routes to try', () => {
  expect(routes.filter(({ access }) => access !== 'administrator')).toEqual([])
  expect(ofOne.length).toBeGreaterThanOrEqual(14)
})

describe('texts that are more than texts', () => {
  /** Every tag with the names of its attributes; `>` may stand in a value, which is always in double quotes. */
  const markupOf = (html: string) =>
    (html.match(/<[a-z!/?](?:"[^"]*"|[^>"])*>/gi) ?? []).join('').replace(/"[^"]*"/g, '""')
  const texts = markupCorpus.filter((text) => /[<>"&']/.test(text))
  const some = (all: readonly string[], count: number) =>
    all.filter((_text, at) => at % Math.ceil(all.length / count) === 0)

  function expectHarmless(text: string, shown: readonly string[], usual: readonly string[]): void {
    expect([text, shown.map(markupOf)]).toEqual([text, usual])
    if (/[<"&]/.test(text)) expect([text, shown.filter((html) => html.includes(text))]).toEqual([text, []])
  }

  it('AD-01: an application’s name and its secret’s label are never markup, on any page of the console', async () => {
    // An account with nothing else in its list.
    const { user, web: looking } = await makeStranger()
    const own = await makeOwn(user)
    const pages = async (name: string) => {
      await service.database.query('update applications set name = $2 where id = $1', [own.id, name])
      await service.database.query('update application_secrets set label = $2 where id = $1', [
        own.secretId,
        name.slice(0, 60),
      ])
      const shown: string[] = []
      const looked = routes.filter(({ method, path }) => method === 'GET' && path !== '/developer/new')
      for (const { path } of looked) {
        for (const by of path.endsWith('/preview') ? ['code', 'dialog'] : ['']) {
          const page = await looking.send('GET', `${path}?application=${own.id}&endpoint=${own.endpointId}&by=${by}`)
          expect([path, page.status]).toEqual([path, 200])
          expect(unescapeHtml(page.text), 'it is there at all').toContain(name)
          shown.push(page.text)
        }
      }
      return shown
    }
    const usual = (await pages('Harmless')).map(markupOf)
    for (const name of some(texts.filter(isApplicationName), sized(40, 12)))
      expectHarmless(name, await pages(name), usual)
  })

  it.each(['kind', 'scopes', 'redirects', 'of the settings'] as const)(
    'AD-01: what a form brings back is never markup: step %s',
    async (step) => {
      const own = await makeOwn(administrator)
      const settings = step === 'of the settings'
      const action = settings ? '/developer/application/settings' : '/developer/new'
      const form = await signedFor(service, administrator, action, settings ? { application: own.id } : {})
      const page = async (text: string) => {
        const typed = { name: text, kind: 'web', redirects: text, label: text, 'use.orders:read': 'may', [text]: text }
        const wrong = step === 'kind' ? { kind: text } : { step: step === 'scopes' ? 'kind' : 'redirects' }
        return [(await web.send('POST', action, { ...typed, ...wrong, ...form })).text]
      }
      // The page reports a text that is not a valid name as the problem, otherwise the redirect URI.
      const usual = (await page('harmless')).map(markupOf)
      const unnamed = (await page('harmless\u200b')).map(markupOf)
      for (const text of some(texts, sized(60, 20))) {
        const asName = step === 'kind' || isApplicationName(text.trim())
        expectHarmless(text, await page(text), asName ? usual : unnamed)
      }
    },
  )

  it('AD-01: nor is what stands in the address of a page', async () => {
    const own = await makeOwn(administrator)
    for (const path of ['/developer/new', '/developer/application']) {
      const page = async (text: string) => {
        const query = new URLSearchParams({
          application: own.id,
          name: text,
          kind: text,
          redirects: text,
          notice: text,
          by: text,
        })
        return [(await web.send('GET', `${path}?${query}`)).text]
      }
      const usual = (await page('harmless')).map(markupOf)
      for (const text of some(texts, sized(30, 10))) expectHarmless(text, await page(text), usual)
    }
  })
})

describe('fields that nobody asked for', () => {
  const extra = {
    id: 'app_mine',
    account_id: 'acc_other',
    accountId: 'acc_other',
    account: 'other',
    public: 'true',
    pkceRequired: 'true',
    pkce_required: 'true',
    resourceServer: 'true',
    resource_server: 'true',
    publisher_status: 'verified',
    publisher: 'acme.example',
    publisher_name: 'acme.example',
    publisher_proven_at: 'now()',
    vouched_at: 'now()',
    vouchedFor: 'true',
    logo_version: '0123456789ab',
    proposal: 'accepted',
    version: '1',
    test_mode: 'on',
    user_id: 'usr_other',
    test_secret: 'lkt_chosen',
    suspended: 'false',
    suspended_at: '',
    deleted_at: '',
    secret: 'lks_chosen',
    allowed_scopes: 'orders:write',
    'use.payments:write': 'default',
    'use.orders:write ': 'required',
  }

  async function rowOf(id: string): Promise<Record<string, unknown>> {
    const [row] = await service.database.query(
      `select account_id, public_client as public, pkce_required, resource_server, publisher_status, publisher, publisher_proven_at,
         vouched_at, logo_version, suspended_at, deleted_at, allowed_scopes, (select user_id from application_test_modes where
         application_id = $1) as tested_as from applications where id = $1`,
      [id],
    )
    return row as Record<string, unknown>
  }

  const plain = () => ({
    account_id: service.account.id,
    public: false,
    pkce_required: false,
    resource_server: false,
    publisher_status: 'unverified',
    publisher: null,
    publisher_proven_at: null,
    vouched_at: null,
    logo_version: null,
    tested_as: null,
    suspended_at: null,
    deleted_at: null,
    allowed_scopes: ['orders:read'],
  })

  it('AD-04: registering takes a name, a kind, permissions and addresses, and nothing else', async () => {
    const form = await signedFor(service, administrator, '/developer/new', {})
    const asked = { step: 'scopes', kind: 'device', name: 'Plain Board', 'use.orders:read': 'default' }
    const page = await web.send('POST', '/developer/new', { ...extra, ...asked, ...form })
    expect(page.status).toBe(200)
    const id = /id="application-id">(app_[^<]+)</.exec(page.text)?.[1] ?? ''
    expect(id).not.toBe('app_mine')
    expect(page.text).not.toContain('lks_chosen')
    expect(await rowOf(id)).toEqual(plain())
  })

  it('AD-04: settings change what the page asks for, and nothing else', async () => {
    const own = await makeOwn(administrator)
    await service.database.query('update applications set suspended_at = now() where id = $1', [own.id])
    const before = await rowOf(own.id)
    const form = await signedFor(service, administrator, '/developer/application/settings', { application: own.id })
    const asked = { name: 'Changed Board', device_flow: 'on', 'use.orders:read': 'may' }
    const page = await web.send('POST', '/developer/application/settings', { ...extra, ...asked, ...form })
    expect([page.status, page.location]).toEqual([303, `/developer/application?application=${own.id}&notice=saved`])
    expect(await rowOf(own.id)).toEqual(before)
    expect(before.suspended_at).not.toBeNull()
  })

  it('AD-04: in test mode codes are decided as whoever switched it on, whatever the form says', async () => {
    const own = await makeOwn(administrator)
    const form = await signedFor(service, administrator, '/developer/application/test-mode', { application: own.id })
    const page = await web.send('POST', '/developer/application/test-mode', { ...extra, ...form })
    expect(page.status).toBe(200)
    expect(page.text).not.toContain('lkt_chosen')
    expect(await rowOf(own.id)).toMatchObject({ tested_as: administrator.id })
  })

  it('AD-04: a new secret is made here, not given', async () => {
    const own = await makeOwn(administrator)
    const form = await signedFor(service, administrator, '/developer/application/secret', { application: own.id })
    const page = await web.send('POST', '/developer/application/secret', { ...extra, label: 'x'.repeat(500), ...form })
    expect(page.status).toBe(200)
    expect(page.text).not.toContain('lks_chosen')
    const labels = await service.database.query(
      'select length(label) as length from application_secrets where application_id = $1 and label is not null',
      [own.id],
    )
    expect(labels).toEqual([{ length: 60 }])
  })
})

describe('other people', () => {
  /** Without `applications`: each form of an application updates its row, so that every process pulls it again. */
  const secretsAndEvents = async () => ({ ...(await everyRow(service)), applications: null })

  it.each(named(routes))('AD-05: %s is closed to a clerk of the same account', async (_name, route) => {
    const clerk = await makeUser(service.context.db, service.account.slug, { holds: ['orders:read'] })
    const visit = await signInAs(service, clerk)
    const own = await makeOwn(administrator)
    const form = route.method === 'POST' ? await fieldsFor(clerk, route, own) : undefined
    const before = await everyRow(service)
    const page = await visit.send(route.method, addressOf(route, own), form)
    expect([page.status, textOf(page.text)]).toEqual([403, expect.stringContaining(t('refusal.forbidden'))])
    expect(await everyRow(service)).toEqual(before)
  })

  it.each(named(ofOne))(
    'AD-05: %s knows no application of another account, even with a form that is signed',
    async (_name, route) => {
      const stranger = await makeStranger()
      const own = await makeOwn(administrator, { name: 'Ours Alone' })
      const form = route.method === 'POST' ? await fieldsFor(stranger.user, route, own) : undefined
      const before = await everyRow(service)
      const page = await stranger.web.send(route.method, addressOf(route, own), form)
      expect([page.status, textOf(page.text)]).toEqual([404, expect.stringContaining(t('refusal.not_found'))])
      expect(page.text).not.toContain('Ours Alone')
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it('AD-05: their list has none of ours, and what they register is theirs', async () => {
    const stranger = await makeStranger()
    const own = await makeOwn(administrator, { name: 'Ours Alone' })
    const list = await stranger.web.get('/developer')
    expect(list.status).toBe(200)
    expect(textOf(list.text)).toContain(t('developer.none'))
    expect(list.text).not.toContain(own.id)
  })

  it('AD-05: a secret of another application cannot be ended, within the account or from outside', async () => {
    const first = await makeOwn(administrator)
    const second = await makeOwn(administrator)
    const stranger = await makeStranger()
    const theirs = await makeOwn(stranger.user)
    const route = '/developer/application/secret/revoke'
    const before = await secretsAndEvents()
    const tries = [
      { user: administrator, by: web, application: first.id, secret: second.secretId },
      { user: administrator, by: web, application: first.id, secret: theirs.secretId },
      { user: stranger.user, by: stranger.web, application: theirs.id, secret: first.secretId },
    ]
    for (const { user, by, application, secret } of tries) {
      const page = await by.send('POST', route, await signedFor(service, user, route, { application, secret }))
      expect(page.status).toBe(404)
    }
    expect(await secretsAndEvents()).toEqual(before)
  })

  it('AD-05: an application that the command line registered for another account is no exception', async () => {
    const { slug } = await makeAccount(service.context.db)
    const { id } = await makeApplication(service.context.db, service.config, slug)
    for (const route of ofOne.filter(({ method }) => method === 'GET')) {
      expect((await web.send('GET', `${route.path}?application=${id}`)).status).toBe(404)
    }
  })
})

describe('forms from elsewhere', () => {
  it.each(named(routes.filter(({ method }) => method === 'POST')))(
    'AD-05: %s takes no form without our token, with another form’s, or for other values than were shown',
    async (_name, route) => {
      const own = await makeOwn(administrator)
      const other = await makeOwn(administrator)
      const { token, ...unsigned } = await fieldsFor(administrator, route, own)
      const signedElse = await signedFor(service, administrator, '/account/policy', {})
      const before = await everyRow(service)
      const forms = {
        unsigned,
        'of another form': { ...unsigned, token: signedElse.token ?? '' },
        ...(route.bound
          ? { 'for another application': { ...unsigned, token: token ?? '', application: other.id } }
          : {}),
      }
      for (const [what, form] of Object.entries(forms)) {
        const page = await web.send('POST', route.path, form)
        expect([what, page.status]).toEqual([what, 403])
      }
      const foreign = await web.send(
        'POST',
        route.path,
        { ...unsigned, token: token ?? '' },
        { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      )
      expect(foreign.status).toBe(403)
      expect(await everyRow(service)).toEqual(before)
    },
  )
})

describe('a sign-in that is a while ago', () => {
  it('AD-06: every route that shows or changes settings, secrets or endpoints asks for a fresh one', () => {
    // An appeal is exempt: its author must not lose a long text to a request to sign in again.
    const others = routes.filter(({ path }) => path !== '/developer/application/appeal')
    const delicate = others.filter(
      ({ method, path }) =>
        method === 'POST' || /\/(new|settings|publisher|logo|webhooks|webhooks\/secret)$/.test(path),
    )
    expect(delicate.filter(({ fresh }) => !fresh).map(({ method, path }) => `${method} ${path}`)).toEqual([])
  })

  it.each(named(routes.filter(({ fresh }) => fresh)))('AD-06: %s does nothing before that', async (_name, route) => {
    const user = await makeUser(service.context.db, service.account.slug)
    const own = await makeOwn(user)
    const late = await signInAs(service, user)
    const form = route.method === 'POST' ? await fieldsFor(user, route, own) : undefined
    await service.database.advance(16 * MINUTE)
    await service.context.applications.refresh()
    const before = await everyRow(service)
    const page = await late.send(route.method, addressOf(route, own), form)
    const back = encodeURIComponent(route.path.startsWith('/developer/new') ? '/developer/new' : own.id)
    expect([page.status, page.text]).toEqual([303, ''])
    expect(page.location).toMatch(/^\/confirm\?next=%2Fdeveloper/)
    expect(page.location).toContain(back)
    expect(await everyRow(service)).toEqual(before)
  })
})
