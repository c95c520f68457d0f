/** POST /oauth/introspect (RFC 7662) and POST /oauth/revoke (RFC 7009). */
import { checkCredential, type ValidCredential } from '../../flows/grants/check-credential.ts'
import type { Answer } from '../answer.ts'
import {
  accountExternalId,
  accountName,
  bearer,
  grantedApplication,
  grantId,
  nothing,
  readableHeaders,
  spacedScope,
  userExternalId,
  userId,
} from '../fields.ts'
import { externalIds } from '../grants/credential-endpoints.ts'
import { readableByOwnPages } from '../grants/own-pages.ts'
import { revoke } from '../grants/revoke-endpoints.ts'
import type { Endpoint, Handler } from '../route.ts'
import { boolean, integer, optional, parse, text } from '../schema.ts'
import { asClient, clientFields, readClient, UNKNOWN_CLIENT } from './client.ts'

const introspectForm = {
  ...clientFields,
  token: text('The access token or the access key.'),
  token_type_hint: optional(text('Not needed, and not looked at.')),
}

const revokeForm = {
  ...clientFields,
  token: text('The access token, the refresh token or the access key.'),
  token_type_hint: optional(text('Not needed, and not looked at.')),
}

/** The answer for an invalid credential and for one that the client may not ask about: the two cannot be told apart. */
const INACTIVE: Answer = { status: 200, fields: { active: false } }

/**
 * Resource servers may ask about every credential, other applications about their own. Refresh tokens are never active,
 * so that no resource server accepts one as an access token.
 */
const introspectHandler: Handler = async (context, request) => {
  const { client, parameters } = readClient(request)
  const application =
    client.secret === null ? null : context.applications.authenticate(client.applicationId, client.secret)
  if (!application) return UNKNOWN_CLIENT
  const checked = await checkCredential(context, parse(introspectForm, parameters).token)
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
      ...externalIds(checked),
      grant: checked.grantId,
      token_type: 'Bearer',
      iss: issuer,
      ...(checked.issuedAt === null ? {} : { iat: Math.floor(checked.issuedAt / 1000) }),
      ...(checked.expiresAt === null ? {} : { exp: Math.floor(checked.expiresAt / 1000) }),
    },
  }
}

export const introspect = {
  method: 'POST',
  path: '/oauth/introspect',
  dialect: 'standard',
  handler: introspectHandler,
  operation: {
    id: 'introspect',
    tag: 'Standard dialect',
    summary: 'What a credential is and may do',
    description:
      'RFC 7662, for resource servers: an application that was registered as one may ask about every credential, others about their own. A refresh token is never active. Ask with every request, or keep the answer for seconds, not minutes: a user who takes the access back expects it to end.',
    security: ['applicationBasic'],
    form: introspectForm,
    answers: {
      200: {
        description: 'What it is; or that it is none.',
        body: {
          name: 'Introspection',
          description: 'What a credential is (RFC 7662).',
          properties: {
            active: boolean('False: not a living credential, or not yours to ask about; then nothing else is told.', {
              examples: [true],
            }),
            scope: optional(spacedScope),
            client_id: optional(grantedApplication),
            sub: optional(userId),
            account: optional(accountName),
            account_external_id: optional(accountExternalId),
            user_external_id: optional(userExternalId),
            grant: optional(grantId),
            token_type: optional(bearer),
            iss: optional({ type: 'string', format: 'uri', examples: ['https://service.example'] }),
            iat: optional(integer('When it was issued, in seconds since 1970.', { examples: [1794733200] })),
            exp: optional(integer('When it expires. An access key has none.', { examples: [1794736800] })),
          },
        },
      },
    },
    refusals: ['invalid_request', 'invalid_application', 'unavailable'],
  },
} as const satisfies Endpoint

const revokeHandler = readableByOwnPages('standard', async (context, request) => {
  const { client, parameters } = readClient(request)
  const credential = parse(revokeForm, parameters).token
  return revoke(context, { ...client, credential, variant: null })
})

export const revokeToken = {
  method: 'POST',
  path: '/oauth/revoke',
  dialect: 'standard',
  handler: revokeHandler,
  operation: {
    id: 'revokeToken',
    ...asClient,
    summary: 'Give up a credential',
    description:
      'RFC 7009. Everything that comes from the same yes ends: access token, refresh token, access key. The answer is the same if there was nothing to end. A credential of another application is refused (section 2.1).',
    form: revokeForm,
    answers: { 200: { description: 'It does not work any more.', body: nothing, headers: readableHeaders } },
    refusals: ['invalid_request', 'invalid_grant', 'invalid_application', 'unavailable'],
  },
} as const satisfies Endpoint
