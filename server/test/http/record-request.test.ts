/** The requests that a developer sees: each once, with its error, and without secrets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { suspendApplication } from '../../src/flows/applications/manage.ts'
import { type Counts, listRequests, readCounts } from '../../src/store/applications/activity.ts'
import { postNative, postStandard } from '../rig/credentials.ts'
import { type Device, post } from '../rig/device.ts'
import { exchange, makeDialogApplication, makePkce } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeApplication } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())

async function make(given: Parameters<typeof makeApplication>[3] = {}): Promise<MadeApplication> {
  const application = await makeApplication(service.context.db, service.config, service.account.slug, given)
  await service.context.applications.refresh()
  return application
}

type Line = readonly [operation: string, refusal: string | null, message: string | null]

/** Oldest first. Recorded when the answer has been sent, so it may take a moment. */
async function expectLines(application: MadeApplication, lines: readonly Line[]): Promise<void> {
  const noted = async () => {
    await service.context.usage.save()
    const found = await listRequests(service.context.db, application.id)
    return found.map(({ operation, refusal, message }) => [operation, refusal, message]).toReversed()
  }
  await expect.poll(noted, { timeout: 30_000 }).toEqual(lines)
}

async function expectCounts({ id }: MadeApplication, counts: Partial<Counts>): Promise<void> {
  const counted = async () => {
    await service.context.usage.save()
    return readCounts(service.context.db, id, 24)
  }
  await expect.poll(counted, { timeout: 30_000 }).toMatchObject(counts)
}

const basic = ({ id, secret }: MadeApplication) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

const MISSING = (name: string) => `The parameter ${name} is missing.`
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

describe('the device flow', () => {
  it('records a successful code request, in either variant, format and path', async () => {
    const application = await make()
    await service.device('oauth', application).code()
    await service.device('key', application).code()
    await postNative(service, application, '/1/auth/oauth/device/code.xml', {})
    await postStandard(service, application, '/oauth/device_authorization', {})
    await expectLines(application, [
      ['requestTokenCode', null, null],
      ['requestKeyCode', null, null],
      ['requestTokenCode', null, null],
      ['authorizeDevice', null, null],
    ])
    await expectCounts(application, { requested: 4, polls: 0, earlyPolls: 0, secretsInUrl: 0 })
  })

  it('records the error of a code request, with its specific message if there is one', async () => {
    const application = await make()
    const device = service.device('oauth', application)
    const forged = service.device('oauth', { ...application, secret: 'wrong' })
    expect((await forged.request()).body.error).toBe('invalid_application')
    expect((await device.request({ scope: 'orders:read everything' })).body.error).toBe('invalid_scope')
    const { body } = await device.request({ state: 'x'.repeat(1_025) })
    const form = { SVCappid: application.id }
    await post(service.address, '/auth/oauth/device/code', { form })
    await expectLines(application, [
      ['requestTokenCode', 'invalid_application', null],
      ['requestTokenCode', 'invalid_scope', null],
      ['requestTokenCode', 'invalid_request', body.message],
      ['requestTokenCode', 'invalid_request', MISSING('SVCsecret')],
    ])
    await expectCounts(application, { requested: 0 })
  })

  it('records that the device flow is not enabled, and that the application is suspended', async () => {
    const [disabled, suspended] = [await make({ deviceFlow: false, redirectUris: [CALLBACK] }), await make()]
    await suspendApplication(service.context.db, suspended.id, 'polls much too fast')
    await service.context.applications.refresh()
    await service.device('key', disabled).request()
    await service.device('oauth', suspended).request()
    await expectLines(disabled, [['requestKeyCode', 'device_flow_disabled', null]])
    await expectLines(suspended, [['requestTokenCode', 'application_suspended', null]])
  })

  it('counts polls and early polls, and records neither', async () => {
    const application = await make()
    const device = service.device('oauth', application)
    const code = await device.code()
    const polls = [
      await device.poll(code.device_code),
      await device.poll(code.device_code),
      await device.poll(code.device_code),
      await postStandard(service, application, '/oauth/token', {
        grant_type: DEVICE_CODE,
        device_code: code.device_code,
      }),
    ]
    expect(polls.map(({ body }) => body.error)).toEqual(['auth_pending', 'slow_down', 'slow_down', 'slow_down'])
    await device.code()
    await expectLines(application, [
      ['requestTokenCode', null, null],
      ['requestTokenCode', null, null],
    ])
    await expectCounts(application, { requested: 2, polls: 4, earlyPolls: 3, secretsInUrl: 0 })
  })

  it('records the final poll of a code with any outcome', async () => {
    const application = await make()
    const device = service.device('key', application)
    const [granted, rejected] = [await device.code(), await device.code()]
    await service.grant(granted.user_code)
    await service.reject(rejected.user_code)
    await device.poll(granted.device_code)
    await device.poll(rejected.device_code)
    await device.poll('made up')
    await expectLines(application, [
      ['requestKeyCode', null, null],
      ['requestKeyCode', null, null],
      ['pollForAccessKey', null, null],
      ['pollForAccessKey', 'auth_rejected', null],
      ['pollForAccessKey', 'invalid', null],
    ])
    // A poll of an unknown code is not recorded.
    await expectCounts(application, { polls: 2, earlyPolls: 0 })
  })
})

