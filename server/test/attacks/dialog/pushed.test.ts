/** Pushed requests (RFC 9126): a reference of another application, replayed, expired, or contradicted by other parameters. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { post, type WireAnswer } from '../../rig/device.ts'
import { allSettled, DialogWindow, exchange, makeDialogApplication, makePkce, traceOf } from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication, type MadeUser, makeUser } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { type Page, textOf } from '../../rig/web.ts'
import { everyRow } from '../../rig/witness.ts'

const { t } = wordsFor('en')
const OTHER_CALLBACK = 'https://app.example/other'

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { clock: true })
})
afterEach(() => allSettled(service))
afterAll(() => service.stop())

const pkce = makePkce()
const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' }

/** Advances PostgreSQL's clock and the process's copy of it. */
async function advance(ms: number): Promise<void> {
  await service.database.advance(ms)
  await service.context.applications.refresh()
}

function push({ id, secret }: MadeApplication, given: Record<string, string> = {}): Promise<WireAnswer> {
  const by = { client_id: id, ...(secret === '' ? {} : { client_secret: secret }) }
  const asked = { response_type: 'code', redirect_uri: CALLBACK, state: 'pushed', ...challenge }
  return post(service.address, '/oauth/par', { form: { ...by, ...asked, ...given } })
}

type Pushed = { readonly application: MadeApplication; readonly user: MadeUser; readonly reference: string }

async function pushed(given: Parameters<typeof makeDialogApplication>[1] = {}): Promise<Pushed> {
  const application = await makeDialogApplication(service, { redirectUris: [CALLBACK, OTHER_CALLBACK], ...given })
  const user = await makeUser(service.context.db, service.account.slug)
  const { status, body } = await push(application)
  expect([status, body.expires_in]).toEqual([201, 90])
  return { application, user, reference: body.request_uri }
}

const addressOf = (client_id: string, request_uri: string, more: Record<string, string> = {}) =>
  `${service.config.publicUrl}/oauth/authorize?${new URLSearchParams({ client_id, request_uri, ...more })}`

function expectExpired({ status, location, headers, text }: Page): void {
  expect([status, location, headers['set-cookie']]).toEqual([400, null, undefined])
  expect(textOf(text)).toContain(t('dialog_problem.expired'))
  expect(text).not.toContain('class="button"')
}

/** Opens the dialog and decides. */
async function answer({ application, user, reference }: Pushed, decision: string, more: Record<string, string> = {}) {
  const window = await new DialogWindow(service).signIn(user)
  await window.go(addressOf(application.id, reference, more))
  await window.submit(window.base, '/dialog', { typed: service.account.slug })
  const { left } = await window.submit(window.account, '/dialog/decision', { decision })
  if (!left) throw new Error('the dialog did not return')
  return left
}

