/** DG-07, DG-19, DG-20, DG-27: what an application may ask for, what it is answered, and texts that are more than texts. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { markApplicationChanged } from '../../../src/store/applications/applications.ts'
import { makeRegistration } from '../../rig/application-settings.ts'
import { createApplication } from '../../rig/create.ts'
import { post, type WireAnswer } from '../../rig/device.ts'
import {
  allow,
  allSettled,
  DialogWindow,
  dialogAddress,
  exchange,
  makeDialogApplication,
  makePkce,
  openQuestion,
} from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { sample, sized } from '../../rig/size.ts'
import { unescapeHtml } from '../../rig/web.ts'
import { everyRow } from '../../rig/witness.ts'
import { markupCorpus } from '../web/markup-corpus.ts'

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service)
})
afterEach(() => allSettled(service))
afterAll(() => service.stop())

const challenge = { code_challenge: makePkce().challenge, code_challenge_method: 'S256' }

function authorize(given: Record<string, string>, method: 'GET' | 'POST' = 'GET', path = '/oauth/authorize') {
  const sent = { client_id: application.id, response_type: 'code', redirect_uri: CALLBACK, ...challenge, ...given }
  return post(service.address, path, method === 'GET' ? { method, query: sent } : { form: sent })
}

const returnLink = ({ text }: WireAnswer) => unescapeHtml(/<a class="button" href="([^"]*)"/.exec(text)?.[1] ?? '')

describe('what may be asked for', () => {
  const others = [
    'token',
    'id_token',
    'code token',
    'token code',
    'code id_token',
    'none',
    'CODE',
    'Code',
    'code ',
    ' code',
  ]
  const lists = ['orders:read', 'orders:read,orders:write', 'code,orders:read', '["code"]', 'code\u0000', 'device_code']

  it.each([...others, ...lists])('DG-07: response_type=%j is refused, and no dialog opens', async (response_type) => {
    const before = await everyRow(service)
    for (const path of ['/auth/oauth/authorize', '/1/auth/oauth/authorize', '/oauth/authorize']) {
      for (const method of ['GET', 'POST'] as const) {
        const answer = await authorize({ response_type }, method, path)
        expect([answer.status, answer.headers.location]).toEqual([400, undefined])
        const error = response_type.includes('\u0000') ? null : 'unsupported_response_type'
        expect(URL.parse(returnLink(answer))?.searchParams.get('error') ?? null).toBe(error)
      }
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-07: as an array, or twice, it is refused as well', async () => {
    const before = await everyRow(service)
    const rest = new URLSearchParams({ client_id: application.id, redirect_uri: CALLBACK, ...challenge })
    for (const pairs of [
      'response_type[]=code',
      'response_type=code&response_type=token',
      'response_type%5B0%5D=code',
    ]) {
      const answer = await post(service.address, `/oauth/authorize?${rest}&${pairs}`, { method: 'GET' })
      expect([answer.status, answer.headers.location]).toEqual([400, undefined])
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-07: nothing is handed out by grant types that are none', async () => {
    const { id: client_id, secret: client_secret } = application
    const before = await everyRow(service)
    for (const grant_type of [
      'password',
      'client_credentials',
      'implicit',
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
    ]) {
      const form = { client_id, client_secret, grant_type, username: service.user.email, password: 'x', assertion: 'x' }
      const answer = await post(service.address, '/oauth/token', { form })
      expect([answer.status, answer.body.error]).toEqual([400, 'unsupported_grant_type'])
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it.each(['fragment', 'form_post', 'web_message', 'jwt', 'QUERY'])(
    'DG-07: response_mode=%s is refused, at every path and in a pushed request',
    async (response_mode) => {
      for (const path of ['/auth/oauth/authorize', '/1/auth/oauth/authorize', '/oauth/authorize']) {
        for (const method of ['GET', 'POST'] as const) {
          const answer = await authorize({ response_mode }, method, path)
          expect([answer.status, answer.headers.location]).toEqual([400, undefined])
          expect(answer.text).toContain('invalid_request: response_mode must be query, or left out.')
        }
      }
      const { id: client_id, secret: client_secret } = application
      const form = {
        client_id,
        client_secret,
        response_type: 'code',
        redirect_uri: CALLBACK,
        ...challenge,
        response_mode,
      }
      const pushed = await post(service.address, '/oauth/par', { form })
      expect([pushed.status, pushed.body.error]).toEqual([400, 'invalid_request'])
    },
  )

  it.each(['query', ''])('DG-07: response_mode=%j is what happens anyway', async (response_mode) => {
    const { window } = await openQuestion(service, { application, parameters: { ...challenge, response_mode } })
    const { left, page } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    expect([page.status, page.text, left?.hash]).toEqual([303, '', ''])
    expect([...(left?.searchParams.keys() ?? [])]).toEqual(['code', 'iss'])
  })
})

describe('who answers', () => {
  it('DG-19: every answer names the issuer, the same for every account, as the metadata does', async () => {
    const metadata = await post(service.address, '/.well-known/oauth-authorization-server', { method: 'GET' })
    const issuer = metadata.body.issuer
    expect(issuer).toBe(service.config.publicUrl)
    expect(metadata.body.authorization_response_iss_parameter_supported).toBe(true)

    const account = await makeAccount(service.context.db)
    const elsewhere = { ...service, account, user: await makeUser(service.context.db, account.slug) }
    for (const at of [service, elsewhere]) {
      const { returned } = await allow(at, { application, user: at.user })
      expect(returned.searchParams.getAll('iss')).toEqual([issuer])
      const { window } = await openQuestion(at, { application, user: at.user, parameters: challenge })
      const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'cancel' })
      expect(left?.searchParams.getAll('iss')).toEqual([issuer])
      expect(left?.searchParams.get('error')).toBe('access_denied')
    }
    const refused = new URL(returnLink(await authorize({ scope: 'no:such' })))
    expect(refused.searchParams.getAll('iss')).toEqual([issuer])
  })

  it('DG-19: an issuer that the request brings along is not repeated', async () => {
    const { returned } = await allow(service, { application, parameters: { iss: 'https://evil.example' } })
    expect(returned.searchParams.getAll('iss')).toEqual([service.config.publicUrl])
  })
})

describe('texts that are more than texts', () => {
  /** Every tag with the names of its attributes; `>` may stand in a value, which is always in double quotes. */
  const markupOf = (html: string) =>
    (html.match(/<[a-z!/?](?:"[^"]*"|[^>"])*>/gi) ?? []).join('').replace(/"[^"]*"/g, '""')

  /** The page has the tags that it has for a harmless text: nothing of the text became a tag or left its attribute. */
  async function expectHarmless(pageFor: (text: string) => Promise<{ text: string }>, texts: readonly string[]) {
    const usual = markupOf((await pageFor('harmless')).text)
    const wrong: string[] = []
    for (let from = 0; from < texts.length; from += 50) {
      await Promise.all(
        texts.slice(from, from + 50).map(async (text) => {
          const page = await pageFor(text)
          if (markupOf(page.text) !== usual || (/[<"&]/.test(text) && page.text.includes(text))) wrong.push(text)
        }),
      )
    }
    expect(wrong).toEqual([])
  }

  /** Only texts with a character that has to be escaped in HTML: others appear on the page unchanged. */
  const corpus = markupCorpus.filter((text) => /[<>"&']/.test(text))

  it('DG-20: there are 1,000 of them, no two alike', () => {
    expect(corpus.length).toBeGreaterThanOrEqual(1000)
    expect(new Set(corpus).size).toBe(corpus.length)
  })

  const texts = sample(corpus)

  it.each([
    ['client_id', (text: string) => authorize({ client_id: text })],
    ['redirect_uri', (text: string) => authorize({ redirect_uri: text })],
    ['response_type', (text: string) => authorize({ response_type: text })],
    ['scope', (text: string) => authorize({ scope: text })],
    ['state, sent back by a link', (text: string) => authorize({ scope: 'no:such', state: text })],
    ['code_challenge', (text: string) => authorize({ code_challenge: text })],
    ['request_uri', (text: string) => authorize({ request_uri: text })],
    ['a name that nobody knows', (text: string) => authorize({ scope: 'no:such', [text]: text })],
  ])('DG-20: %s is never markup on the page that refuses it', async (_field, pageFor) => {
    await expectHarmless(pageFor, texts)
  })

  it('DG-20: the request, in the address and in the form, on both hosts', async () => {
    const window = await new DialogWindow(service).signIn(service.user)
    for (const web of [window.base, window.account]) {
      await expectHarmless((text) => web.send('GET', `/dialog?${new URLSearchParams({ request: text })}`), texts)
    }
    await expectHarmless((text) => window.base.send('POST', '/dialog', { request: text, typed: 'x' }), texts)
    const nobody = new DialogWindow(service).account
    const signIn = (text: string) =>
      nobody.send('GET', `/sign-in?${new URLSearchParams({ next: `/dialog?request=~${text}` })}`)
    await expectHarmless(signIn, texts.slice(0, sized(200, 50)))
    const pass = (text: string) =>
      window.base.send('GET', `/dialog/pass?${new URLSearchParams({ request: 'x', account: text, browser: text })}`)
    await expectHarmless(pass, texts.slice(0, sized(200, 50)))
  })

  it('DG-20: the account that somebody types', async () => {
    const window = new DialogWindow(service)
    const { url } = await window.go(dialogAddress(service, { application, parameters: challenge }))
    const request = url.searchParams.get('request') ?? ''
    await expectHarmless(async (typed) => {
      const page = await window.base.send('POST', '/dialog', { request, typed })
      expect([typed, page.status, page.location]).toEqual([typed, 400, null])
      return page
    }, texts)
  })

  it('DG-20: an application’s name, where it may be registered at all, on every page that shows it', async () => {
    const { context, config, account, database } = service
    const accepted: string[] = []
    for (const name of texts) {
      const wish = makeRegistration(account.slug, { name, redirectUris: [CALLBACK] })
      const created = await createApplication(context.db, config.keys, wish)
      if (created.outcome === 'done') accepted.push(name)
    }
    const named = await makeDialogApplication(service)
    const window = await new DialogWindow(service).signIn(service.user)
    const pages = async (name: string) => {
      await database.query('update applications set name = $2 where id = $1', [named.id, name])
      await context.db.transaction((tx) => markApplicationChanged(tx, named.id))
      await context.applications.refresh()
      const asked = { application: named, parameters: challenge }
      const refused = await window.go(dialogAddress(service, { ...asked, parameters: { scope: 'no:such' } }))
      const choose = await window.go(dialogAddress(service, asked))
      const consent = await window.submit(window.base, '/dialog', { typed: account.slug })
      expect([refused.page.status, choose.page.status, consent.page.status]).toEqual([400, 200, 200])
      return [refused, choose, consent].map(({ page }) => page.text)
    }
    // Once for the account to be remembered: its button is on the page from then on.
    await pages('Harmless')
    const usual = (await pages('Harmless')).map(markupOf)
    for (const name of accepted.filter((_name, at) => at % sized(20, 4) === 0)) {
      const shown = await pages(name)
      expect([name, shown.map(markupOf), shown.filter((text) => /[<"&]/.test(name) && text.includes(name))]).toEqual([
        name,
        usual,
        [],
      ])
    }
  }, 120_000)

  it('DG-20: what is echoed to the application is JSON or XML that no browser takes for a page', async () => {
    const [state = ''] = texts
    for (const path of ['/auth/oauth/token', '/auth/oauth/token.xml', '/oauth/token']) {
      const { code, pkce, returned } = await allow(service, { application, parameters: { state } })
      expect(returned.searchParams.get('state')).toBe(state)
      const standard = {
        grant_type: 'authorization_code',
        client_id: application.id,
        client_secret: application.secret,
      }
      const native = { SVCappid: application.id, SVCsecret: application.secret }
      const form = { code, redirect_uri: CALLBACK, code_verifier: pkce.verifier }
      const by = path === '/oauth/token' ? standard : native
      const answer = await post(service.address, path, { form: { ...by, ...form } })
      expect(answer.status).toBe(200)
      expect(answer.headers['content-type']).toMatch(/^application\/(json|xml); charset=utf-8$/)
      expect(answer.headers['x-content-type-options']).toBe('nosniff')
      if (path.endsWith('.xml')) expect(answer.text).not.toContain(state)
    }
  })
})

describe('long texts', () => {
  it.each([
    ['1,024 bytes', 'x'.repeat(1024)],
    ['1,024 bytes in 256 characters', '😀'.repeat(256)],
    ['everything that has a meaning in an address', `&=#?/+%20;:@ "'<>\\\t\n${'%'.repeat(900)}`],
    ['nothing', ''],
  ])('DG-27: a state of %s comes back as it was', async (_what, state) => {
    const { returned, code, pkce } = await allow(service, { application, parameters: { state } })
    expect(returned.searchParams.getAll('state')).toEqual([state])
    expect(returned.origin + returned.pathname).toBe(CALLBACK)
    expect((await exchange(service, application, { code, pkce })).body.state).toBe(state)
  })

  it.each([
    ['1,025 bytes', 'x'.repeat(1025)],
    ['1,028 bytes in 257 characters', '😀'.repeat(257)],
    ['8 KB', 'x'.repeat(8192)],
    ['a control character', 'x\u0001'],
    ['a NUL', 'x\u0000'],
  ])('DG-27: a state of %s is refused with a page that leads nowhere', async (_what, state) => {
    const before = await everyRow(service)
    for (const method of ['GET', 'POST'] as const) {
      const answer = await authorize({ state }, method)
      expect([answer.status, answer.headers.location, returnLink(answer)]).toEqual([400, undefined, ''])
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-27: 64 KB of anything are refused before they are looked at', async () => {
    const before = await everyRow(service)
    const long = 'x'.repeat(65_536)
    for (const name of ['state', 'scope', 'redirect_uri', 'client_id', 'request_uri', 'code_challenge']) {
      expect((await authorize({ [name]: long }, 'POST')).status).toBe(413)
      const tooLong = await authorize({ [name]: long }, 'GET').catch(() => ({ status: 431, headers: {} }) as WireAnswer)
      expect([tooLong.status, tooLong.headers.location]).toEqual([431, undefined])
    }
    expect(await everyRow(service)).toEqual(before)
  })
})
