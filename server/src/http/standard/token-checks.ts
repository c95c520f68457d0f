/** POST /oauth/introspect (RFC 7662) and POST /oauth/revoke (RFC 7009). */
import { checkCredential, type ValidCredential } from '../../flows/grants/check-credential.ts'
import { revokeCredential } from '../../flows/grants/revoke-credential.ts'
import type { Answer } from '../answer.ts'
import { readableByOwnPages } from '../grants/own-pages.ts'
import { required } from '../parameters.ts'
import type { Handler } from '../route.ts'
import { readClient } from './client.ts'
import { UNKNOWN_CLIENT } from './token-endpoint.ts'

/** The answer for an invalid credential and for one that the client may not ask about: the two cannot be told apart. */
const INACTIVE: Answer = { status: 200, fields: { active: false } }

/**
 * Resource servers may ask about every credential, other applications about their own. Refresh tokens are never active,
 * so that no resource server accepts one as an access token.
 */
export const introspect: Handler = async (context, request) => {
  const { client, parameters } = readClient(request)
  const application =
    client.secret === null ? null : context.applications.authenticate(client.applicationId, client.secret)
  if (!application) return UNKNOWN_CLIENT
  const checked = await checkCredential(context, required(parameters, 'token'))
  if (checked.outcome === 'not_valid') return INACTIVE
  if (!application.resourceServer && checked.applicationId !== application.id) return INACTIVE
  return describe(checked, context.config.publicUrl)
}

function describe(checked: ValidCredential, issuer: string): Answer {
  return {
    status: 200,
    fields: {
      active: true,
      scope: checked.scopes.join(' '),
      client_id: checked.applicationId,
      sub: checked.userId,
      account: checked.account,
      grant: checked.grantId,
      token_type: 'Bearer',
      iss: issuer,
      ...(checked.issuedAt === null ? {} : { iat: Math.floor(checked.issuedAt / 1000) }),
      ...(checked.expiresAt === null ? {} : { exp: Math.floor(checked.expiresAt / 1000) }),
    },
  }
}

export const revokeToken: Handler = readableByOwnPages('client_id', async (context, request) => {
  const { client, parameters } = readClient(request)
  const credential = required(parameters, 'token')
  const { outcome } = await revokeCredential(context, { ...client, credential, variant: null })
  return outcome === 'revoked' ? { status: 200, fields: {} } : UNKNOWN_CLIENT
})
