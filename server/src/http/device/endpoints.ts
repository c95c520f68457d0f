/**
 * Endpoints of the device flow, native dialect: request a code and poll, each in two variants, and decide a test code.
 * docs/interface.md, "Request a device code" and "Poll for authorization".
 */
import type { Variant } from '../../core/device/code.ts'
import { formatScope } from '../../core/grants/scope.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Context } from '../../flows/context.ts'
import { decideTestCode } from '../../flows/device/decide-test-code.ts'
import { confirmDelivery, type DeliveryTicket, releaseDelivery } from '../../flows/device/deliver.ts'
import { type Issued, type PollResult, pollDeviceCode } from '../../flows/device/poll.ts'
import { type CodeRequestResult, requestDeviceCode } from '../../flows/device/request-code.ts'
import type { Answer, Fields } from '../answer.ts'
import { type FormFields, required } from '../parameters.ts'
import type { ApiRequest, Handler } from '../route.ts'
import { tooBusy, tooManyRequests } from '../too-much.ts'

/** Retry-After when no code can be stored. */
const RETRY_AFTER_SECONDS = 2

export function requestCode(variant: Variant): Handler {
  return async (context, request) => {
    const parameters = request.parameters()
    const result = await requestDeviceCode(context, {
      applicationId: required(parameters, 'SVCappid'),
      secret: required(parameters, 'SVCsecret'),
      variant,
      scope: parameters.get('scope') ?? null,
      state: parameters.get('state') ?? '',
      requestedFrom: request.address(),
      requestedWith: printable(request.header('user-agent')),
      lifetimeSeconds: wholeNumber(parameters.get('expires_in')),
    })
    switch (result.outcome) {
      case 'requested':
        return {
          status: 200,
          fields: {
            device_code: result.deviceCode,
            user_code: result.userCode,
            // Always empty: every account has its own host, so there is no single page to send users to.
            verification_url: '',
            expires_in: result.expiresInSeconds,
            interval: result.intervalSeconds,
            state: result.state,
          },
        }
      case 'state_not_echoable':
        throw new Refusal(
          'invalid_request',
          'The state is longer than 1024 bytes or has characters that XML cannot carry.',
        )
      case 'invalid_scope':
        throw new Refusal('invalid_scope')
      default:
        return refusedCode(result)
    }
  }
}

type NoCode = Exclude<CodeRequestResult, { outcome: 'requested' | 'invalid_scope' | 'state_not_echoable' }>

export function refusedCode(result: NoCode): Answer {
  switch (result.outcome) {
    case 'too_many_requests':
      return tooManyRequests(result.waitMs)
    case 'shed':
      return tooBusy()
    case 'unavailable':
      return { refusal: 'unavailable', retryAfterSeconds: RETRY_AFTER_SECONDS }
    default:
      return { refusal: result.outcome }
  }
}

/** Any other value is ignored, like every unknown parameter. */
function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : null
}

/** An application in test mode decides its own codes. */
export const decideTest: Handler = async (context, request) => {
  const parameters = request.parameters()
  const decision = required(parameters, 'decision')
  if (decision !== 'grant' && decision !== 'reject') {
    throw new Refusal('invalid_request', 'The decision must be grant or reject.')
  }
  const result = await decideTestCode(context, {
    applicationId: required(parameters, 'SVCappid'),
    secret: required(parameters, 'SVCsecret'),
    userCode: required(parameters, 'user_code'),
    decision,
  })
  if (result.outcome === 'granted') return { status: 200, fields: { decision, scope: formatScope(result.scopes) } }
  if (result.outcome === 'rejected') return { status: 200, fields: { decision, scope: '' } }
  return { refusal: result.outcome }
}

/** Reduces a header to printable ASCII, because it is shown to users; a header may hold any byte. */
export function printable(text: string | null): string | null {
  const plain = text
    ?.replace(/[^\x20-\x7e]/g, '')
    .trim()
    .slice(0, 120)
  return plain || null
}

export function polling(variant: Variant): Handler {
  return async (context, request) => {
    // A poll has exactly six outcomes. Unreadable parameters match no code, so the outcome is `invalid`.
    const parameters = readable(request)
    if (!parameters) {
      context.counts.polls.add('invalid')
      return { refusal: 'invalid' }
    }
    const result = await pollDeviceCode(context, {
      applicationId: parameters.get('SVCappid') ?? '',
      secret: parameters.get('SVCsecret') ?? '',
      deviceCode: parameters.get('device_code') ?? '',
      variant,
      idempotencyKey: request.header('idempotency-key'),
    })
    return answerToPoll(context, result, issuedFields)
  }
}

/** Maps the six outcomes of a poll to answers. `fieldsOf`: the fields of an accepted one in this dialect. */
export function answerToPoll(context: Context, result: PollResult, fieldsOf: (issued: Issued) => Fields): Answer {
  context.counts.polls.add(result.outcome)
  switch (result.outcome) {
    case 'invalid':
      return { refusal: 'invalid' }
    case 'auth_pending':
    case 'slow_down':
      return { refusal: result.outcome, retryAfterSeconds: result.intervalSeconds }
    case 'auth_rejected':
    case 'auth_expired':
      return { refusal: result.outcome, ...delivering(context, result.ticket) }
    case 'accepted':
      if (result.ticket)
        context.counts.credentials.add('accessKey' in result.issued ? 'access_key' : 'token_set', 'first')
      return { status: 200, fields: fieldsOf(result.issued), ...delivering(context, result.ticket) }
  }
}

function readable(request: ApiRequest): FormFields | null {
  try {
    return request.parameters()
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

function delivering(context: Context, ticket: DeliveryTicket | null): Pick<Answer, 'whenSent'> {
  if (!ticket) return {}
  return { whenSent: (sent) => (sent ? confirmDelivery(context, ticket) : releaseDelivery(context, ticket)) }
}

function issuedFields(issued: Issued): Fields {
  const scope = formatScope(issued.scopes)
  const { state } = issued
  if ('accessKey' in issued) return { access_key: issued.accessKey, scope, state }
  const { accessToken, refreshToken, expiresInSeconds } = issued
  return { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresInSeconds, scope, state }
}
