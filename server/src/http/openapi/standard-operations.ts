/** Operations of the standard dialect for programs. docs/interface.md, "The standard dialect". */
import { Type } from 'typebox'
import { codeVerifier, given, redirectUri } from './fields.ts'
import type { Operation } from './operation.ts'

const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code'

const client = {
  client_id: Type.Optional(
    Type.String({ description: 'The application’s id. Not needed with HTTP Basic, where it is the user name.' }),
  ),
  client_secret: Type.Optional(
    Type.String({
      description:
        'One of the application’s live secrets, unless it is sent by HTTP Basic. A public application has none.',
    }),
  ),
}

const scope = Type.Optional(
  Type.String({
    description: 'Scopes, separated by spaces. Absent or empty: the application’s default set.',
    examples: ['orders:read'],
  }),
)

const asClient = { tag: 'Standard dialect', security: ['applicationBasic', 'none'] } as const

const readable = Type.Object({
  'Access-Control-Allow-Origin': Type.Optional(
    Type.String({
      description: 'The request’s `Origin`, if it is the very origin of one of the application’s redirect addresses.',
    }),
  ),
})

export const standardOperations = {
  readMetadata: {
    tag: 'Standard dialect',
    summary: 'What a client needs to know',
    description:
      'RFC 8414. Give this service’s address to your OAuth library as the issuer; it finds everything else here.',
    security: ['none'],
    answers: {
      200: {
        description: 'Every address and every choice.',
        schema: 'Metadata',
        headers: Type.Object({
          'Access-Control-Allow-Origin': Type.Literal('*', { description: 'Any page may read it.' }),
        }),
      },
    },
    refusals: [],
  },
  pushRequest: {
    ...asClient,
    summary: 'Push the dialog’s parameters',
    description:
      'RFC 9126: the parameters go from server to server, and the browser carries only a reference. Everything wrong with them is told here, to you, instead of to the person in the window. Open `/oauth/authorize` with `client_id` and `request_uri` next.',
    form: Type.Object({
      ...client,
      response_type: Type.Literal('code', { description: '`code`, and nothing else.' }),
      redirect_uri: redirectUri,
      scope,
      state: Type.Optional(
        Type.String({
          description: 'Your own text, at most 1024 bytes, returned unchanged.',
          examples: ['af0ifjsldkj'],
        }),
      ),
      code_challenge: Type.Optional(
        Type.String({
          description:
            'SHA-256 of your `code_verifier`, in base64url. Public applications have to send it, and those that were registered so; all others may.',
          pattern: '^[A-Za-z0-9_-]{43}$',
        }),
      ),
      code_challenge_method: Type.Optional(Type.Literal('S256', { description: '`S256`; there is no other.' })),
    }),
    answers: { 201: { description: 'Put away.', schema: 'PushedRequest' } },
    refusals: [
      'invalid_request',
      'invalid_scope',
      'unsupported_response_type',
      'invalid_application',
      'application_suspended',
      'too_many_requests',
      'unavailable',
    ],
    samples: [
      { label: 'Push', send: ['response_type', 'redirect_uri', 'state', 'code_challenge', 'code_challenge_method'] },
    ],
  },
  authorizeDevice: {
    ...asClient,
    summary: 'Request a device code',
    description:
      'RFC 8628. Show `user_code` and `verification_uri`, and poll `/oauth/token` at the same time. What you get in the end is a token set; for an access key use the native dialect.',
    form: Type.Object({ ...client, scope }),
    answers: { 200: { description: 'A code to show, and a code to poll with.', schema: 'DeviceAuthorization' } },
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
  token: {
    ...asClient,
    summary: 'Get tokens',
    description: `One address for three grant types; each needs its own parameters beside \`grant_type\`. \`authorization_code\`: \`code\`, \`redirect_uri\` and \`code_verifier\`. \`refresh_token\`: \`refresh_token\`. \`${DEVICE_CODE}\`: \`device_code\`.

Polling: after \`authorization_pending\` and \`slow_down\` wait \`interval\` seconds; the interval does not grow here. Everything else is final.

Renewing: store the new set before you use it. If the answer got lost, the same refresh token gets the same set again for 30 seconds; later it counts as stolen, and the access ends.`,
    form: Type.Object({
      ...client,
      grant_type: Type.Enum(['authorization_code', 'refresh_token', DEVICE_CODE], {
        type: 'string',
        description: 'Which of the three.',
      }),
      code: Type.Optional(given('The `code` that the dialog returned with.')),
      redirect_uri: Type.Optional(redirectUri),
      code_verifier: codeVerifier,
      refresh_token: Type.Optional(given('The newest refresh token that you hold.')),
      device_code: Type.Optional(given('What the code request answered.')),
      scope: Type.Optional(
        Type.String({ description: 'Only with a refresh token: not more than was granted; less changes nothing.' }),
      ),
    }),
    headers: Type.Object({
      'Idempotency-Key': Type.Optional(
        Type.String({
          description:
            'For polls: one random text per device code. With it a lost final answer can be asked for again for 10 minutes.',
          maxLength: 255,
        }),
      ),
    }),
    answers: { 200: { description: 'A token set.', schema: 'Tokens', headers: readable } },
    refusals: [
      'auth_pending',
      'slow_down',
      'auth_expired',
      'auth_rejected',
      'invalid',
      'invalid_request',
      'invalid_scope',
      'invalid_grant',
      'unsupported_grant_type',
      'invalid_application',
      'unavailable',
    ],
    samples: [
      {
        label: 'Exchange the dialog’s code',
        send: ['grant_type=authorization_code', 'code', 'redirect_uri', 'code_verifier'],
      },
      { label: 'Renew', send: ['grant_type=refresh_token', 'refresh_token'] },
      { label: 'Poll', send: [`grant_type=${DEVICE_CODE}`, 'device_code'] },
    ],
  },
  introspect: {
    tag: 'Standard dialect',
    summary: 'What a credential is and may do',
    description:
      'RFC 7662, for resource servers: an application that was registered as one may ask about every credential, others about their own. A refresh token is never active. Ask with every request, or keep the answer for seconds, not minutes: a user who takes the access back expects it to end.',
    security: ['applicationBasic'],
    form: Type.Object({
      ...client,
      token: given('The access token or the access key.'),
      token_type_hint: Type.Optional(Type.String({ description: 'Not needed, and not looked at.' })),
    }),
    answers: { 200: { description: 'What it is; or that it is none.', schema: 'Introspection' } },
    refusals: ['invalid_request', 'invalid_application', 'unavailable'],
  },
  revokeToken: {
    ...asClient,
    summary: 'Give up a credential',
    description:
      'RFC 7009. Everything that comes from the same yes ends: access token, refresh token, access key. The answer is the same if there was nothing to end.',
    form: Type.Object({
      ...client,
      token: given('The access token, the refresh token or the access key.'),
      token_type_hint: Type.Optional(Type.String({ description: 'Not needed, and not looked at.' })),
    }),
    answers: { 200: { description: 'It does not work any more.', schema: 'Nothing', headers: readable } },
    refusals: ['invalid_request', 'invalid_application', 'unavailable'],
  },
} as const satisfies Readonly<Record<string, Operation>>