describe('a reference', () => {
  it('opens the dialog of its own application, confidential or public', async () => {
    for (const wish of [{}, { public: true }]) {
      const given = await pushed(wish)
      const left = await answer(given, 'allow')
      expect([left.origin + left.pathname, left.searchParams.get('state')]).toEqual([CALLBACK, 'pushed'])
      const code = left.searchParams.get('code') ?? ''
      expect((await exchange(service, given.application, { code, pkce })).status).toBe(200)
    }
  })

  it('of another application is refused', async () => {
    const { application, user, reference } = await pushed()
    const thief = await makeDialogApplication(service)
    const window = await new DialogWindow(service).signIn(user)
    const before = await everyRow(service)
    expectExpired((await window.go(addressOf(thief.id, reference))).page)
    expectExpired((await window.go(addressOf(thief.id, reference, { redirect_uri: CALLBACK, ...challenge }))).page)
    expect(await everyRow(service)).toEqual(before)
    expect((await traceOf(service, application, user)).dialogs).toEqual(['open'])
  })

  it.each([
    ['allow', 'allowed'],
    ['cancel', 'denied'],
  ])('whose dialog was decided with %s cannot be used again', async (decision, status) => {
    const given = await pushed()
    await answer(given, decision)
    const window = await new DialogWindow(service).signIn(given.user)
    const before = await everyRow(service)
    for (let time = 0; time < 2; time += 1) {
      expectExpired((await window.go(addressOf(given.application.id, given.reference))).page)
    }
    expect(await everyRow(service)).toEqual(before)
    expect((await traceOf(service, given.application, given.user)).dialogs).toEqual([status])
  })

  it('opens in one browser only, which may load it again', async () => {
    const given = await pushed()
    const address = addressOf(given.application.id, given.reference)
    const window = await new DialogWindow(service).signIn(given.user)
    for (let time = 0; time < 2; time += 1) expect((await window.go(address)).page.status).toBe(200)
    const before = await everyRow(service)
    const other = await new DialogWindow(service).signIn(given.user)
    expectExpired((await other.go(address)).page)
    expectExpired((await new DialogWindow(service).go(address)).page)
    expect({ ...(await everyRow(service)), sessions: '' }).toEqual({ ...before, sessions: '' })
    await window.submit(window.base, '/dialog', { typed: service.account.slug })
    const end = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    expect(end.page.status).toBe(303)
    expect(await traceOf(service, given.application, given.user)).toEqual({
      dialogs: ['allowed'],
      grants: [null],
      events: ['grant.created'],
      mails: ['grant_created'],
    })
  })

  it('is valid for 89 seconds and not for 91', async () => {
    const [early, late] = [await pushed(), await pushed()]
    const window = await new DialogWindow(service).signIn(early.user)
    await advance(89_000)
    expect((await window.go(addressOf(early.application.id, early.reference))).page.status).toBe(200)
    await advance(2_000)
    const before = await everyRow(service)
    const nobody = new DialogWindow(service)
    expectExpired((await nobody.go(addressOf(late.application.id, late.reference))).page)
    expect(await everyRow(service)).toEqual(before)
  })

  it('that was altered, truncated or forged is refused', async () => {
    const { application, reference } = await pushed()
    const before = await everyRow(service)
    const prefix = 'urn:ietf:params:oauth:request_uri:'
    const body = reference.slice(prefix.length)
    const changed = Array.from(
      body,
      (each, at) => prefix + body.slice(0, at) + (each === 'A' ? 'B' : 'A') + body.slice(at + 1),
    )
    const others = [body, prefix, `${reference}A`, reference.slice(0, -1), 'https://evil.example/request.jwt', 'x']
    for (const text of [...changed, ...others]) {
      expectExpired((await new DialogWindow(service).go(addressOf(application.id, text))).page)
    }
    expect(await everyRow(service)).toEqual(before)
  })

  it('means the pushed parameters, whatever else is in the query', async () => {
    const given = await pushed()
    const left = await answer(given, 'allow', {
      redirect_uri: OTHER_CALLBACK,
      scope: 'orders:read,orders:write',
      state: 'another',
      response_type: 'token',
      code_challenge: makePkce().challenge,
    })
    expect([left.origin + left.pathname, left.searchParams.get('state')]).toEqual([CALLBACK, 'pushed'])
    const code = left.searchParams.get('code') ?? ''
    const { status, body } = await exchange(service, given.application, { code, pkce })
    expect([status, body.scope]).toEqual([200, 'orders:read'])
  })

  it('is opaque: it reveals nothing about the pushed parameters', async () => {
    const { application, reference } = await pushed()
    expect(Buffer.from(reference.split(':').at(-1)?.slice(4) ?? '', 'base64url').toString('latin1')).not.toMatch(
      /app\.example|pushed/,
    )
    expect(reference).not.toContain(application.id)
  })
})

describe('a pushed request', () => {
  it.each([
    ['a wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
    ['no secret', { client_secret: '' }, 401, 'invalid_client'],
    ['no such application', { client_id: 'x' }, 401, 'invalid_client'],
    ['an address that is not registered', { redirect_uri: 'https://evil.example/' }, 400, 'invalid_request'],
    ['no address', { redirect_uri: '' }, 400, 'invalid_request'],
    ['another response type', { response_type: 'token' }, 400, 'unsupported_response_type'],
    ['a scope that is not allowed', { scope: 'no:such' }, 400, 'invalid_scope'],
    ['no challenge', { code_challenge: '', code_challenge_method: '' }, 400, 'invalid_request'],
    ['a state that is too long', { state: 'x'.repeat(1025) }, 400, 'invalid_request'],
    ['a state with a control character', { state: '\u0001' }, 400, 'invalid_request'],
    ['a reference', { request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 400, 'invalid_request'],
  ])('with %s is refused, and leaves no row', async (_what, given, status, error) => {
    const application = await makeDialogApplication(service)
    const before = await everyRow(service)
    const { status: answered, body } = await push(application, given)
    expect([answered, body.error]).toEqual([status, error])
    expect(await everyRow(service)).toEqual(before)
  })

  it('with a NUL is refused, and is not an internal error', async () => {
    const application = await makeDialogApplication(service)
    const before = await everyRow(service)
    for (const name of ['state', 'scope', 'redirect_uri', 'code_challenge', 'response_type']) {
      expect([name, (await push(application, { [name]: 'a\u0000b' })).status]).toEqual([name, 400])
    }
    expect(await everyRow(service)).toEqual(before)
  })
})
