/** Redirects of native applications: loopback addresses with a port that the operating system chose (RFC 8252). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setRedirects } from '../../rig/create.ts'
import { post } from '../../rig/device.ts'
import { allow, dialogAddress, exchange, makeDialogApplication, makePkce, openQuestion } from '../../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { textOf } from '../../rig/web.ts'
import { everyRow } from '../../rig/witness.ts'
import { otherPorts } from './redirect-corpus.ts'

const REGISTERED = 'http://127.0.0.1:4000/back'
const CHOSEN = 'http://127.0.0.1:53124/back'

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service, { redirectUris: [CALLBACK, REGISTERED] })
})
afterAll(() => service.stop())

const withPkce = (redirect_uri: string) => ({
  redirect_uri,
  code_challenge: makePkce().challenge,
  code_challenge_method: 'S256',
})

describe('a loopback redirect URI on another port than the registered one', () => {
  it.each(otherPorts)('opens the dialog: %s', async (redirect_uri) => {
    const query = { client_id: application.id, response_type: 'code', ...withPkce(redirect_uri) }
    const answer = await post(service.address, '/oauth/authorize', { method: 'GET', query })
    expect([answer.status, answer.headers.location]).toEqual([303, expect.stringMatching(/^\/dialog\?request=/)])
  })

  it('can be pushed', async () => {
    const { id: client_id, secret: client_secret } = application
    const form = { client_id, client_secret, response_type: 'code', ...withPkce(CHOSEN) }
    expect(await post(service.address, '/oauth/par', { form })).toMatchObject({ status: 201 })
  })

  it('receives the code, and the exchange names it with its port', async () => {
    const allowed = await allow(service, { application, parameters: { redirect_uri: CHOSEN } })
    expect(allowed.returned.href.startsWith(`${CHOSEN}?code=`)).toBe(true)
    expect(await exchange(service, application, allowed, { redirect_uri: CHOSEN })).toMatchObject({ status: 200 })
  })

  it.each([
    ['the registered port', REGISTERED],
    ['another port', 'http://127.0.0.1:53125/back'],
    ['no port', 'http://127.0.0.1/back'],
    ['another host', 'http://localhost:53124/back'],
  ])('cannot be exchanged with %s', async (_what, redirect_uri) => {
    const allowed = await allow(service, { application, parameters: { redirect_uri: CHOSEN } })
    const answer = await exchange(service, application, allowed, { redirect_uri })
    expect([answer.status, answer.body]).toMatchObject([400, { error: 'invalid_grant' }])
  })

  it('is not redirected to once the registered one is removed', async () => {
    const other = await makeDialogApplication(service, { redirectUris: [CALLBACK, REGISTERED] })
    const { window } = await openQuestion(service, { application: other, parameters: withPkce(CHOSEN) })
    await setRedirects(service.context, other.id, [CALLBACK])
    const { left } = await window.submit(window.account, '/dialog/decision', { decision: 'allow' })
    expect(left).toBeNull()
  })
})

describe('PKCE', () => {
  it.each([REGISTERED, CHOSEN])(
    'is required of an application with a secret at a loopback redirect URI: %s',
    async (redirect_uri) => {
      const before = await everyRow(service)
      const address = new URL(dialogAddress(service, { application, parameters: { redirect_uri } }))
      const answer = await post(service.address, address.pathname + address.search, { method: 'GET' })
      expect([answer.status, textOf(answer.text)]).toEqual([400, expect.stringContaining('code_challenge is missing')])
      expect(await everyRow(service)).toEqual(before)
    },
  )

  it('stays optional for it at an https one', async () => {
    const address = new URL(dialogAddress(service, { application }))
    const answer = await post(service.address, address.pathname + address.search, { method: 'GET' })
    expect(answer.status).toBe(303)
  })
})
