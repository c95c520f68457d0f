/** DG-21, DG-22: a dialog decided in another browser, and a dialog decided more than once. */
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { DIALOG } from '../../../src/http/web/cookies.ts'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { digestBrowserMark, signAccountReference } from '../../../src/secrets/dialog-texts.ts'
import {
  allSettled,
  DialogWindow,
  dialogAddress,
  exchange,
  makeDialogApplication,
  makePkce,
  openQuestion,
  traceOf,
} from '../../rig/dialog.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { signedFor } from '../../rig/signed-in.ts'
import { formFields, type Page, textOf } from '../../rig/web.ts'
import { everyRow } from '../../rig/witness.ts'

const { t } = wordsFor('en')

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterEach(() => allSettled(service))
afterAll(() => service.stop())

const pkce = makePkce()
const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' }
const newUser = () => makeUser(service.context.db, service.account.slug)

type Asked = {
  readonly application: MadeApplication
  readonly user: MadeUser
  readonly window: DialogWindow
  /** The request parameter on the base host and on the account's host. */
  readonly atBase: string
  readonly atAccount: string
}

/** A user who started in their own browser and sees the consent page, with all cookies. */
async function asked(user?: MadeUser): Promise<Asked> {
  const application = await makeDialogApplication(service)
  const by = user ?? (await newUser())
  const window = await new DialogWindow(service).signIn(by)
  const begun = await window.go(dialogAddress(service, { application, parameters: challenge }))
  const at = await window.submit(window.base, '/dialog', { typed: service.account.slug })
  const requestOf = (url: URL) => url.searchParams.get('request') ?? ''
  return { application, user: by, window, atBase: requestOf(begun.url), atAccount: requestOf(at.url) }
}

function expectOtherBrowser(page: Page): void {
  expect([page.status, page.location, textOf(page.text)]).toEqual([
    400,
    null,
    expect.stringContaining(t('dialog_problem.other_browser')),
  ])
}

const inQuery = (request: string, more: Record<string, string> = {}) => new URLSearchParams({ request, ...more })

describe('a dialog opened in another browser', () => {
  it('DG-21: is not shown on the base host, by address or by form', async () => {
    const attacker = await asked()
    for (const { window } of [await asked(), { window: new DialogWindow(service) }]) {
      const before = await everyRow(service)
      expectOtherBrowser(await window.base.send('GET', `/dialog?${inQuery(attacker.atBase)}`))
      const form = { request: attacker.atBase, typed: service.account.slug }
      expectOtherBrowser(await window.base.send('POST', '/dialog', form))
      expect(await everyRow(service)).toEqual(before)
    }
  })

  it('DG-21: is not shown on the account’s host to a signed-in user either', async () => {
    const attacker = await asked()
    const { window } = await asked()
    const before = await everyRow(service)
    expectOtherBrowser(await window.account.send('GET', `/dialog?${inQuery(attacker.atAccount)}`))
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-21: cannot be continued from the base host', async () => {
    const attacker = await asked()
    const { window } = await asked()
    const before = await everyRow(service)
    const at = await window.go(`${window.account.origin}/dialog/enter?${inQuery(attacker.atBase)}`)
    expect([at.url.origin, at.url.pathname]).toEqual([service.config.publicUrl, '/dialog/pass'])
    expectOtherBrowser(at.page)
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-21: is not decided by a form signed for its own user', async () => {
    const attacker = await asked()
    const { window, user } = await asked()
    for (const decision of ['allow', 'cancel']) {
      const bound = { request: attacker.atAccount, shown: 'orders:read' }
      const form = await signedFor(service, user, '/dialog/decision', bound)
      expectOtherBrowser(await window.account.send('POST', '/dialog/decision', { ...form, decision }))
    }
    expect((await traceOf(service, attacker.application, user)).grants).toEqual([])
    expect((await traceOf(service, attacker.application, attacker.user)).dialogs).toEqual(['open'])
  })

  it('DG-21: handed over with another browser’s digest, opens in neither', async () => {
    const attacker = await asked()
    const { window, user } = await asked()
    const passed = await attacker.window.base.send(
      'GET',
      `/dialog/pass?${inQuery(attacker.atBase, { account: service.account.slug, browser: digestBrowserMark('x'.repeat(22)) })}`,
    )
    expect(passed.status).toBe(303)
    const request = new URL(passed.location ?? '').searchParams.get('request') ?? ''
    for (const each of [window, attacker.window]) {
      expectOtherBrowser(await each.account.send('GET', `/dialog?${inQuery(request)}`))
    }
    expect((await traceOf(service, attacker.application, user)).grants).toEqual([])
  })

  it.each([
    ['no digest', { browser: '' }],
    ['half a digest', { browser: 'x'.repeat(42) }],
    ['no account', { account: '' }],
    ['an account that is a host', { account: 'evil.example' }],
    ['an account that is a path', { account: 'x/../y' }],
    ['an account with userinfo', { account: 'x@evil.example' }],
    ['an account in capitals', { account: 'ACME' }],
  ])('DG-21: is not handed over with %s', async (_what, wrong) => {
    const { window, atBase } = await asked()
    const right = { account: service.account.slug, browser: digestBrowserMark('x'.repeat(22)) }
    expectOtherBrowser(await window.base.send('GET', `/dialog/pass?${inQuery(atBase, { ...right, ...wrong })}`))
  })

  it('DG-21: two cookies of the same name count as none: an attacker cannot add a valid second one', async () => {
    const { window, atBase, atAccount, application, user } = await asked()
    for (const [web, request] of [
      [window.base, atBase],
      [window.account, atAccount],
    ] as const) {
      const cookie = `${[...web.cookies].map((pair) => pair.join('=')).join('; ')}; ${DIALOG}=${'x'.repeat(22)}`
      expectOtherBrowser(await web.send('GET', `/dialog?${inQuery(request)}`, undefined, { cookie }))
    }
    expect((await traceOf(service, application, user)).dialogs).toEqual(['open'])
  })
})

