/** RFC 8707, section 2: a `resource` is an absolute URI without a fragment. What it names is not looked at. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isResource } from '../../src/core/dialog/resource.ts'
import { post } from '../rig/device.ts'
import { makeDialogApplication, makePkce } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
let application: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  application = await makeDialogApplication(service)
})
afterAll(() => service.stop())

const GOOD = [
  'https://api.example/',
  'https://api.example:8443/mcp?x=1',
  'urn:example:orders',
  'http://[::1]:80/',
  'a:b',
]
const BAD = [
  'api.example',
  '/orders',
  '//api.example',
  'https://api.example/#x',
  'https://',
  'https://a b/',
  'https://ä/',
  ':x',
  'x:',
]

const client = () => ({ client_id: application.id, client_secret: application.secret })
const dialog = () => ({
  response_type: 'code',
  redirect_uri: CALLBACK,
  code_challenge: makePkce().challenge,
  code_challenge_method: 'S256',
})

it('is one of these', () => {
  expect(GOOD.filter((text) => !isResource(text))).toEqual([])
  expect(BAD.filter(isResource)).toEqual([])
})

it.each(BAD)('%s is invalid_target, wherever it is read', async (resource) => {
  const page = await post(service.address, '/oauth/authorize', {
    method: 'GET',
    query: { client_id: application.id, ...dialog(), resource },
  })
  expect([page.status, page.headers.location]).toEqual([400, undefined])
  expect(page.text).toContain('invalid_target: The resource must be an absolute URI without a fragment.')
  expect(page.text).toContain('error=invalid_target')
  for (const [path, form] of [
    ['/oauth/par', dialog()],
    ['/oauth/token', { grant_type: 'refresh_token', refresh_token: 'x' }],
    ['/oauth/token', { grant_type: 'authorization_code', code: 'x', redirect_uri: CALLBACK }],
  ] as const) {
    const answer = await post(service.address, path, { form: { ...client(), ...form, resource } })
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_target'])
    const stranger = await post(service.address, path, { form: { ...client(), client_secret: 'x', ...form, resource } })
    expect([stranger.status, stranger.body.error]).toEqual([401, 'invalid_client'])
  }
})

it.each([...GOOD, ''])('%j changes nothing', async (resource) => {
  const query = { client_id: application.id, ...dialog(), resource }
  expect((await post(service.address, '/oauth/authorize', { method: 'GET', query })).status).toBe(303)
  const refresh = { ...client(), grant_type: 'refresh_token', refresh_token: 'x', resource }
  expect((await post(service.address, '/oauth/token', { form: refresh })).body.error).toBe('invalid_grant')
})
