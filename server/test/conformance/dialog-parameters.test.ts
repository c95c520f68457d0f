/**
 * The dialog with exactly the contract's parameters: client_id, response_type, redirect_uri, scope, state. An application
 * with a secret, registered with default settings, needs no other. docs/interface/dialog.md.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerApplication } from '../../src/flows/applications/own.ts'
import { makeSettings } from '../rig/application-settings.ts'
import { askMe } from '../rig/connect.ts'
import { post } from '../rig/device.ts'
import { DialogWindow, makeDialogApplication, makePkce } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { textOf } from '../rig/web.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

async function registeredInTheConsole(): Promise<MadeApplication> {
  const scopes = ['orders:read', 'orders:write']
  const settings = makeSettings({ allowedScopes: scopes, deviceFlow: false, redirectUris: [CALLBACK] })
  const result = await registerApplication(service.context, service.user.id, { ...settings, public: false })
  if (result.outcome !== 'registered') throw new Error(`it was not registered: ${JSON.stringify(result)}`)
  await service.context.applications.refresh()
  return { id: result.id, secret: result.secret ?? '' }
}

const registrations: [string, () => Promise<MadeApplication>][] = [
  ['on the command line', () => makeDialogApplication(service)],
  ['in the developer console', registeredInTheConsole],
]

const parametersOf = ({ id }: MadeApplication) => ({
  client_id: id,
  response_type: 'code',
  redirect_uri: CALLBACK,
  scope: 'orders:read,orders:write',
  state: 'basket 7 &"ü',
})

type Open = (window: DialogWindow, parameters: Record<string, string>) => Promise<string>

/** The first request, and what the window shows after its redirects: the page of the dialog. */
const forms: [string, Open][] = [
  [
    'GET /1/auth/oauth/authorize',
    async (window, parameters) => {
      const address = `${window.base.origin}/1/auth/oauth/authorize?${new URLSearchParams(parameters)}`
      return (await window.go(address)).page.text
    },
  ],
  [
    'POST /auth/oauth/authorize',
    async (window, parameters) => {
      const page = await window.base.send('POST', '/auth/oauth/authorize', parameters)
      return (await window.follow(new URL('/auth/oauth/authorize', window.base.origin), page)).page.text
    },
  ],
]

const exchange = ({ id, secret }: MadeApplication, code: string, proof: Record<string, string> = {}) =>
  post(service.address, '/auth/oauth/token', {
    form: { SVCappid: id, SVCsecret: secret, code, redirect_uri: CALLBACK, ...proof },
  })

/** The user's yes; the code and the state that the application's address is called with. */
async function allow(open: Open, parameters: Record<string, string>): Promise<URLSearchParams> {
  const window = await new DialogWindow(service).signIn(service.user)
  expect(await open(window, parameters)).toContain('action="/dialog"')
  const question = await window.submit(window.base, '/dialog', { typed: service.account.slug })
  expect(textOf(question.page.text)).toContain('app.example')
  const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
  if (!left) throw new Error('the dialog did not return to the application')
  expect(left.origin + left.pathname).toBe(CALLBACK)
  return left.searchParams
}

describe.each(registrations)('an application registered %s with default settings', (_where, register) => {
  it.each(forms)(
    '%s with exactly the five parameters leads to a code, and the code to a token set',
    async (_form, open) => {
      const application = await register()
      const parameters = parametersOf(application)
      const returned = await allow(open, parameters)
      expect(returned.get('state')).toBe(parameters.state)
      const { status, body } = await exchange(application, returned.get('code') ?? '')
      expect([status, body.scope, body.state]).toEqual([200, parameters.scope, parameters.state])
      expect((await askMe(service, body.access_token)).status).toBe(200)
    },
  )

  it.each(forms)('%s: without scope and state, the default set applies', async (_form, open) => {
    const application = await register()
    const { scope: _, state: __, ...parameters } = parametersOf(application)
    const returned = await allow(open, parameters)
    expect(returned.has('state')).toBe(false)
    const { body } = await exchange(application, returned.get('code') ?? '')
    expect([body.scope, body.state]).toEqual(['orders:read', ''])
  })

  it.each(forms)('%s: a challenge that was sent counts: the exchange needs its verifier', async (_form, open) => {
    const application = await register()
    const pkce = makePkce()
    const challenged = { ...parametersOf(application), code_challenge: pkce.challenge, code_challenge_method: 'S256' }
    const wrong = (await allow(open, challenged)).get('code') ?? ''
    const right = (await allow(open, challenged)).get('code') ?? ''
    const { status, body } = await exchange(application, right)
    expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(body.message).toContain('code_verifier is missing')
    const another = { code_verifier: makePkce().verifier }
    expect((await exchange(application, wrong, another)).body.error).toBe('invalid_grant')
    expect((await exchange(application, right, { code_verifier: pkce.verifier })).status).toBe(200)
  })

  it.each(forms)('%s: a verifier that nobody asked for is refused', async (_form, open) => {
    const application = await register()
    const code = (await allow(open, parametersOf(application))).get('code') ?? ''
    expect((await exchange(application, code, { code_verifier: makePkce().verifier })).body.error).toBe('invalid_grant')
  })
})
