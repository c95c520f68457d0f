/**
 * `invalid_scope` names the scopes that were refused, and to who has proved itself those that are allowed.
 * docs/interface/credentials.md, "Scopes".
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../rig/connect.ts'
import { post, type WireAnswer } from '../rig/device.ts'
import { readXml } from '../rig/dialects.ts'
import { makeDialogApplication } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let application: MadeApplication
let open: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service, { deviceFlow: true })
  open = await makeDialogApplication(service, { public: true, deviceFlow: true })
})
afterAll(() => service.stop())

type Ask = (scope: string) => Promise<WireAnswer>

const send = (path: string, form: Record<string, string>) => post(service.address, path, { form })
const contract = () => ({ SVCappid: application.id, SVCsecret: application.secret })
const client = () => ({ client_id: application.id, client_secret: application.secret })
const DIALOG = { response_type: 'code', redirect_uri: CALLBACK }

function messageOf({ status, text, body }: WireAnswer): string {
  const { error, message, error_description } = text[0] === '<' ? readXml(text) : body
  expect([status, error]).toEqual([400, 'invalid_scope'])
  return message ?? error_description
}

const REFUSED = 'The scope is unknown or not allowed for this application'

const proven: [string, Ask][] = [
  ['/auth/oauth/device/code', (scope) => send('/auth/oauth/device/code', { ...contract(), scope })],
  ['/1/auth/key/device/code.xml', (scope) => send('/1/auth/key/device/code.xml', { ...contract(), scope })],
  ['/oauth/device_authorization', (scope) => send('/oauth/device_authorization', { ...client(), scope })],
  ['/oauth/par', (scope) => send('/oauth/par', { ...client(), ...DIALOG, scope })],
]

describe.each(proven)('%s', (_path, ask) => {
  it.each([
    ['orders:delete', 'orders:delete'],
    ['orders:read,orders:delete, x', 'orders:delete, x'],
    ['ORDERS:READ', 'ORDERS:READ'],
    ['"ä"\\,<b>', '%22%C3%A4%22%5C, <b>'],
    ['\u{1f600}', '%F0%9F%98%80'],
    ['x'.repeat(70), `${'x'.repeat(64)}...`],
    ['ä'.repeat(70), `${'%C3%A4'.repeat(11).slice(0, 64)}...`],
    [Array.from({ length: 12 }, (_, at) => `s${at}`).join(), 's0, s1, s2, s3, s4, s5, s6, s7, s8, s9 and 2 more'],
  ])('of %j names what is refused, and what is allowed', async (scope, named) => {
    expect(messageOf(await ask(scope))).toBe(`${REFUSED}: ${named}. Allowed: orders:read, orders:write.`)
  })
})

it('nothing of the scopes is told to who has not proved itself', async () => {
  for (const [path, form] of [
    ['/auth/oauth/device/code', { ...contract(), SVCsecret: 'x' }],
    ['/oauth/device_authorization', { ...client(), client_secret: 'x' }],
    ['/oauth/par', { ...client(), client_secret: 'x', ...DIALOG }],
    ['/auth/oauth/refresh', { ...contract(), SVCsecret: 'x', refresh_token: 'x' }],
  ] as const) {
    const answer = await send(path, { ...form, scope: 'orders:delete' })
    expect(answer.status).toBe(401)
    expect(answer.text).not.toContain('orders:')
  }
})

it('without a secret only the scopes of the request are named: by a public application, and on the page of the dialog', async () => {
  const by = { client_id: open.id }
  const challenge = { code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
  const scope = 'orders:read orders:delete'
  const told = `${REFUSED}: orders:delete.`
  expect(messageOf(await send('/oauth/device_authorization', { ...by, scope }))).toBe(told)
  expect(messageOf(await send('/oauth/par', { ...by, ...DIALOG, ...challenge, scope }))).toBe(told)
  const page = await send('/oauth/authorize', { client_id: application.id, ...DIALOG, scope })
  expect(page.text).toContain(told)
  expect(page.text).not.toContain('orders:write')
})

it('a refresh for more than was granted says what was granted', async () => {
  const { refreshToken } = await connect(service, { application, scope: 'orders:read' })
  const told = 'The scope is more than was granted: orders:write. Granted: orders:read.'
  const native = { ...contract(), refresh_token: refreshToken, scope: 'orders:read,orders:write' }
  expect(messageOf(await send('/auth/oauth/refresh', native))).toBe(told)
  expect(messageOf(await send('/auth/oauth/refresh.xml', native))).toBe(told)
  const standard = { ...client(), grant_type: 'refresh_token', refresh_token: refreshToken, scope: 'orders:write' }
  expect(messageOf(await send('/oauth/token', standard))).toBe(told)
  expect((await send('/auth/oauth/refresh', { ...native, scope: 'orders:read' })).status).toBe(200)
})
