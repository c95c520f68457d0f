/** Who asks, in the standard dialect: by the form, by HTTP Basic, or without a secret (RFC 6749, section 2.3.1). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post, type WireAnswer } from '../rig/device.ts'
import { CALLBACK, type MadeApplication, makeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'
import { as, expectError } from './standard-words.ts'

let service: TestService
let application: MadeApplication
let publicApplication: MadeApplication
beforeAll(async () => {
  service = await startTestService()
  const { context, config, account } = service
  application = await makeApplication(context.db, config, account.slug, { redirectUris: [CALLBACK] })
  publicApplication = await makeApplication(context.db, config, account.slug, {
    redirectUris: [CALLBACK],
    public: true,
  })
  await context.applications.refresh()
})
afterAll(() => service.stop())

function send(path: string, form: Record<string, string>, headers: Record<string, string> = {}): Promise<WireAnswer> {
  return post(service.address, path, { form, headers })
}

function basic(id: string, secret: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` }
}

const endpoints = ['/oauth/token', '/oauth/device_authorization', '/oauth/par', '/oauth/introspect', '/oauth/revoke']
const wrong = `lks_${'x'.repeat(43)}`

describe.each(endpoints)('%s', (path) => {
  /** Enough for each of them to get past the question who asks. */
  const rest = { token: 'x', grant_type: 'x', redirect_uri: CALLBACK }

  it.each([
    ['a wrong secret in the form', () => send(path, { ...rest, client_id: application.id, client_secret: wrong })],
    ['a wrong secret in the header', () => send(path, rest, basic(application.id, wrong))],
    ['no secret', () => send(path, { ...rest, client_id: application.id })],
    ['an empty secret', () => send(path, { ...rest, client_id: application.id, client_secret: '' })],
    ['an unknown client_id', () => send(path, { ...rest, client_id: 'app_000000000000', client_secret: wrong })],
    [
      'a secret for a public application',
      () => send(path, { ...rest, ...as(publicApplication), client_secret: wrong }),
    ],
    ['no client_id at all', () => send(path, rest)],
    ['another scheme than Basic', () => send(path, rest, { authorization: `Bearer ${application.secret}` })],
    ['a Basic that holds no pair', () => send(path, rest, { authorization: 'Basic eHh4' })],
    ['a Basic that is not form-encoded', () => send(path, rest, basic(application.id, '%zz'))],
  ])('%s: 401 invalid_client', async (_what, asked) => {
    expectError(await asked(), 401, 'invalid_client')
  })

  it('secrets in the query are not read', async () => {
    const form = { ...rest, client_id: application.id }
    const query = { client_secret: application.secret }
    expectError(await post(service.address, path, { query, form }), 401, 'invalid_client')
    expectError(await post(service.address, path, { query: { ...form, ...query }, form: rest }), 401, 'invalid_client')
  })

  it('two ways at once are refused, and so are two names', async () => {
    const header = basic(application.id, application.secret)
    expectError(await send(path, { ...rest, ...as(application) }, header), 400, 'invalid_request')
    expectError(await send(path, { ...rest, client_id: publicApplication.id }, header), 400, 'invalid_request')
  })

  it('a parameter given twice is refused', async () => {
    const raw = `${new URLSearchParams({ ...as(application), ...rest })}&token=y`
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    expectError(await post(service.address, path, { raw, headers }), 400, 'invalid_request')
  })

  it('GET is refused with the method that is allowed', async () => {
    const answer = await post(service.address, path, { method: 'GET' })
    expectError(answer, 405, 'invalid_request')
    expect(answer.headers.allow).toBe('POST')
  })
})

it('Basic is form-encoded: every character of id and secret may come escaped', async () => {
  const escaped = (text: string) => Array.from(text, (each) => `%${each.charCodeAt(0).toString(16)}`).join('')
  const answer = await send(
    '/oauth/device_authorization',
    {},
    basic(escaped(application.id), escaped(application.secret)),
  )
  expect(answer.status).toBe(200)
})

it('the same client_id once more beside Basic says nothing new', async () => {
  const header = basic(application.id, application.secret)
  expect((await send('/oauth/device_authorization', { client_id: application.id }, header)).status).toBe(200)
})

it('a public application may send its id as Basic without a secret', async () => {
  expect((await send('/oauth/device_authorization', {}, basic(publicApplication.id, ''))).status).toBe(200)
})
