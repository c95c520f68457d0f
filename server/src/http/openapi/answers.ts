/**
 * Schemas of all responses. server/test/conformance/openapi.test.ts checks the running service against them, and there
 * an extra field fails; the schemas themselves stay open, because fields may be added (docs/interface.md, "Formats").
 */
import { type TProperties, Type } from 'typebox'
import { refusals } from '../../core/refusal.ts'
import {
  accessKey,
  accessToken,
  codeExpiresIn,
  deviceCode,
  echoedState,
  grantedScope,
  interval,
  overlap,
  refreshToken,
  sealed,
  tokenExpiresIn,
  userCode,
  variant,
} from './fields.ts'

/** The XML root element is the same for every response. */
const answer = <T extends TProperties>(description: string, properties: T) =>
  Type.Object(properties, { description, xml: { name: 'response' } })

const spacedScope = Type.String({
  description: 'What the credential may do, separated by spaces. It can be less than what you asked for.',
  examples: ['orders:read orders:write'],
})

const bearer = Type.Literal('Bearer', { description: 'How the credential is sent.' })

const userId = Type.String({ description: 'The user’s id.', examples: ['usr_k3v9m2x7q4tz'] })
const account = Type.String({ description: 'The account’s name in front of the host.', examples: ['acme'] })
const application = Type.String({ description: 'The application’s id.', examples: ['app_n61zbfpywkrj'] })

const grant = Type.String({
  description:
    'The id of the grant that it belongs to, as webhooks and the audit log name it. It may be shown and logged: it is no part of the credential.',
  pattern: '^grt_[0-9a-z]{20}$',
  examples: ['grt_4m8x2k7q9t3v6w1y5z0a'],
})

const house = {
  DeviceCode: answer('What a code request answers.', {
    device_code: deviceCode,
    user_code: userCode,
    verification_url: Type.Literal('', {
      description: 'Always empty: every account has its own address, so there is no one page to send people to.',
    }),
    expires_in: codeExpiresIn,
    interval,
    state: echoedState,
  }),
  TestDecision: answer('What was decided in test mode.', {
    decision: Type.Enum(['grant', 'reject'], {
      type: 'string',
      description: 'As it was asked for.',
      examples: ['grant'],
    }),
    scope: grantedScope,
  }),
  TokenSet: answer('An access token, and what renews it.', {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_in: tokenExpiresIn,
    scope: grantedScope,
    state: echoedState,
  }),
  RenewedTokenSet: answer('The next token set. Store it before you use it.', {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_in: tokenExpiresIn,
    scope: grantedScope,
  }),
  AccessKey: answer('An access key.', { access_key: accessKey, scope: grantedScope, state: echoedState }),
  ReplacedAccessKey: answer('The key that replaces the old one.', {
    access_key: accessKey,
    scope: grantedScope,
    overlap,
  }),
  Nothing: answer('Done. There is nothing to tell.', {}),
  Report: answer('What became of a reported credential.', {
    revoked: Type.Boolean({
      description: 'True: it was a living credential, and is one no longer. False: it was none, or not any more.',
      examples: [true],
    }),
  }),
  Credential: answer('What a credential is, and what it may do at this moment.', {
    account,
    user: userId,
    application,
    grant,
    scope: grantedScope,
    variant,
    expires_in: Type.Optional({
      ...tokenExpiresIn,
      description: 'Seconds until the access token expires. An access key has none.',
    }),
  }),
  Refusal: answer('Every refusal. Let your program look at `error`; show `message` to a developer.', {
    error: Type.Enum(Object.keys(refusals), {
      type: 'string',
      description: 'The code, which does not change.',
      examples: ['auth_pending'],
    }),
    message: Type.String({
      description: 'A sentence for people, which may change.',
      examples: [refusals.auth_pending.message],
    }),
  }),
  Live: answer('The process runs.', { status: Type.Literal('live') }),
  Ready: answer('The process can do its work.', {
    status: Type.Literal('ready'),
    gate: Type.Enum(['up', 'down'], {
      type: 'string',
      description: '`down`: Redis is away. Nothing is lost by it; each process paces polls on its own.',
      examples: ['up'],
    }),
  }),
}

const standardNames = [...new Set(Object.values(refusals).map(({ standard }) => standard))]

const endpoint = (path: string) => Type.String({ format: 'uri', examples: [`https://service.example${path}`] })
const list = (...values: string[]) => Type.Array(Type.String(), { examples: [values] })

