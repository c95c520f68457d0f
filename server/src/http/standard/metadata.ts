/** GET /.well-known/oauth-authorization-server (RFC 8414): metadata for clients that configure themselves. */
import type { Context } from '../../flows/context.ts'
import { readScopeCatalogue } from '../../store/applications/scopes.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import type { Endpoint, Handler } from '../route.ts'
import { constant, type Property } from '../schema.ts'
import { DEVICE_CODE } from './token-endpoint.ts'

const CLIENT_AUTHENTICATION = ['client_secret_basic', 'client_secret_post', 'none'] as const

/**
 * Libraries ask for everything that is listed, so dangerous scopes are left out. Null without PostgreSQL: the rest of
 * the metadata does not need it.
 */
async function listScopes({ db }: Context): Promise<readonly string[] | null> {
  try {
    return (await readScopeCatalogue(db)).filter(({ dangerous }) => !dangerous).map(({ name }) => name)
  } catch (error) {
    if (error instanceof Unavailable) return null
    throw error
  }
}

const handler: Handler = async (context) => {
  const { publicUrl: issuer } = context.config
  const scopes = await listScopes(context)
  return {
    status: 200,
    fields: {
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/oauth/token`,
      device_authorization_endpoint: `${issuer}/oauth/device_authorization`,
      pushed_authorization_request_endpoint: `${issuer}/oauth/par`,
      introspection_endpoint: `${issuer}/oauth/introspect`,
      revocation_endpoint: `${issuer}/oauth/revoke`,
      ...(scopes && { scopes_supported: scopes }),
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token', DEVICE_CODE],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      revocation_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
      authorization_response_iss_parameter_supported: true,
      require_pushed_authorization_requests: false,
      service_documentation: `${issuer}/reference`,
    },
    // Public data, and a page must be able to read it before it can use the service.
    allowOrigin: '*',
  }
}

const address = (path: string): Property => ({
  type: 'string',
  format: 'uri',
  examples: [`https://service.example${path}`],
})
const list = (...values: string[]): Property => ({ type: 'array', items: { type: 'string' }, examples: [values] })
const always = (value: boolean): Property => ({ type: 'boolean', const: value })

export const readMetadata = {
  method: 'GET',
  path: '/.well-known/oauth-authorization-server',
  dialect: 'standard',
  handler,
  operation: {
    id: 'readMetadata',
    tag: 'Standard dialect',
    summary: 'What a client needs to know',
    description:
      'RFC 8414. Give this service’s address to your OAuth library as the issuer; it finds everything else here.',
    security: ['none'],
    answers: {
      200: {
        description: 'Every address and every choice.',
        body: {
          name: 'Metadata',
          description: 'What a client needs to know (RFC 8414).',
          properties: {
            issuer: address(''),
            authorization_endpoint: address('/oauth/authorize'),
            token_endpoint: address('/oauth/token'),
            device_authorization_endpoint: address('/oauth/device_authorization'),
            pushed_authorization_request_endpoint: address('/oauth/par'),
            introspection_endpoint: address('/oauth/introspect'),
            revocation_endpoint: address('/oauth/revoke'),
            scopes_supported: { ...list('orders:read', 'orders:write'), optional: true },
            response_types_supported: list('code'),
            response_modes_supported: list('query'),
            grant_types_supported: list('authorization_code', 'refresh_token'),
            code_challenge_methods_supported: list('S256'),
            token_endpoint_auth_methods_supported: list('client_secret_basic', 'client_secret_post', 'none'),
            introspection_endpoint_auth_methods_supported: list('client_secret_basic', 'client_secret_post'),
            revocation_endpoint_auth_methods_supported: list('client_secret_basic', 'client_secret_post', 'none'),
            authorization_response_iss_parameter_supported: always(true),
            require_pushed_authorization_requests: always(false),
            service_documentation: address('/reference'),
          },
        },
        headers: {
          'Access-Control-Allow-Origin': constant('*', 'Any page may read it.'),
        },
      },
    },
    refusals: [],
  },
} as const satisfies Endpoint
