/** POST /oauth/device_authorization (RFC 8628, section 3.1). */
import { requestDeviceCode } from '../../flows/device/request-code.ts'
import { printable, refusedCode } from '../device/request-code-endpoints.ts'
import { codeExpiresIn, deviceCode, interval, userCode } from '../fields.ts'
import type { Endpoint, Handler } from '../route.ts'
import { parse, text } from '../schema.ts'
import { asClient, clientFields, readClient, spacedScopes, UNKNOWN_CLIENT } from './client.ts'

const form = { ...clientFields, scope: spacedScopes }

const handler: Handler = async (context, request) => {
  const { client, parameters } = readClient(request)
  const result = await requestDeviceCode(context, {
    ...client,
    variant: 'token_set',
    scope: parse(form, parameters).scope,
    state: '',
    requestedFrom: request.address(),
    requestedWith: printable(request.header('user-agent')),
    lifetimeSeconds: null,
  })
  if (result.outcome === 'invalid_application') return UNKNOWN_CLIENT
  if (result.outcome !== 'requested') return refusedCode(result)
  return {
    status: 200,
    fields: {
      device_code: result.deviceCode,
      user_code: result.userCode,
      // This page asks for the account first. There is no verification_uri_complete: an attacker could send it to a
      // user, who would grant the code with a single click (RFC 8628, section 5.4).
      verification_uri: `${context.config.publicUrl}/activate`,
      expires_in: result.expiresInSeconds,
      interval: result.intervalSeconds,
    },
  }
}

export const authorizeDevice = {
  method: 'POST',
  path: '/oauth/device_authorization',
  dialect: 'standard',
  handler,
  operation: {
    id: 'authorizeDevice',
    ...asClient,
    summary: 'Request a device code',
    description:
      'RFC 8628. Show `user_code` and `verification_uri`, and poll `/oauth/token` at the same time. What you get in the end is a token set; for an access key use the native dialect.',
    form,
    answers: {
      200: {
        description: 'A code to show, and a code to poll with.',
        body: {
          name: 'DeviceAuthorization',
          description: 'What a code request answers (RFC 8628). There is no `verification_uri_complete`.',
          properties: {
            device_code: deviceCode,
            user_code: userCode,
            verification_uri: text('Where the user goes: a page that asks for the account, then for the code.', {
              format: 'uri',
              examples: ['https://service.example/activate'],
            }),
            expires_in: codeExpiresIn,
            interval,
          },
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
    samples: [{ label: 'Request a code', send: ['scope'] }],
  },
} as const satisfies Endpoint
