/** POST /oauth/token: three grant types, over the same flows as three paths of the native dialect. */
import { Refusal } from '../../core/refusal.ts'
import type { Context } from '../../flows/context.ts'
import { pollDeviceCode } from '../../flows/device/poll.ts'
import { exchangeCode } from '../../flows/dialog/exchange-code.ts'
import type { IssuedTokenSet } from '../../flows/grants/issue.ts'
import { refreshTokenSet } from '../../flows/grants/refresh.ts'
import type { Answer, Fields } from '../answer.ts'
import { answerToPoll } from '../device/endpoints.ts'
import { readableByOwnPages } from '../grants/own-pages.ts'
import { settling } from '../grants/token-endpoints.ts'
import { required } from '../parameters.ts'
import type { ApiRequest, Handler } from '../route.ts'
import { type ClientRequest, readClient } from './client.ts'

export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

export const token: Handler = readableByOwnPages('client_id', async (context, request) => {
  const asked = readClient(request)
  const { applicationId, secret } = asked.client
  if (!context.applications.authenticate(applicationId, secret)) return UNKNOWN_CLIENT
  switch (required(asked.parameters, 'grant_type')) {
    case 'authorization_code':
      return byCode(context, asked)
    case 'refresh_token':
      return byRefreshToken(context, asked)
    case DEVICE_CODE:
      return byDeviceCode(context, asked, request)
    default:
      throw new Refusal('unsupported_grant_type')
  }
})

export const UNKNOWN_CLIENT: Answer = { refusal: 'invalid_application' }

async function byCode(context: Context, { client, parameters }: ClientRequest): Promise<Answer> {
  const result = await exchangeCode(context, {
    ...client,
    code: required(parameters, 'code'),
    redirectUri: required(parameters, 'redirect_uri'),
    codeVerifier: parameters.get('code_verifier') ?? null,
  })
  if (result.outcome === 'unavailable') return { refusal: 'unavailable', retryAfterSeconds: 2 }
  if (result.outcome !== 'exchanged') return { refusal: result.outcome }
  return { status: 200, fields: tokenFields(result.issued), ...settling(context, result.ticket) }
}

async function byRefreshToken(context: Context, { client, parameters }: ClientRequest): Promise<Answer> {
  const refreshToken = required(parameters, 'refresh_token')
  const result = await refreshTokenSet(context, { ...client, refreshToken, scope: parameters.get('scope') ?? null })
  if (result.outcome !== 'refreshed') return { refusal: result.outcome }
  return { status: 200, fields: tokenFields(result.issued) }
}

/** RFC 8628, section 3.4. slow_down does not lengthen the interval: a device that keeps to it gets no further one. */
async function byDeviceCode(
  context: Context,
  { client, parameters }: ClientRequest,
  request: ApiRequest,
): Promise<Answer> {
  const result = await pollDeviceCode(context, {
    ...client,
    deviceCode: required(parameters, 'device_code'),
    variant: 'token_set',
    idempotencyKey: request.header('idempotency-key'),
  })
  return answerToPoll(context, result, (issued) => {
    if (!('accessToken' in issued)) throw new Error('a code for a token set led to something else')
    return tokenFields(issued)
  })
}

function tokenFields(issued: IssuedTokenSet): Fields {
  return {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: issued.expiresInSeconds,
    refresh_token: issued.refreshToken,
    scope: issued.scopes.join(' '),
  }
}
