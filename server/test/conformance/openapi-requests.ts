/** For every operation of the description: requests that succeed, each with data of its own, and some that are refused. */
import { suspendApplication } from '../../src/flows/applications/manage.ts'
import type { OperationId } from '../../src/http/routes.ts'
import { connect, grant } from '../rig/connect.ts'
import { allow, makeDialogApplication, makePkce } from '../rig/dialog.ts'
import { CALLBACK, type MadeApplication, makeApplication } from '../rig/make.ts'
import type { TestService } from '../rig/service.ts'
import { switchTestModeOn } from '../rig/test-mode.ts'

export type Sent = {
  readonly form?: Record<string, string>
  readonly query?: Record<string, string>
  readonly headers?: Record<string, string>
}

export type Requests = {
  /** By what it is about. */
  readonly succeed: Readonly<Record<string, () => Promise<Sent> | Sent>>
  /** By the error that comes back, in the words of the operation's dialect; `page` where it is a person's. */
  readonly refused: Readonly<Record<string, () => Promise<Sent> | Sent>>
}

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'
const NOBODY = { SVCappid: 'app_000000000000', SVCsecret: `lks_${'x'.repeat(43)}` }

export async function describedRequests(service: TestService): Promise<Readonly<Record<OperationId, Requests>>> {
  const { context, config, account, application } = service
  const dialog = await makeDialogApplication(service)
  const without = await makeApplication(context.db, config, account.slug, { deviceFlow: false })
  const suspended = await makeDialogApplication(service, { deviceFlow: true })
  await suspendApplication(context.db, suspended.id, 'a test')
  await context.applications.refresh()

  const native = ({ id, secret }: MadeApplication = application) => ({ SVCappid: id, SVCsecret: secret })
  const client = ({ id, secret }: MadeApplication = application) => ({ client_id: id, client_secret: secret })
  const basic = ({ id, secret }: MadeApplication = application) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  })
  const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` })

  const codeRequest: Requests = {
    succeed: { 'a code': () => ({ form: { ...native(), scope: 'orders:read', state: 'kiosk-7' } }) },
    refused: {
      invalid_request: () => ({ form: { SVCappid: application.id } }),
      invalid_scope: () => ({ form: { ...native(), scope: 'unknown' } }),
      invalid_application: () => ({ form: NOBODY }),
      application_suspended: () => ({ form: native(suspended) }),
      device_flow_disabled: () => ({ form: native(without) }),
    },
  }
  const tested = await makeApplication(context.db, config, account.slug, {})
  const test_secret = await switchTestModeOn(service, tested)
  const testDecision = async (decision: string) => {
    const { user_code } = await service.device('oauth', tested).code()
    return { form: { ...native(tested), test_secret, user_code, decision } }
  }

  const polls = (variant: 'oauth' | 'key'): Requests => {
    const device = service.device(variant)
    const poll = (device_code: string) => ({ form: { ...native(), device_code } })
    return {
      succeed: { accepted: async () => poll((await grant(service, { variant })).deviceCode) },
      refused: {
        auth_pending: async () => poll((await device.code()).device_code),
        slow_down: async () => {
          const { device_code } = await device.code()
          await device.poll(device_code)
          return poll(device_code)
        },
        auth_rejected: async () => {
          const { device_code, user_code } = await device.code()
          await service.reject(user_code)
          return poll(device_code)
        },
        auth_expired: async () => {
          const { device_code } = await device.code()
          await service.database.advance(601_000)
          await context.applications.refresh()
          return poll(device_code)
        },
        invalid: () => poll('lkd_'),
      },
    }
  }

  const challenge = () => ({ code_challenge: makePkce().challenge, code_challenge_method: 'S256' })
  const opening = () => ({
    client_id: dialog.id,
    response_type: 'code',
    redirect_uri: CALLBACK,
    state: 's',
    ...challenge(),
  })
  const opens = (place: 'query' | 'form'): Requests => ({
    succeed: { 'the dialog': () => ({ [place]: opening() }) },
    refused: {
      'page for a bad address': () => ({ [place]: { ...opening(), redirect_uri: 'https://elsewhere.example/' } }),
      'page for a bad scope': () => ({ [place]: { ...opening(), scope: 'unknown' } }),
      'page for a suspended application': () => ({ [place]: { ...opening(), client_id: suspended.id } }),
    },
  })

  const exchanging = async () => {
    const { code, pkce } = await allow(service, { application: dialog })
    return { code, redirect_uri: CALLBACK, code_verifier: pkce.verifier }
  }
  const refreshing = async () => ({ refresh_token: (await connect(service)).refreshToken })
  const keyed = async () => ({ access_key: (await connect(service, { variant: 'key' })).credential })
  const notValid = { refresh_token: `lkr_0000${'A'.repeat(50)}` }

  return {
    requestTokenCode: codeRequest,
    decideTestCode: {
      succeed: { granted: () => testDecision('grant'), rejected: () => testDecision('reject') },
      refused: {
        invalid_request: () => testDecision('maybe'),
        invalid_application: () => ({ form: { ...NOBODY, test_secret, user_code: '000000000', decision: 'grant' } }),
        invalid_test_secret: () => ({ form: { ...native(), test_secret, user_code: '000000000', decision: 'grant' } }),
        invalid: () => ({ form: { ...native(tested), test_secret, user_code: '000000000', decision: 'grant' } }),
      },
    },
    requestKeyCode: codeRequest,
    pollForTokenSet: polls('oauth'),
    pollForAccessKey: polls('key'),
    openDialog: opens('query'),
    openDialogByForm: opens('form'),
    authorize: opens('query'),
    authorizeByForm: opens('form'),
    showActivation: { succeed: { 'the page': () => ({}) }, refused: {} },
    chooseAccount: {
      succeed: {
        'an account': () => ({ form: { typed: account.slug }, headers: { 'sec-fetch-site': 'same-origin' } }),
      },
      refused: {
        'page for an unknown account': () => ({
          form: { typed: 'nobody' },
          headers: { 'sec-fetch-site': 'same-origin' },
        }),
        'page for a form from elsewhere': () => ({ form: {}, headers: { 'sec-fetch-site': 'cross-site' } }),
      },
    },
    exchangeCode: {
      succeed: { 'a code': async () => ({ form: { ...native(dialog), ...(await exchanging()) } }) },
      refused: {
        invalid_request: () => ({ form: native(dialog) }),
        invalid_grant: async () => ({ form: { ...native(dialog), ...(await exchanging()), code: 'lkc_' } }),
        invalid_application: async () => ({ form: { ...NOBODY, ...(await exchanging()) } }),
      },
    },
    refreshTokenSet: {
      succeed: { 'a refresh token': async () => ({ form: { ...native(), ...(await refreshing()) } }) },
      refused: {
        invalid_request: () => ({ form: native() }),
        invalid_scope: async () => ({ form: { ...native(), ...(await refreshing()), scope: 'unknown' } }),
        invalid_grant: () => ({ form: { ...native(), ...notValid } }),
        invalid_application: () => ({ form: { ...NOBODY, ...notValid } }),
      },
    },
    revokeTokenSet: {
      succeed: {
        'an access token': async () => ({ form: { ...native(), token: (await connect(service)).credential } }),
        'anything else': () => ({ form: { ...native(), token: 'nothing' } }),
      },
      refused: {
        invalid_request: () => ({ form: native() }),
        invalid_application: () => ({ form: { ...NOBODY, token: 'nothing' } }),
      },
    },
    rotateAccessKey: {
      succeed: { 'a key': async () => ({ form: { ...native(), ...(await keyed()) } }) },
      refused: {
        invalid_request: () => ({ form: native() }),
        invalid_grant: () => ({ form: { ...native(), access_key: 'lkk_' } }),
        invalid_application: () => ({ form: { ...NOBODY, access_key: 'lkk_' } }),
      },
    },
    revokeAccessKey: {
      succeed: { 'a key': async () => ({ form: { ...native(), ...(await keyed()) } }) },
      refused: {
        invalid_request: () => ({ form: native() }),
        invalid_application: () => ({ form: { ...NOBODY, access_key: 'lkk_' } }),
      },
    },
    reportCredential: {
      succeed: {
        'a living one': async () => ({ form: { credential: (await connect(service)).credential } }),
        'nothing at all': () => ({ form: { credential: 'nothing' } }),
      },
      refused: { invalid_request: () => ({ form: {} }) },
    },
    describeCredential: {
      succeed: {
        'an access token': async () => ({ headers: bearer((await connect(service)).credential) }),
        'an access key': async () => ({ headers: bearer((await connect(service, { variant: 'key' })).credential) }),
      },
      refused: { invalid_credential: () => ({ headers: bearer('lka_') }) },
    },
    verifyCredential: {
      succeed: {
        'an access key': async () => ({
          query: { scope: 'orders:read' },
          headers: bearer((await connect(service, { variant: 'key' })).credential),
        }),
      },
      refused: {
        invalid_credential: () => ({}),
        insufficient_scope: async () => ({
          query: { scope: 'orders:delete' },
          headers: bearer((await connect(service)).credential),
        }),
      },
    },
    verifyRequest: {
      succeed: {
        'an access token': async () => ({
          headers: { ...bearer((await connect(service)).credential), 'x-latchkey-require-scope': 'orders:read' },
        }),
      },
      refused: {
        invalid_request: async () => ({ headers: bearer((await connect(service)).credential) }),
        invalid_credential: () => ({ headers: { 'x-latchkey-require-scope': '' } }),
        insufficient_scope: async () => ({
          headers: { ...bearer((await connect(service)).credential), 'x-latchkey-require-scope': 'orders:delete' },
        }),
      },
    },
    readMetadata: { succeed: { 'the metadata': () => ({}) }, refused: {} },
    pushRequest: {
      succeed: {
        'by HTTP Basic': () => ({
          form: { response_type: 'code', redirect_uri: CALLBACK, ...challenge() },
          headers: basic(dialog),
        }),
      },
      refused: {
        invalid_request: () => ({ form: { ...client(dialog), ...opening(), code_challenge_method: 'plain' } }),
        invalid_scope: () => ({ form: { ...client(dialog), ...opening(), scope: 'unknown' } }),
        unsupported_response_type: () => ({ form: { ...client(dialog), ...opening(), response_type: 'token' } }),
        invalid_client: () => ({ form: { client_id: 'app_000000000000' } }),
        unauthorized_client: () => ({ form: { ...opening(), ...client(suspended) } }),
      },
    },
    authorizeDevice: {
      succeed: { 'a code': () => ({ form: { ...client(), scope: 'orders:read orders:write' } }) },
      refused: {
        invalid_scope: () => ({ form: { ...client(), scope: 'unknown' } }),
        invalid_client: () => ({ form: {} }),
        unauthorized_client: () => ({ form: client(without) }),
      },
    },
    token: {
      succeed: {
        'a code of the dialog': async () => ({
          form: { grant_type: 'authorization_code', ...(await exchanging()) },
          headers: basic(dialog),
        }),
        'a refresh token': async () => ({
          form: { ...client(), grant_type: 'refresh_token', ...(await refreshing()) },
        }),
        'a device code': async () => ({
          form: { ...client(), grant_type: DEVICE_CODE, device_code: (await grant(service)).deviceCode },
        }),
      },
      refused: {
        authorization_pending: async () => ({
          form: { ...client(), grant_type: DEVICE_CODE, device_code: (await service.device().code()).device_code },
        }),
        invalid_request: () => ({ form: client() }),
        invalid_grant: () => ({ form: { ...client(), grant_type: 'refresh_token', ...notValid } }),
        unsupported_grant_type: () => ({ form: { ...client(), grant_type: 'password' } }),
        invalid_client: () => ({ form: { client_id: 'app_000000000000', grant_type: 'refresh_token' } }),
      },
    },
    introspect: {
      succeed: {
        'an access token': async () => ({ form: { ...client(), token: (await connect(service)).credential } }),
        'an access key': async () => ({
          form: { ...client(), token: (await connect(service, { variant: 'key' })).credential },
        }),
        'nothing at all': () => ({ form: { ...client(), token: 'nothing' } }),
      },
      refused: {
        invalid_request: () => ({ form: client() }),
        invalid_client: () => ({ form: { client_id: application.id, token: 'nothing' } }),
      },
    },
    revokeToken: {
      succeed: {
        'an access token': async () => ({ form: { ...client(), token: (await connect(service)).credential } }),
      },
      refused: {
        invalid_request: () => ({ form: client() }),
        invalid_client: () => ({ form: { client_id: 'app_000000000000', token: 'nothing' } }),
      },
    },
    checkLive: { succeed: { live: () => ({}) }, refused: {} },
    checkReady: { succeed: { ready: () => ({}) }, refused: {} },
    readDescription: { succeed: { 'the document': () => ({}) }, refused: {} },
  }
}
