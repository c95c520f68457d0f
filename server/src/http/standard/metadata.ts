/** GET /.well-known/oauth-authorization-server (RFC 8414): metadata for clients that configure themselves. */
import type { Handler } from '../route.ts'
import { DEVICE_CODE } from './token-endpoint.ts'

const CLIENT_AUTHENTICATION = ['client_secret_basic', 'client_secret_post', 'none'] as const

export const metadata: Handler = async (context) => {
  const { publicUrl: issuer } = context.config
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