describe('a forged request', () => {
  it('DG-21: with any one character changed, removed or added is refused', async () => {
    const { window, atBase, atAccount } = await asked()
    const before = await everyRow(service)
    for (const [web, request] of [
      [window.base, atBase],
      [window.account, atAccount],
    ] as const) {
      const changed = Array.from(request, (character, at) => {
        const other = character === 'A' ? 'B' : 'A'
        return request.slice(0, at) + other + request.slice(at + 1)
      })
      const texts = [...changed, request.slice(1), request.slice(0, -1), `${request}A`, `${request}=`, '', ' ', '.']
      for (const text of texts) expectOtherBrowser(await web.send('GET', `/dialog?${inQuery(text)}`))
      expect((await web.send('GET', `/dialog?${inQuery(request)}`)).status).toBe(200)
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-21: is valid only on the host that it was signed for', async () => {
    const { window, atBase, atAccount } = await asked()
    expectOtherBrowser(await window.account.send('GET', `/dialog?${inQuery(atBase)}`))
    expectOtherBrowser(await window.base.send('GET', `/dialog?${inQuery(atAccount)}`))
    const other = await makeAccount(service.context.db)
    const elsewhere = await new DialogWindow({ ...service, account: other }).signIn(
      await makeUser(service.context.db, other.slug),
    )
    elsewhere.account.cookies.set(DIALOG, window.account.cookies.get(DIALOG) ?? '')
    expectOtherBrowser(await elsewhere.account.send('GET', `/dialog?${inQuery(atAccount)}`))
  })

  it('DG-21: for a dialog that does not exist is refused, even with a valid signature', async () => {
    const { window } = await asked()
    const digest = digestBrowserMark(window.account.cookies.get(DIALOG) ?? '')
    const request = signAccountReference(service.config.keys, randomUUID(), service.account.slug, digest)
    const page = await window.account.send('GET', `/dialog?${inQuery(request)}`)
    expect([page.status, textOf(page.text)]).toEqual([400, expect.stringContaining(t('dialog_problem.expired'))])
  })

  it('DG-21: the signed scopes do not fit another dialog or more permissions', async () => {
    const mine = await asked()
    const other = await asked(mine.user)
    const form = formFields(mine.window.account.last?.text ?? '', '/dialog/decision')
    const before = await everyRow(service)
    for (const wrong of [
      { request: other.atAccount },
      { shown: 'orders:read,orders:write' },
      { shown: '' },
      { token: form.token?.slice(0, -2) ?? '' },
      { token: '' },
    ]) {
      const sent = { ...form, ...wrong, decision: 'allow' }
      const page = await mine.window.account.send('POST', '/dialog/decision', sent)
      expect([wrong, page.status, page.location]).toEqual([wrong, 403, null])
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('DG-21: expires after ten minutes, also in a form that was shown before', async () => {
    const { window, atBase, atAccount, application, user } = await asked()
    const form = formFields(window.account.last?.text ?? '', '/dialog/decision')
    await service.database.advance(10 * 60_000 + 1_000)
    const expired = [400, null, expect.stringContaining(t('dialog_problem.expired'))]
    for (const page of [
      await window.base.send('GET', `/dialog?${inQuery(atBase)}`),
      await window.account.send('GET', `/dialog?${inQuery(atAccount)}`),
      await window.account.send('POST', '/dialog/decision', { ...form, decision: 'allow' }),
      await window.account.send('POST', '/dialog/decision', { ...form, decision: 'cancel' }),
    ]) {
      expect([page.status, page.location, textOf(page.text)]).toEqual(expired)
    }
    expect(await traceOf(service, application, user)).toEqual({ dialogs: ['open'], grants: [], events: [], mails: [] })
  })
})

describe('a dialog decided more than once', () => {
  const ANSWERED = [400, null, expect.stringContaining(t('dialog_problem.answered'))]
  const ALLOWED = { dialogs: ['allowed'], grants: [null], events: ['grant.created'], mails: ['grant_created'] }
  const DENIED = { dialogs: ['denied'], grants: [], events: ['dialog.denied'], mails: [] }

  it.each([
    ['allow', ALLOWED],
    ['cancel', DENIED],
  ] as const)(
    'DG-22: after %s, the same answer leads to the same place, the other one and the back button to a page',
    async (decision, left) => {
      const { window, application, user, atBase, atAccount } = await asked()
      const form = formFields(window.account.last?.text ?? '', '/dialog/decision')
      const first = await window.account.send('POST', '/dialog/decision', { ...form, decision })
      expect(first.status).toBe(303)
      expect(await traceOf(service, application, user)).toEqual(left)
      const before = await everyRow(service)
      const again = await window.account.send('POST', '/dialog/decision', { ...form, decision })
      expect([again.status, again.location]).toEqual([303, first.location])
      const other = decision === 'allow' ? 'cancel' : 'allow'
      for (const page of [
        await window.account.send('POST', '/dialog/decision', { ...form, decision: other }),
        await window.account.send('GET', `/dialog?${inQuery(atAccount)}`),
        await window.base.send('GET', `/dialog?${inQuery(atBase)}`),
        await window.base.send('POST', '/dialog', { request: atBase, typed: service.account.slug }),
      ]) {
        expect([page.status, page.location, textOf(page.text)]).toEqual(ANSWERED)
      }
      expect(await everyRow(service)).toEqual(before)
      if (decision === 'cancel') return
      const code = new URL(first.location ?? '').searchParams.get('code') ?? ''
      expect((await exchange(service, application, { code, pkce })).status).toBe(200)
      await allSettled(service)
      const late = await window.account.send('POST', '/dialog/decision', { ...form, decision })
      expect([late.status, late.location, textOf(late.text)]).toEqual(ANSWERED)
    },
  )

  it('DG-22: 50 grants at the same moment return one code; there is one grant, one event, one mail', async () => {
    const { window, application, user } = await asked()
    const form = formFields(window.account.last?.text ?? '', '/dialog/decision')
    const pages = await Promise.all(
      Array.from({ length: 50 }, () => window.account.send('POST', '/dialog/decision', { ...form, decision: 'allow' })),
    )
    expect(pages.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 303))
    expect(new Set(pages.map(({ location }) => location)).size).toBe(1)
    expect(await traceOf(service, application, user)).toEqual(ALLOWED)
  })

  it('DG-22: of 25 grants and 25 rejections at the same moment, one counts', async () => {
    const { window, application, user } = await asked()
    const form = formFields(window.account.last?.text ?? '', '/dialog/decision')
    const pages = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        window.account.send('POST', '/dialog/decision', { ...form, decision: at % 2 === 0 ? 'allow' : 'cancel' }),
      ),
    )
    expect(pages.filter(({ status }) => status === 303).length).toBe(25)
    expect(new Set(pages.flatMap(({ location }) => location ?? [])).size).toBe(1)
    expect(pages.filter(({ status }) => status === 400).length).toBe(25)
    const trace = await traceOf(service, application, user)
    expect(trace).toEqual(trace.grants.length === 1 ? ALLOWED : DENIED)
  })

  it.each(['', 'yes', 'Allow', 'allow ', 'deny', 'true'])('DG-22: %j is not a decision', async (decision) => {
    const { window } = await openQuestion(service, {
      application: await makeDialogApplication(service),
      parameters: challenge,
    })
    const form = formFields(window.account.last?.text ?? '', '/dialog/decision')
    const before = await everyRow(service)
    const page = await window.account.send('POST', '/dialog/decision', { ...form, decision })
    expect([page.status, page.location]).toEqual([400, null])
    expect(await everyRow(service)).toEqual(before)
  })
})