const standard = {
  Metadata: Type.Object(
    {
      issuer: endpoint(''),
      authorization_endpoint: endpoint('/oauth/authorize'),
      token_endpoint: endpoint('/oauth/token'),
      device_authorization_endpoint: endpoint('/oauth/device_authorization'),
      pushed_authorization_request_endpoint: endpoint('/oauth/par'),
      introspection_endpoint: endpoint('/oauth/introspect'),
      revocation_endpoint: endpoint('/oauth/revoke'),
      response_types_supported: list('code'),
      response_modes_supported: list('query'),
      grant_types_supported: list('authorization_code', 'refresh_token'),
      code_challenge_methods_supported: list('S256'),
      token_endpoint_auth_methods_supported: list('client_secret_basic', 'client_secret_post', 'none'),
      introspection_endpoint_auth_methods_supported: list('client_secret_basic', 'client_secret_post'),
      revocation_endpoint_auth_methods_supported: list('client_secret_basic', 'client_secret_post', 'none'),
      authorization_response_iss_parameter_supported: Type.Literal(true),
      require_pushed_authorization_requests: Type.Literal(false),
      service_documentation: endpoint('/reference'),
    },
    { description: 'What a client needs to know (RFC 8414).' },
  ),
  PushedRequest: Type.Object(
    {
      request_uri: Type.String({
        description: 'Goes into the dialog’s address, together with `client_id` and nothing else.',
        pattern: sealed('urn:ietf:params:oauth:request_uri:', 52),
        examples: ['urn:ietf:params:oauth:request_uri:0000AVq2pYQxS0m1hN8vH3tTqkMBod0h86gWCMq3_Pxmp3LVhCFxuRcY'],
      }),
      expires_in: Type.Integer({ description: 'Seconds in which the dialog has to be opened.', examples: [90] }),
    },
    { description: 'The dialog’s parameters, put away (RFC 9126).' },
  ),
  DeviceAuthorization: Type.Object(
    {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: Type.String({
        description: 'Where the user goes: a page that asks for the account, then for the code.',
        format: 'uri',
        examples: ['https://service.example/activate'],
      }),
      expires_in: codeExpiresIn,
      interval,
    },
    { description: 'What a code request answers (RFC 8628). There is no `verification_uri_complete`.' },
  ),
  Tokens: Type.Object(
    {
      access_token: accessToken,
      token_type: bearer,
      expires_in: tokenExpiresIn,
      refresh_token: refreshToken,
      scope: spacedScope,
    },
    { description: 'A token set in the words of RFC 6749, section 5.1.' },
  ),
  Introspection: Type.Object(
    {
      active: Type.Boolean({
        description: 'False: not a living credential, or not yours to ask about; then nothing else is told.',
        examples: [true],
      }),
      scope: Type.Optional(spacedScope),
      client_id: Type.Optional(application),
      sub: Type.Optional(userId),
      account: Type.Optional(account),
      grant: Type.Optional(grant),
      token_type: Type.Optional(bearer),
      iss: Type.Optional(endpoint('')),
      iat: Type.Optional(
        Type.Integer({ description: 'When it was issued, in seconds since 1970.', examples: [1794733200] }),
      ),
      exp: Type.Optional(
        Type.Integer({ description: 'When it expires. An access key has none.', examples: [1794736800] }),
      ),
    },
    { description: 'What a credential is (RFC 7662).' },
  ),
  StandardRefusal: Type.Object(
    {
      error: Type.Enum(standardNames, {
        type: 'string',
        description: 'The code (RFC 6749, section 5.2, RFC 8628, section 3.5).',
        examples: ['invalid_client'],
      }),
      error_description: Type.String({
        description: 'A sentence for people, which may change.',
        examples: [refusals.invalid_application.message],
      }),
    },
    { description: 'Every refusal of the standard dialect.' },
  ),
}

const plain = {
  Description: Type.Object(
    {
      openapi: Type.Literal('3.1.1'),
      info: Type.Object({}),
      servers: Type.Array(Type.Object({})),
      externalDocs: Type.Object({}),
      tags: Type.Array(Type.Object({})),
      paths: Type.Object({}),
      components: Type.Object({}),
    },
    { description: 'This document: OpenAPI 3.1 says what is in it.' },
  ),
}

export const schemas = { ...house, ...standard, ...plain }

export type SchemaName = keyof typeof schemas

/** An example response, from each field's example or constant. Null if a field has neither: the schema is too large. */
export function exampleOf(name: SchemaName): Readonly<Record<string, unknown>> | null {
  const { properties } = schemas[name] as { properties: Readonly<Record<string, object>> }
  const fields = Object.entries(properties).map(([field, schema]) => [field, exampleOfField(schema)] as const)
  return fields.some(([, value]) => value === undefined) ? null : Object.fromEntries(fields)
}

function exampleOfField(schema: object): unknown {
  if ('const' in schema) return schema.const
  return 'examples' in schema && Array.isArray(schema.examples) ? schema.examples[0] : undefined
}
