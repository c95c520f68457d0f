/** The dialog from the application's link to a working token set. docs/interface/dialog.md. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askMe } from '../rig/connect.ts'
import {
  allow,
  DialogWindow,
  dialogAddress,
  exchange,
  makeDialogApplication,
  makePkce,
  openQuestion,
  refresh,
} from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { textOf } from '../rig/web.ts'

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service)
})
afterAll(() => service.stop())

const pkce = makePkce()
const challenge = { code_challenge: pkce.challenge, code_challenge_method: 'S256' }

describe.each(['/auth/oauth/authorize', '/1/auth/oauth/authorize', '/oauth/authorize'])('%s', (path) => {
  it('shows the account choice, then the consent page, and redirects with code, state and issuer', async () => {
    const { code, returned, pkce } = await allow(service, { application, path, parameters: { state: 'x &=y' } })
    expect(returned.origin + returned.pathname).toBe(CALLBACK)
    expect([...returned.searchParams.keys()]).toEqual(['code', 'state', 'iss'])
    expect(returned.searchParams.get('state')).toBe('x &=y')
    expect(returned.searchParams.get('iss')).toBe(service.config.publicUrl)
    expect(code).toMatch(/^lkc_/)
    const exchanged = await exchange(service, application, { code, pkce })
    expect(exchanged.status).toBe(200)
    expect(exchanged.body).toEqual({
      access_token: expect.stringMatching(/^lka_/),
      refresh_token: expect.stringMatching(/^lkr_/),
      expires_in: 3600,
      scope: 'orders:read',
      state: 'x &=y',
    })
    expect((await askMe(service, exchanged.body.access_token ?? '')).status).toBe(200)
    const renewed = await refresh(service, application, exchanged.body.refresh_token ?? '')
    expect(renewed.status).toBe(200)
    expect((await askMe(service, renewed.body.access_token ?? '')).status).toBe(200)
  })

  it('redirects with access_denied when the user rejects', async () => {
    const { window } = await openQuestion(service, { application, path, parameters: { ...challenge, state: 's' } })
    const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'cancel' })
    expect(left?.href).toBe(
      `${CALLBACK}?error=access_denied&state=s&iss=${encodeURIComponent(service.config.publicUrl)}`,
    )
  })
})

it('asks to sign in first, and returns to the consent page', async () => {
  const user = await makeUser(service.context.db, service.account.slug, { password: 'a long enough password' })
  const window = new DialogWindow(service)
  await window.go(dialogAddress(service, { application, parameters: challenge }))
  const signIn = await window.submit(window.base, '/dialog', { typed: service.account.slug })
  expect(signIn.url.pathname).toBe('/sign-in')
  const question = await window.submit(window.account, '/sign-in', {
    email: user.email,
    password: 'a long enough password',
  })
  expect(question.url.pathname).toBe('/dialog')
  expect(textOf(question.page.text)).toContain('app.example')
})
