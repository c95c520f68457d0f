/** Exchange, refresh, rotate and revoke in the native dialect, one path each. docs/interface.md, "Credentials". */
import type { Variant } from '../../core/device/code.ts'
import { formatScope } from '../../core/grants/scope.ts'
import type { Context } from '../../flows/context.ts'
import {
  confirmExchangeSent,
  type ExchangeTicket,
  exchangeCode,
  releaseExchangeLost,
} from '../../flows/dialog/exchange-code.ts'
import { refreshTokenSet } from '../../flows/grants/refresh.ts'
import { revokeCredential } from '../../flows/grants/revoke-credential.ts'
import { rotateAccessKey } from '../../flows/grants/rotate-access-key.ts'
import type { Answer } from '../answer.ts'
import { type FormFields, required } from '../parameters.ts'
import type { Handler } from '../route.ts'
import { readableByOwnPages } from './own-pages.ts'

export const exchange: Handler = readableByOwnPages('SVCappid', async (context, request) => {
  const parameters = request.parameters()
  const by = readApplication(parameters)
  const result = await exchangeCode(context, {
    ...by,
    code: required(parameters, 'code'),
    redirectUri: required(parameters, 'redirect_uri'),
    codeVerifier: parameters.get('code_verifier') ?? null,
  })
  if (result.outcome === 'unavailable') return { refusal: 'unavailable', retryAfterSeconds: 2 }
  if (result.outcome !== 'exchanged') return { refusal: result.outcome }
  const { issued, ticket } = result
  const { accessToken, refreshToken, expiresInSeconds, scopes, state } = issued
  return {
    status: 200,
    fields: {
      access_token: accessToken,
      refresh_token: refreshToken,
      expires_in: expiresInSeconds,
      scope: formatScope(scopes),
      state,
    },
    ...settling(context, ticket),
  }
})

export const refresh: Handler = readableByOwnPages('SVCappid', async (context, request) => {
  const parameters = request.parameters()
  const by = readApplication(parameters)
  const scope = parameters.get('scope') ?? null
  const refreshToken = required(parameters, 'refresh_token')
  const result = await refreshTokenSet(context, { ...by, refreshToken, scope })
  if (result.outcome !== 'refreshed') return { refusal: result.outcome }
  const { issued } = result
  return {
    status: 200,
    fields: {
      access_token: issued.accessToken,
      refresh_token: issued.refreshToken,
      expires_in: issued.expiresInSeconds,
      scope: formatScope(issued.scopes),
    },
  }
})

export const rotateKey: Handler = async (context, request) => {
  const parameters = request.parameters()
  const by = readApplication(parameters)
  const result = await rotateAccessKey(context, { ...by, accessKey: required(parameters, 'access_key') })
  if (result.outcome !== 'rotated') return { refusal: result.outcome }
  const { issued, overlapSeconds } = result
  const scope = formatScope(issued.scopes)
  return { status: 200, fields: { access_key: issued.accessKey, scope, overlap: overlapSeconds } }
}

export function revoke(variant: Variant): Handler {
  const name = variant === 'token_set' ? 'token' : 'access_key'
  return readableByOwnPages('SVCappid', async (context, request) => {
    const parameters = request.parameters()
    const by = readApplication(parameters)
    const { outcome } = await revokeCredential(context, { ...by, credential: required(parameters, name), variant })
    return outcome === 'revoked' ? { status: 200, fields: {} } : { refusal: outcome }
  })
}

/** A public application has no secret and sends none; an empty one counts as absent. */
function readApplication(parameters: FormFields): { readonly applicationId: string; readonly secret: string | null } {
  return { applicationId: required(parameters, 'SVCappid'), secret: parameters.get('SVCsecret') || null }
}

export function settling(context: Context, ticket: ExchangeTicket): Pick<Answer, 'whenSent'> {
  return { whenSent: (sent) => (sent ? confirmExchangeSent(context, ticket) : releaseExchangeLost(context, ticket)) }
}
