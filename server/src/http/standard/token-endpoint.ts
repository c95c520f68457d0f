/** POST /oauth/token: three grant types, over the same flows as three paths of the native dialect. */
import { isResource } from '../../core/dialog/resource.ts'
import type { Context } from '../../flows/context.ts'
import { pollDeviceCode } from '../../flows/device/poll.ts'
import { exchangeCode } from '../../flows/dialog/exchange-code.ts'
import type { IssuedTokenSet } from '../../flows/grants/issue.ts'
import { refreshTokenSet } from '../../flows/grants/refresh.ts'
import type { Answer, Fields } from '../answer.ts'
import { answerToPoll, readWaitOf } from '../device/polling-endpoints.ts'
import {
  accessToken,
  bearer,
  codeVerifier,
  readableHeaders,
  redirectUri,
  refreshToken,
  resourceField,
  spacedScope,
  tokenExpiresIn,
} from '../fields.ts'
import { readableByOwnPages } from '../grants/own-pages.ts'
import { refusedExchange, refusedRefresh, settling } from '../grants/token-endpoints.ts'
import type { ApiRequest, Endpoint } from '../route.ts'
import { optional, parse, text } from '../schema.ts'
import { asClient, type ClientRequest, clientFields, readClient, UNKNOWN_CLIENT } from './client.ts'

export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

/** No enum: an unknown `grant_type` is refused as `unsupported_grant_type`, not as `invalid_request`. */
const grantForm = { grant_type: text('Which of the three.') }

/** Each grant type has parameters of its own. */
const codeForm = {
  code: text('The `code` that the dialog returned with.'),
  redirect_uri: redirectUri,
  code_verifier: codeVerifier,
}
const refreshForm = {
  refresh_token: text('The newest refresh token that you hold.'),
  scope: optional(text('Only with a refresh token: not more than was granted; less changes nothing.')),
}
const deviceForm = { device_code: text('What the code request answered.') }

const handler = readableByOwnPages('standard', async (context, request) => {
  const asked = readClient(request)
  const { applicationId, secret } = asked.client
  if (!context.applications.authenticate(applicationId, secret)) return UNKNOWN_CLIENT
  const resource = asked.parameters.get('resource')
  if (resource && !isResource(resource)) return { refusal: 'invalid_target' }
  switch (parse(grantForm, asked.parameters).grant_type) {
    case 'authorization_code':
      return byCode(context, asked, request)
    case 'refresh_token':
      return byRefreshToken(context, asked)
    case DEVICE_CODE:
      return byDeviceCode(context, asked, request)
    default:
      return { refusal: 'unsupported_grant_type' }
  }
})

async function byCode(context: Context, { client, parameters }: ClientRequest, request: ApiRequest): Promise<Answer> {
  const form = parse(codeForm, parameters)
  const result = await exchangeCode(context, {
    ...client,
    code: form.code,
    redirectUri: form.redirect_uri,
    codeVerifier: form.code_verifier,
    idempotencyKey: request.header('idempotency-key'),
  })
  if (result.outcome !== 'exchanged') return refusedExchange(result)
  return { status: 200, fields: tokenFields(result.issued), ...settling(context, result.ticket) }
}

async function byRefreshToken(context: Context, { client, parameters }: ClientRequest): Promise<Answer> {
  const { refresh_token, scope } = parse(refreshForm, parameters)
  const result = await refreshTokenSet(context, { ...client, refreshToken: refresh_token, scope })
  if (result.outcome !== 'refreshed') return refusedRefresh(result)
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
    deviceCode: parse(deviceForm, parameters).device_code,
    variant: 'token_set',
    idempotencyKey: request.header('idempotency-key'),
    wait: readWaitOf(request),
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

export const token = {
  method: 'POST',
  path: '/oauth/token',
  dialect: 'standard',
  handler,
  operation: {
    id: 'token',
    ...asClient,
    summary: 'Get tokens',
    description: `One address for three grant types; each needs its own parameters beside \`grant_type\`. \`authorization_code\`: \`code\`, \`redirect_uri\` and \`code_verifier\`. \`refresh_token\`: \`refresh_token\`. \`${DEVICE_CODE}\`: \`device_code\`.

Polling: after \`authorization_pending\` and \`slow_down\` wait \`interval\` seconds; the interval does not grow here. Everything else is final.

Renewing: store the new set before you use it. If the answer got lost, the same refresh token gets the same set again until the new set is used, and for 30 seconds at least; later it counts as stolen, and the access ends.`,
    form: {
      ...clientFields,
      grant_type: { ...grantForm.grant_type, enum: ['authorization_code', 'refresh_token', DEVICE_CODE] },
      code: optional(codeForm.code),
      redirect_uri: optional(codeForm.redirect_uri),
      code_verifier: codeForm.code_verifier,
      refresh_token: optional(refreshForm.refresh_token),
      device_code: optional(deviceForm.device_code),
      scope: refreshForm.scope,
      resource: resourceField,
    },
    headers: {
      Prefer: optional(
        text(
          'For polls: `wait=N` holds the answer of a pending code for up to N seconds, at most 25, and sends it as soon as the user has decided.',
          { maxLength: 255 },
        ),
      ),
      'Idempotency-Key': optional(
        text(
          'For polls and code exchanges: one random text per code. With it a lost final answer can be asked for again for 10 minutes.',
          { maxLength: 255 },
        ),
      ),
    },
    answers: {
      200: {
        description: 'A token set.',
        body: {
          name: 'Tokens',
          description: 'A token set in the words of RFC 6749, section 5.1.',
          properties: {
            access_token: accessToken,
            token_type: bearer,
            expires_in: tokenExpiresIn,
            refresh_token: refreshToken,
            scope: spacedScope,
          },
        },
        headers: readableHeaders,
      },
    },
    refusals: [
      'auth_pending',
      'slow_down',
      'auth_expired',
      'auth_rejected',
      'invalid',
      'invalid_request',
      'invalid_scope',
      'invalid_target',
      'invalid_grant',
      'unsupported_grant_type',
      'invalid_application',
      'unavailable',
    ],
    samples: [
      {
        label: 'Exchange the dialog’s code',
        send: ['grant_type=authorization_code', 'code', 'redirect_uri', 'code_verifier'],
      },
      { label: 'Renew', send: ['grant_type=refresh_token', 'refresh_token'] },
      { label: 'Poll', send: [`grant_type=${DEVICE_CODE}`, 'device_code'] },
    ],
  },
} as const satisfies Endpoint