describe('credentials', () => {
  it('records requests that name the application as the dialog does', async () => {
    const application = await makeDialogApplication(service)
    const form = { client_id: application.id, client_secret: application.secret }
    await post(service.address, '/auth/oauth/refresh', { form: { ...form, refresh_token: 'made-up' } })
    await post(service.address, '/auth/oauth/device/polling', { form })
    await expectLines(application, [
      ['refreshTokenSet', 'invalid_grant', null],
      ['pollForTokenSet', 'invalid', `${MISSING('SVCappid')} client_id is its name on other paths.`],
    ])
  })

  it('records exchanges, refreshes, rotations and revocations in the native dialect', async () => {
    const application = await makeDialogApplication(service)
    await exchange(service, application, { code: 'made-up', pkce: makePkce() })
    await postNative(service, application, '/auth/oauth/token', { code: 'made-up' })
    await postNative(service, application, '/auth/oauth/refresh', { refresh_token: 'made-up' })
    await postNative(service, application, '/auth/key/rotate', { access_key: 'made-up' })
    await postNative(service, application, '/auth/oauth/revoke', { token: 'made-up' })
    await postNative(service, application, '/auth/key/revoke', {})
    await expectLines(application, [
      ['exchangeCode', 'invalid_grant', null],
      ['exchangeCode', 'invalid_request', MISSING('redirect_uri')],
      ['refreshTokenSet', 'invalid_grant', null],
      ['rotateAccessKey', 'invalid_grant', null],
      ['revokeTokenSet', null, null],
      ['revokeAccessKey', 'invalid_request', MISSING('access_key')],
    ])
  })

  it('records requests in the standard dialect, with the secret in the form or as HTTP Basic', async () => {
    const application = await makeDialogApplication(service)
    const headers = basic(application)
    await postStandard(service, application, '/oauth/token', { grant_type: 'password' })
    await post(service.address, '/oauth/token', { form: { grant_type: 'refresh_token', refresh_token: 'x' }, headers })
    await post(service.address, '/oauth/introspect', { form: { token: 'x' }, headers })
    await post(service.address, '/oauth/revoke', { form: {}, headers })
    await post(service.address, '/oauth/token', { form: {}, headers: basic({ ...application, secret: 'wrong' }) })
    await post(service.address, '/oauth/token', {
      form: { client_id: application.id, client_secret: application.secret },
      headers,
    })
    await postStandard(service, application, '/oauth/par', { redirect_uri: 'https://elsewhere.example/' })
    await expectLines(application, [
      ['token', 'unsupported_grant_type', null],
      ['token', 'invalid_grant', null],
      ['introspect', null, null],
      ['revokeToken', 'invalid_request', MISSING('token')],
      ['token', 'invalid_application', null],
      ['token', 'invalid_request', 'The client authenticates twice; use one way only.'],
      ['pushRequest', 'invalid_request', 'The redirect_uri is not registered for this application.'],
    ])
  })

  it('records a malformed request, as long as it names the application', async () => {
    const application = await make()
    const form = { SVCappid: application.id, SVCsecret: application.secret, scope: 'orders:read' }
    await post(service.address, '/auth/oauth/device/code', { query: { scope: 'orders:write' }, form })
    await post(service.address, '/auth/oauth/device/polling', { form })
    await expectLines(application, [
      ['requestTokenCode', 'invalid_request', 'The parameter scope is given twice with different values.'],
      ['pollForTokenSet', 'invalid', MISSING('device_code')],
    ])
  })

  it('records no reports of credentials, whichever application they name', async () => {
    const application = await make()
    await postNative(service, application, '/auth/report', { credential: 'made-up' })
    await service.device('oauth', application).code()
    await expectLines(application, [['requestTokenCode', null, null]])
  })
})

it('records nothing for an unknown application', async () => {
  const known = await make()
  const unknown = { id: 'app_000000000000', secret: known.secret }
  await service.device('oauth', unknown).request()
  await postStandard(service, unknown, '/oauth/token', {})
  await post(service.address, '/auth/oauth/device/code', { form: {} })
  await service.device('oauth', known).code()
  await expectLines(known, [['requestTokenCode', null, null]])
  const rows = await service.database.query('select from application_requests where application_id = $1', [unknown.id])
  expect(rows).toEqual([])
})

