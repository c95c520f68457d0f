/** DG-23 to DG-25: sessions when the dialog opens, forms from other sites, and earlier grants. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { DIALOG, SESSION } from '../../../src/http/web/cookies.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import {
  allow,
  allSettled,
  DialogWindow,
  dialogAddress,
  exchange,
  makeDialogApplication,
  makePkce,
  openQuestion,
  traceOf,
} from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication, type MadeUser, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { textOf } from '../../rig/web.ts'
import { everyRow, grantsOf, sessionsOf } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const PASSWORD = 'a quiet green harbour'
const OTHER_CALLBACK = 'https://app.example/other'

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service, { redirectUris: [CALLBACK, OTHER_CALLBACK] })
})
afterEach(() => allSettled(service))
afterAll(() => service.stop())

const challenge = { code_challenge: makePkce().challenge, code_challenge_method: 'S256' }
const newUser = () => makeUser(service.context.db, service.account.slug, { password: PASSWORD })
const credentials = ({ email }: MadeUser) => ({ email, password: PASSWORD })

describe('the session', () => {
  it('DG-23: a cookie planted before is replaced by signing in', async () => {
    const user = await newUser()
    const window = new DialogWindow(service)
    const attacker = await new DialogWindow(service).signIn(await newUser())
    const planted = [attacker.account.cookies.get(SESSION) ?? '', 'chosen-by-somebody-else', '']
    for (const cookie of planted.slice(1)) {
      window.account.cookies.set(SESSION, cookie)
      await window.go(dialogAddress(service, { application, parameters: challenge }))
      const at = await window.submit(window.base, '/dialog', { typed: service.account.slug })
      expect(window.isAtSignIn(at)).toBe(true)
      const question = await window.signInHere(user, PASSWORD)
      expect(question.url.pathname).toBe('/dialog')
      const session = window.account.cookies.get(SESSION) ?? ''
      expect(planted).not.toContain(session)
      planted.push(session)
    }
    expect(await sessionsOf(service, user)).toHaveLength(2)
  })

  it('DG-23: another user’s session is shown as such, and ended by "Not you?"', async () => {
    const [user, attacker] = [await newUser(), await newUser()]
    const own = await makeDialogApplication(service)
    const { window, at } = await openQuestion(service, { application: own, user: attacker, parameters: challenge })
    expect(textOf(at.page.text)).toContain(`Signed in as ${attacker.email}`)
    expect(at.page.text).toContain('action="/dialog/switch"')
    const planted = window.account.cookies.get(SESSION)

    const signIn = await window.submit(window.account, '/dialog/switch', {})
    expect(window.isAtSignIn(signIn)).toBe(true)
    expect(window.account.cookies.has(SESSION)).toBe(false)
    expect(await sessionsOf(service, attacker)).toEqual([])

    const question = await window.signInHere(user, PASSWORD)
    expect([question.url.pathname, question.url.search]).toEqual(['/dialog', at.url.search])
    expect(textOf(question.page.text)).toContain(`Signed in as ${user.email}`)
    expect(window.account.cookies.get(SESSION)).not.toBe(planted)
    await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    expect((await grantsOf(service, user)).length).toBe(1)
    expect(await grantsOf(service, attacker)).toEqual([])
  })

  it('DG-23: signing in ends the previous session: whoever planted it has nothing', async () => {
    const [user, attacker] = [await newUser(), await newUser()]
    const { window, at } = await openQuestion(service, { application, user: attacker, parameters: challenge })
    const planted = window.account.cookies.get(SESSION) ?? ''
    const next = at.url.pathname + at.url.search
    const from = `/sign-in?${new URLSearchParams({ next })}`
    expect(textOf((await window.account.signIn(user.email, PASSWORD, from)).text)).toContain(user.email)
    expect(await sessionsOf(service, attacker)).toEqual([])
    const theirs = service.web()
    theirs.cookies.set(SESSION, planted)
    expect((await theirs.send('GET', '/')).location).toMatch(/^\/sign-in/)
  })

  it('DG-23: another site cannot sign a user in as the attacker', async () => {
    const attacker = await newUser()
    const window = new DialogWindow(service)
    const before = await everyRow(service)
    for (const headers of [
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: service.config.publicUrl, 'sec-fetch-site': 'same-site' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
    ]) {
      const form = { ...credentials(attacker), next: '/dialog?request=x' }
      const page = await window.account.send('POST', '/sign-in', form, headers)
      expect([page.status, page.location, page.headers['set-cookie']]).toEqual([403, null, undefined])
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-23: a form shown to one user is refused from the next one in the same browser', async () => {
    const [user, attacker] = [await newUser(), await newUser()]
    const own = await makeDialogApplication(service)
    const { window } = await openQuestion(service, { application: own, user: attacker, parameters: challenge })
    const shown = window.account.last?.text ?? ''
    await window.account.signIn(user.email, PASSWORD)
    window.account.last = { ...(window.account.last ?? (await window.account.send('GET', '/'))), text: shown }
    const { page, left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    expect([page.status, left]).toEqual([403, null])
    expect((await traceOf(service, own, user)).grants).toEqual([])
    expect((await traceOf(service, own, attacker)).dialogs).toEqual(['open'])
  })
})

describe('a form of the application’s own page', () => {
  const CROSS_SITE = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  const form = (given: Record<string, string> = {}) => ({
    client_id: application.id,
    response_type: 'code',
    redirect_uri: CALLBACK,
    state: 'posted',
    ...challenge,
    ...given,
  })

  /** Browsers omit Lax cookies from a form of another site; the page then continues by itself, with them. */
  async function postFromElsewhere(
    window: DialogWindow,
    path: string,
    sent: Record<string, string>,
    headers = CROSS_SITE,
  ) {
    const first = await window.base.send('POST', path, sent, { ...headers, cookie: '' })
    return { first, at: await window.follow(new URL(path, service.config.publicUrl), first) }
  }

  it.each(['/auth/oauth/authorize', '/1/auth/oauth/authorize', '/oauth/authorize'])(
    'DG-24: to %s is put away, goes on by GET, and ends with the one who is signed in',
    async (path) => {
      const user = await newUser()
      const own = await makeDialogApplication(service)
      const window = await new DialogWindow(service).signIn(user)
      const address = new URL(dialogAddress(service, { application: own, path, parameters: challenge })).search.slice(1)
      const whole = Object.fromEntries(new URLSearchParams(address))
      const { client_id, ...rest } = whole
      for (const [query, sent] of [
        ['', whole],
        [`?${address}`, {}],
        [`?client_id=${client_id}`, rest],
      ] as const) {
        const { first, at } = await postFromElsewhere(window, path + query, sent)
        expect([first.status, first.text, first.location]).toEqual([
          303,
          '',
          expect.stringMatching(/^\/oauth\/authorize\?client_id=app_\w+&request_uri=[\w%-]+$/),
        ])
        expect(first.headers['set-cookie'], 'browsers send no cookie along, so none is replaced').toBeUndefined()
        expect([at.page.status, at.url.pathname]).toEqual([200, '/dialog'])
        const question = await window.submit(window.base, '/dialog', { typed: service.account.slug })
        expect(textOf(question.page.text)).toContain(`Signed in as ${user.email}`)
      }
      const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
      expect(left?.origin).toBe('https://app.example')
      expect(await traceOf(service, own, user)).toEqual({
        dialogs: ['open', 'open', 'allowed'],
        grants: [null],
        events: ['grant.created'],
        mails: ['grant_created'],
      })
    },
  )

  it.each(['null', 'https://evil.example', 'http://localhost'])(
    'DG-24: from Origin %s as well: it only begins',
    async (origin) => {
      const user = await newUser()
      const window = await new DialogWindow(service).signIn(user)
      const { first, at } = await postFromElsewhere(window, '/oauth/authorize', form(), { ...CROSS_SITE, origin })
      expect([first.status, at.url.pathname]).toEqual([303, '/dialog'])
      expect(await grantsOf(service, user)).toEqual([])
    },
  )

  it('DG-24: a browser without cookies is asked to sign in, and is not redirected in a loop', async () => {
    const window = new DialogWindow(service)
    const { at } = await postFromElsewhere(window, '/oauth/authorize', form())
    expect([at.page.status, at.url.pathname]).toEqual([200, '/dialog'])
    const signIn = await window.submit(window.base, '/dialog', { typed: service.account.slug })
    expect(window.isAtSignIn(signIn)).toBe(true)
    const question = await window.signInHere(await newUser(), PASSWORD)
    expect([question.page.status, question.url.pathname]).toEqual([200, '/dialog'])
  })

  it('DG-24: every other form of the dialog is accepted from our own pages only', async () => {
    const { window } = await openQuestion(service, { application, parameters: challenge })
    const before = await everyRow(service)
    for (const [web, action] of [
      [window.base, '/dialog'],
      [window.account, '/dialog/decision'],
      [window.account, '/dialog/switch'],
      [window.base, '/activate'],
      [window.base, '/language'],
    ] as const) {
      for (const origin of [
        'https://app.example',
        'null',
        window.base === web ? window.account.origin : window.base.origin,
      ]) {
        const page = await web.send('POST', action, { decision: 'allow' }, { ...CROSS_SITE, origin })
        expect([action, origin, page.status, page.location]).toEqual([action, origin, 403, null])
      }
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-24: an invalid browser cookie is replaced, not used', async () => {
    for (const planted of ['x', 'y'.repeat(23), '<script>', '']) {
      const window = new DialogWindow(service)
      window.base.cookies.set(DIALOG, planted)
      const page = await window.base.send('GET', `/oauth/authorize?${new URLSearchParams(form())}`)
      expect(page.status).toBe(303)
      expect(window.base.cookies.get(DIALOG)).toMatch(/^[\w-]{22}$/)
      expect(String(page.headers['set-cookie'])).toMatch(
        /^__Host-dialog=[\w-]{22}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
      )
    }
  })
})

