/** "SVCappid in device flow, client_id in dialog flow": after the dialog, both names are accepted. docs/interface.md, "Parameters". */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../rig/connect.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { readXml } from '../rig/dialects.ts'
import { allow, makeDialogApplication } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let application: MadeApplication
let open: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service, { deviceFlow: true })
  open = await makeDialogApplication(service, { public: true })
})
afterAll(() => service.stop())

type Names = Record<string, string>

const contract = ({ id, secret }: MadeApplication): Names => ({ SVCappid: id, ...(secret && { SVCsecret: secret }) })
const dialog = ({ id, secret }: MadeApplication): Names => ({ client_id: id, ...(secret && { client_secret: secret }) })
const mixed = ({ id, secret }: MadeApplication): Names => ({ client_id: id, ...(secret && { SVCsecret: secret }) })
const both = (by: MadeApplication): Names => ({ ...contract(by), ...dialog(by) })

const send = (path: string, form: Names, headers: Names = {}) => post(service.address, path, { form, headers })
const told = ({ status, body }: WireAnswer) => [status, body.error, body.message]

async function exchange(by: MadeApplication): Promise<Names> {
  const { code, pkce } = await allow(service, { application: by })
  return { code, redirect_uri: CALLBACK, code_verifier: pkce.verifier }
}

describe.each([
  ['the contract’s', contract],
  ['the dialog’s', dialog],
  ['mixed', mixed],
  ['both, with equal values,', both],
])('%s names', (_names, named) => {
  it.each([
    ['an application with a secret', () => application],
    ['a public application', () => open],
  ])('lead %s from the dialog’s code through a refresh to the revocation', async (_what, of) => {
    const by = named(of())
    const exchanged = await send('/auth/oauth/token', { ...by, ...(await exchange(of())) })
    expect(exchanged.status).toBe(200)
    const { refresh_token } = exchanged.body
    const refreshed = await send('/1/auth/oauth/refresh', { ...by, refresh_token })
    expect(refreshed.status).toBe(200)
    const revoked = await send('/auth/oauth/revoke.xml', { ...by, token: refreshed.body.access_token })
    expect([revoked.status, readXml(revoked.text)]).toEqual([200, {}])
    const { refresh_token: last } = refreshed.body
    expect((await send('/auth/oauth/refresh', { ...by, refresh_token: last })).body.error).toBe('invalid_grant')
  })

  it('replace and revoke an access key', async () => {
    const { credential } = await connect(service, { application, variant: 'key' })
    const by = named(application)
    const rotated = await send('/auth/key/rotate', { ...by, access_key: credential })
    expect(rotated.status).toBe(200)
    expect((await send('/auth/key/revoke', { ...by, access_key: rotated.body.access_key })).status).toBe(200)
  })
})

const PATHS = ['/auth/oauth/token', '/auth/oauth/refresh', '/auth/oauth/revoke', '/auth/key/rotate', '/auth/key/revoke']
const REST = { code: 'x', redirect_uri: CALLBACK, refresh_token: 'x', token: 'x', access_key: 'x' }

describe.each(PATHS)('%s', (path) => {
  it('AP-06: refuses two names with two values, whichever is right', async () => {
    const names = both(application)
    for (const [name, other] of [
      ['SVCappid', 'client_id'],
      ['SVCsecret', 'client_secret'],
    ] as const) {
      for (const wrong of [name, other]) {
        for (const value of [wrong.endsWith('id') ? open.id : 'wrong', '']) {
          const answer = await send(path, { ...names, ...REST, [wrong]: value })
          const message = `The parameters ${name} and ${other} have different values.`
          expect(told(answer)).toEqual([400, 'invalid_request', message])
        }
      }
    }
  })

  it('needs one of the names, and the right secret under either', async () => {
    const missing = 'The parameter SVCappid is missing.'
    expect(told(await send(path, REST))).toEqual([400, 'invalid_request', missing])
    for (const secret of [{}, { client_secret: 'wrong' }, { SVCsecret: 'wrong', client_secret: 'wrong' }]) {
      const answer = await send(path, { client_id: application.id, ...secret, ...REST })
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid_application'])
    }
  })
})

it('DG-28: a page of the application that client_id names reads the answer, and a page of no other', async () => {
  const form = { client_id: open.id, refresh_token: 'x' }
  const allowed = async (more: Names, origin: string) =>
    (await send('/auth/oauth/refresh', { ...form, ...more }, { origin })).headers['access-control-allow-origin']
  expect(await allowed({}, new URL(CALLBACK).origin)).toBe(new URL(CALLBACK).origin)
  expect(await allowed({}, 'https://elsewhere.example')).toBeUndefined()
})

it('the device flow has the contract’s names only, and says so to who sends the other ones', async () => {
  const device_code = 'x'
  for (const variant of ['oauth', 'key']) {
    for (const [endpoint, error] of [
      ['code', 'invalid_request'],
      ['polling', 'invalid'],
    ]) {
      const path = `/auth/${variant}/device/${endpoint}`
      const lacks = (name: string, other: string) => [
        400,
        error,
        `The parameter ${name} is missing. ${other} is its name on other paths.`,
      ]
      expect(told(await send(path, { ...dialog(application), device_code }))).toEqual(lacks('SVCappid', 'client_id'))
      const half = { ...dialog(application), SVCappid: application.id, device_code }
      expect(told(await send(path, half))).toEqual(lacks('SVCsecret', 'client_secret'))
      const unknown = { ...contract(application), client_id: 'x', client_secret: 'y', device_code }
      expect(told(await send(path, unknown))[1]).toBe(endpoint === 'code' ? undefined : 'invalid')
    }
  }
})