describe('a secret in the URL', () => {
  const inUrl = (device: Device, path: string, given: Record<string, string> = {}) =>
    post(service.address, path, { query: { ...device.credentials, ...given } })

  it('is counted for every request, pending polls included, and stored nowhere', async () => {
    const application = await make()
    const device = service.device('oauth', application)
    const canaries = { scope: 'canary:scope', state: 'canary-state' }
    const { body } = await inUrl(device, '/auth/oauth/device/code', { state: 'canary-state' })
    expect((await inUrl(device, '/auth/oauth/device/code', canaries)).body.error).toBe('invalid_scope')
    const deviceCode = body.device_code
    expect((await inUrl(device, '/auth/oauth/device/polling', { device_code: deviceCode })).body.error).toBe(
      'auth_pending',
    )
    expect((await inUrl(device, '/auth/oauth/device/polling', { device_code: deviceCode })).body.error).toBe(
      'slow_down',
    )
    await inUrl(device, '/auth/oauth/refresh', { refresh_token: 'canary-token' })
    await expectCounts(application, { secretsInUrl: 5 })
    await expectLines(application, [
      ['requestTokenCode', null, null],
      ['requestTokenCode', 'invalid_scope', null],
      ['refreshTokenSet', 'invalid_grant', null],
    ])
    const rows = await service.database.query(
      'select r::text as row from application_requests r union all select h::text from application_hours h',
    )
    const text = JSON.stringify(rows)
    expect(text).toContain(application.id)
    for (const secret of [application.secret, deviceCode, body.user_code, 'canary']) expect(text).not.toContain(secret)
  })

  it('is counted if the form has it as well', async () => {
    const application = await make()
    const { credentials } = service.device('oauth', application)
    await post(service.address, '/auth/oauth/device/code', { query: credentials, form: credentials })
    await expectLines(application, [['requestTokenCode', null, null]])
    await expectCounts(application, { secretsInUrl: 1 })
  })

  it('is not counted in the form, or if it is not a secret of this application', async () => {
    const [application, other] = [await make(), await make()]
    const device = service.device('oauth', application)
    await post(service.address, '/auth/oauth/device/code', {
      query: { state: 'SVCsecret' },
      form: device.credentials,
    })
    await inUrl(service.device('oauth', { ...application, secret: 'wrong' }), '/auth/oauth/device/code')
    await inUrl(service.device('oauth', { ...application, secret: other.secret }), '/auth/oauth/device/code')
    await expectLines(application, [
      ['requestTokenCode', null, null],
      ['requestTokenCode', 'invalid_application', null],
      ['requestTokenCode', 'invalid_application', null],
    ])
    await expectCounts(application, { secretsInUrl: 0 })
  })
})

describe('unauthenticated requests', () => {
  const authenticated = async ({ id }: MadeApplication) => {
    await service.context.usage.save()
    const rows = await service.database.query<{ authenticated: boolean }>(
      'select authenticated from application_requests where application_id = $1 order by id',
      [id],
    )
    return rows.map((row) => row.authenticated)
  }

  it('do not displace authenticated ones from the list: at most ten of them are kept', async () => {
    const application = await make()
    await service.device('oauth', application).code()
    const forged = service.device('oauth', { ...application, secret: 'wrong' })
    for (let each = 0; each < 60; each += 1) await forged.request()
    const refused: Line = ['requestTokenCode', 'invalid_application', null]
    await expectLines(application, [['requestTokenCode', null, null], ...Array.from({ length: 10 }, () => refused)])
  })

  it('are distinguished in either dialect, also when the request itself is refused', async () => {
    const application = await makeDialogApplication(service)
    const { id, secret } = application
    const wrong = { ...application, secret: 'wrong' }
    const sent = [
      [() => postNative(service, application, '/auth/oauth/refresh', { refresh_token: 'made-up' }), true],
      [() => postNative(service, wrong, '/auth/oauth/refresh', { refresh_token: 'made-up' }), false],
      [() => post(service.address, '/auth/oauth/refresh', { form: { SVCappid: id } }), false],
      [() => postStandard(service, application, '/oauth/token', { grant_type: 'password' }), true],
      [() => postStandard(service, wrong, '/oauth/token', { grant_type: 'password' }), false],
      [() => post(service.address, '/oauth/token', { form: {}, headers: basic(application) }), true],
      [() => post(service.address, '/oauth/token', { form: {}, headers: basic(wrong) }), false],
      [() => post(service.address, '/oauth/token', { form: { client_id: id } }), false],
      // Malformed except for the application id and its secret.
      [
        () =>
          post(service.address, '/auth/oauth/refresh', {
            query: { scope: 'x' },
            form: { SVCappid: id, SVCsecret: secret, scope: 'y' },
          }),
        true,
      ],
    ] as const
    for (const [send] of sent) await send()
    await expect.poll(() => authenticated(application), { timeout: 30_000 }).toEqual(sent.map(([, own]) => own))
  })
})
