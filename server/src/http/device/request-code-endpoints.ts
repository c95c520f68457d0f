/**
 * Endpoints that request a device code, one for each variant.
 * docs/interface/device-flow.md, "Request a device code".
 */
import type { Variant } from '../../core/device/code.ts'
import { type CodeRequestResult, requestDeviceCode } from '../../flows/device/request-code.ts'
import type { Answer } from '../answer.ts'
import { askedScope, askedState, codeExpiresIn, deviceCode, echoedState, interval, userCode } from '../fields.ts'
import { byDevice } from '../grants/application-fields.ts'
import type { Operation } from '../openapi/operation.ts'
import type { Endpoint, Handler } from '../route.ts'
import { constant, integer, optional, parse } from '../schema.ts'
import { tooBusy, tooManyRequests } from '../too-much.ts'

const form = {
  ...byDevice,
  scope: askedScope,
  state: askedState,
  expires_in: optional(
    integer('In test mode only: seconds after which the code expires, if that is sooner than it would otherwise.', {
      minimum: 1,
    }),
  ),
}

/** Retry-After when no code can be stored. */
const RETRY_AFTER_SECONDS = 2

function requestCode(variant: Variant): Handler {
  return async (context, request) => {
    const { SVCappid, SVCsecret, scope, state, expires_in } = parse(form, request.parameters())
    const result = await requestDeviceCode(context, {
      applicationId: SVCappid,
      secret: SVCsecret,
      variant,
      scope,
      state: state ?? '',
      requestedFrom: request.address(),
      requestedWith: printable(request.header('user-agent')),
      lifetimeSeconds: expires_in,
    })
    if (result.outcome !== 'requested') return refusedCode(result)
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
  }
}

export function refusedCode(result: Exclude<CodeRequestResult, { outcome: 'requested' }>): Answer {
  switch (result.outcome) {
    case 'state_not_echoable':
      return { refusal: 'invalid_request', message: result.reason }
    case 'invalid_scope':
      return { refusal: 'invalid_scope', message: result.reason }
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

/** Reduces a header to printable ASCII, because it is shown to users; a header may hold any byte. */
export function printable(text: string | null): string | null {
  const plain = text
    ?.replace(/[^\x20-\x7e]/g, '')
    .trim()
    .slice(0, 120)
  return plain || null
}

const described = {
  tag: 'Device flow',
  security: ['applicationInForm'],
  form,
  answers: {
    200: {
      description: 'A code to show, and a code to poll with.',
      body: {
        name: 'DeviceCode',
        description: 'What a code request answers.',
        properties: {
          device_code: deviceCode,
          user_code: userCode,
          verification_url: constant(
            '',
            'Always empty: every account has its own address, so there is no one page to send people to.',
          ),
          expires_in: codeExpiresIn,
          interval,
          state: echoedState,
        },
        xml: true,
      },
    },
  },
  refusals: [
    'invalid_request',
    'invalid_scope',
    'invalid_application',
    'application_suspended',
    'device_flow_disabled',
    'too_many_requests',
    'unavailable',
  ],
  samples: [{ label: 'Request a code', send: ['SVCappid', 'SVCsecret', 'state'] }],
} as const satisfies Partial<Operation>

export const requestTokenCode = {
  method: 'POST',
  path: '/auth/oauth/device/code',
  dialect: 'interface',
  handler: requestCode('token_set'),
  operation: {
    id: 'requestTokenCode',
    ...described,
    summary: 'Request a code for a token set',
    description:
      'Show `user_code` to the user and start polling `/auth/oauth/device/polling` at the same time. The user signs in at their own account’s address, chooses to enter an application code, types it, and decides.\n\nWhen a code has expired, tell the user and let them ask for the next one; do not request codes with nobody in front of the device.',
  },
} as const satisfies Endpoint

export const requestKeyCode = {
  method: 'POST',
  path: '/auth/key/device/code',
  dialect: 'interface',
  handler: requestCode('access_key'),
  operation: {
    id: 'requestKeyCode',
    ...described,
    summary: 'Request a code for an access key',
    description:
      'As for a token set, but the poll (at `/auth/key/device/polling`) ends with an access key, which does not expire. A code is bound to its variant: the other one’s path does not know it.',
  },
} as const satisfies Endpoint
