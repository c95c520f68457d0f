/** Endpoints that poll for the outcome of a device code. docs/interface/device-flow.md, "Poll for authorization". */
import type { Variant } from '../../core/device/code.ts'
import { MAX_WAIT_SECONDS, readWait } from '../../core/device/wait.ts'
import { formatScope } from '../../core/grants/scope.ts'
import { Refusal } from '../../core/refusal.ts'
import type { Context } from '../../flows/context.ts'
import { type DeliveryTicket, settleDelivery } from '../../flows/device/deliver.ts'
import type { Issued } from '../../flows/device/look.ts'
import { type PollResult, pollDeviceCode, type Wait } from '../../flows/device/poll.ts'
import type { Answer, Fields } from '../answer.ts'
import { accessKey, echoedState, grantedScope, tokenSet } from '../fields.ts'
import { byDevice } from '../grants/application-fields.ts'
import type { Operation } from '../openapi/operation.ts'
import type { ApiRequest, Endpoint, Handler } from '../route.ts'
import { optional, type Parsed, parse, text } from '../schema.ts'

const form = {
  ...byDevice,
  device_code: text('What the code request answered.'),
}

function polling(variant: Variant): Handler {
  return async (context, request) => {
    const parsed = readPoll(request)
    if ('refusal' in parsed) {
      context.counts.polls.add('invalid')
      return parsed
    }
    const result = await pollDeviceCode(context, {
      applicationId: parsed.SVCappid,
      secret: parsed.SVCsecret,
      deviceCode: parsed.device_code,
      variant,
      idempotencyKey: request.header('idempotency-key'),
      wait: readWaitOf(request),
    })
    return answerToPoll(context, result, issuedFields)
  }
}

/**
 * A poll has exactly six outcomes. Parameters that cannot be read match no code, so the outcome is `invalid`. The message
 * says why: it is about the form of the request alone.
 */
function readPoll(request: ApiRequest): Parsed<typeof form> | { refusal: 'invalid'; message: string } {
  try {
    return parse(form, request.parameters())
  } catch (error) {
    if (error instanceof Refusal) return { refusal: 'invalid', message: error.message }
    throw error
  }
}

/** Null: the client did not ask to wait. */
export function readWaitOf(request: ApiRequest): Wait | null {
  const seconds = readWait(request.header('prefer'))
  return seconds === null ? null : { seconds, onDisconnect: request.onDisconnect }
}

/** Maps the six outcomes of a poll to answers. `fieldsOf`: the fields of an accepted one in this dialect. */
export function answerToPoll(context: Context, result: PollResult, fieldsOf: (issued: Issued) => Fields): Answer {
  context.counts.polls.add(result.outcome)
  const held = result.held ? { held: result.held } : {}
  switch (result.outcome) {
    case 'invalid':
      return { refusal: 'invalid', ...held }
    case 'auth_pending':
    case 'slow_down': {
      // The interval counts from arrival to arrival: after a held answer little or nothing of it is left.
      const left = result.intervalSeconds - Math.floor((result.held?.ms ?? 0) / 1000)
      return { refusal: result.outcome, retryAfterSeconds: Math.max(0, left), ...held }
    }
    case 'auth_rejected':
    case 'auth_expired':
      return { refusal: result.outcome, ...held, ...delivering(context, result.ticket) }
    case 'accepted':
      if (result.ticket)
        context.counts.credentials.add('accessKey' in result.issued ? 'access_key' : 'token_set', 'first')
      return { status: 200, fields: fieldsOf(result.issued), ...held, ...delivering(context, result.ticket) }
  }
}

function delivering(context: Context, ticket: DeliveryTicket | null): Pick<Answer, 'whenSent'> {
  return ticket ? { whenSent: (sent) => settleDelivery(context, ticket, sent) } : {}
}

function issuedFields(issued: Issued): Fields {
  const scope = formatScope(issued.scopes)
  const { state } = issued
  if ('accessKey' in issued) return { access_key: issued.accessKey, scope, state }
  const { accessToken, refreshToken, expiresInSeconds } = issued
  return { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresInSeconds, scope, state }
}

const pollHeaders = {
  Prefer: optional(
    text(
      `\`wait=N\` (RFC 7240): while the code is pending, the answer is held for up to N seconds, at most ${MAX_WAIT_SECONDS}, and sent as soon as the user has decided. An answer that was held has \`Preference-Applied: wait=N\`, and the next poll may come at once, if \`interval\` seconds have passed since this one arrived.`,
      { maxLength: 255 },
    ),
  ),
  'Idempotency-Key': optional(
    text(
      'One random text per device code, sent with every poll: 1 to 255 printable characters without spaces. If the final answer got lost on its way, a poll with the same key gets it again for 10 minutes, with the `expires_in` that is left.',
      { maxLength: 255 },
    ),
  ),
}

const POLLING = `A poll has exactly six outcomes: accepted, with status 200, and five errors, all with status 400. Poll again only after \`auth_pending\` and \`slow_down\`, and wait \`interval\` seconds before you do; \`Retry-After\` repeats the number. Everything else is final.

The first poll may come at once. A device that polls every \`interval\` seconds never sees \`slow_down\`.

Wrong credentials, an unknown code and the other variant’s path are all \`invalid\`, with the same message, and change nothing: if a first poll is \`invalid\`, compare the four values with those of the code request. A parameter that is missing, has two values or cannot be read is \`invalid\`, too, and named in the message.`

const described = {
  tag: 'Device flow',
  security: ['applicationInForm'],
  description: POLLING,
  form,
  headers: pollHeaders,
  refusals: ['auth_pending', 'slow_down', 'auth_expired', 'auth_rejected', 'invalid'],
  noOther: true,
} as const satisfies Partial<Operation>

export const pollForTokenSet = {
  method: 'POST',
  path: '/auth/oauth/device/polling',
  dialect: 'interface',
  handler: polling('token_set'),
  operation: {
    id: 'pollForTokenSet',
    ...described,
    summary: 'Poll for a token set',
    answers: { 200: { description: 'Accepted: the user granted the code. Given once.', body: tokenSet } },
  },
} as const satisfies Endpoint

export const pollForAccessKey = {
  method: 'POST',
  path: '/auth/key/device/polling',
  dialect: 'interface',
  handler: polling('access_key'),
  operation: {
    id: 'pollForAccessKey',
    ...described,
    summary: 'Poll for an access key',
    answers: {
      200: {
        description: 'Accepted: the user granted the code. Given once.',
        body: {
          name: 'AccessKey',
          description: 'An access key.',
          properties: { access_key: accessKey, scope: grantedScope, state: echoedState },
          xml: true,
        },
      },
    },
  },
} as const satisfies Endpoint