describe('an earlier grant', () => {
  it.each([
    ['the same again', {}],
    ['wider', { scope: 'orders:read,orders:write' }],
    ['narrower', { scope: 'orders:read' }],
    ['another address', { redirect_uri: OTHER_CALLBACK }],
    ['silence asked for', { prompt: 'none' }],
    ['silence asked for, in other words', { approval_prompt: 'auto', prompt: 'none', login_hint: 'x' }],
  ])('DG-25: does not stand for a different request: %s', async (_what, changed) => {
    const user = await newUser()
    const { code, pkce } = await allow(service, {
      application,
      user,
      parameters: { scope: 'orders:read,orders:write' },
    })
    expect((await exchange(service, application, { code, pkce })).status).toBe(200)
    const parameters = { ...challenge, ...changed }
    const { at, window } = await openQuestion(service, { application, user, parameters })
    expect([at.left, at.page.status, at.url.pathname]).toEqual([null, 200, '/dialog'])
    expect(textOf(at.page.text)).toContain(t('consent.allow'))
    expect((await grantsOf(service, user)).length).toBe(1)
    const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'cancel' })
    expect(left?.searchParams.get('error')).toBe('access_denied')
    expect((await grantsOf(service, user)).map((grant) => grant.revocation_reason)).toEqual([null])
  })
})
