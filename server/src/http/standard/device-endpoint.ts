/** POST /oauth/device_authorization (RFC 8628, section 3.1). */
import { Refusal } from '../../core/refusal.ts'
import { requestDeviceCode } from '../../flows/device/request-code.ts'
import { printable, refusedCode } from '../device/endpoints.ts'
import type { Handler } from '../route.ts'
import { readClient } from './client.ts'
import { UNKNOWN_CLIENT } from './token-endpoint.ts'

export const authorizeDevice: Handler = async (context, request) => {
  const { client, parameters } = readClient(request)
  const result = await requestDeviceCode(context, {
    ...client,
    variant: 'token_set',
    scope: parameters.get('scope') ?? null,
    state: '',
    requestedFrom: request.address(),
    requestedWith: printable(request.header('user-agent')),
    lifetimeSeconds: null,
  })
  if (result.outcome === 'invalid_application') return UNKNOWN_CLIENT
  if (result.outcome === 'invalid_scope') throw new Refusal('invalid_scope')
  // Cannot happen: this dialect has no state, and the empty one can be echoed.
  if (result.outcome === 'state_not_echoable') throw new Refusal('invalid_request')
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
