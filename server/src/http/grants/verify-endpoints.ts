/**
 * Endpoints for gateways that ask before they let a request through.
 * docs/interface/credentials.md, "Check a credential".
 */
import { formatScope, parseScope } from '../../core/grants/scope.ts'
import type { Context } from '../../flows/context.ts'
import type { ValidCredential } from '../../flows/grants/check-credential.ts'
import type { Answer } from '../answer.ts'
import { variant } from '../fields.ts'
import type { ApiRequest, Endpoint, Handler } from '../route.ts'
import { optional, parse, text } from '../schema.ts'
import { checkBearer, insufficientScope } from './bearer.ts'

/** A gateway sets it for every request; what a client sent under this name is required as well, which never weakens. */
const REQUIRED_SCOPE = 'x-latchkey-require-scope'

const requireScopeHeader = text(
  'Scopes, separated by commas. All of them have to be carried, those of repeated headers as well. Empty: any valid credential.',
  { examples: ['orders:read'] },
)

/**
 * Every header is always sent, empty if there is no value, because a gateway that copies them to its request would leave
 * a client's header of the same name in place. Percent-encoded where a value may not be ASCII.
 */
function identityHeaders(credential: ValidCredential): Record<string, string> {
  return {
    'x-latchkey-account': credential.account,
    'x-latchkey-user': credential.userId,
    'x-latchkey-account-external-id': encodeURIComponent(credential.accountExternalId ?? ''),
    'x-latchkey-user-external-id': encodeURIComponent(credential.userExternalId ?? ''),
    'x-latchkey-application': credential.applicationId,
    'x-latchkey-scope': formatScope(credential.scopes),
    'x-latchkey-variant': credential.variant,
  }
}

async function verify(context: Context, request: ApiRequest, readRequired: () => string): Promise<Answer> {
  const checked = await checkBearer(context, request)
  if ('refusal' in checked) return checked
  const required = parseScope(readRequired())
  if (!required.every((name) => checked.scopes.includes(name))) return insufficientScope(required)
  return { status: 200, headers: identityHeaders(checked) }
}

const verified = {
  200: {
    description: 'Let it through.',
    headers: {
      'X-Latchkey-Account': text('The account’s name in front of the host.'),
      'X-Latchkey-User': text('The user’s id.'),
      'X-Latchkey-Account-External-Id': text(
        'The account’s id at the operator’s own service, percent-encoded; empty if it has none.',
      ),
      'X-Latchkey-User-External-Id': text(
        'The user’s id at the operator’s own service, percent-encoded; empty if it has none.',
      ),
      'X-Latchkey-Application': text('The application’s id.'),
      'X-Latchkey-Scope': text('All that it may do, separated by commas.'),
      'X-Latchkey-Variant': variant,
    },
  },
} as const

const verifyRefusals = ['invalid_request', 'invalid_credential', 'insufficient_scope', 'unavailable'] as const

const verifyQuery = {
  scope: optional(text('Scopes, separated by commas. All of them have to be carried.', { examples: ['orders:read'] })),
}

/** The result is in the status and the headers. The credential must have the scopes of the query and of the header. */
const verifyByQuery: Handler = (context, request) =>
  verify(context, request, () => {
    const { scope } = parse(verifyQuery, request.parameters())
    return `${scope ?? ''},${request.header(REQUIRED_SCOPE) ?? ''}`
  })

export const verifyCredential = {
  method: 'GET',
  path: '/auth/verify',
  everyMethod: true,
  dialect: 'interface',
  handler: verifyByQuery,
  operation: {
    id: 'verifyCredential',
    tag: 'Credentials',
    summary: 'Let a request through, or not (forward auth)',
    description:
      'For a gateway that asks before it lets a request through: nginx calls it `auth_request`, others forward auth. The answer is in the status and the headers; there is no body to read. Every method is answered like a GET, and a body is ignored, because some gateways pass on the method of the request that they ask about.',
    security: ['credential'],
    query: verifyQuery,
    headers: { 'X-Latchkey-Require-Scope': optional(requireScopeHeader) },
    answers: verified,
    refusals: verifyRefusals,
    samples: [{ label: 'Verify', send: ['scope'] }],
  },
} as const satisfies Endpoint

/** Path, query and body below it are a client's, so only the gateway's header says what is required. */
const verifyByHeader: Handler = async (context, request) => {
  const required = request.header(REQUIRED_SCOPE)
  if (required === null)
    return { refusal: 'invalid_request', message: 'The header X-Latchkey-Require-Scope is missing.' }
  return verify(context, request, () => required)
}

export const verifyRequest = {
  method: 'GET',
  path: '/auth/verify/{path}',
  everyMethod: true,
  dialect: 'interface',
  handler: verifyByHeader,
  operation: {
    id: 'verifyRequest',
    tag: 'Credentials',
    summary: 'Let a request through, or not, by its own path (forward auth)',
    description:
      'For a gateway that puts a prefix before the path of the request that it asks about and keeps its method, as Envoy does. Everything below `/auth/verify/` is answered. Path, query and body are the client’s and are ignored: the gateway says by `X-Latchkey-Require-Scope` what is required, and without this header everything is refused.',
    security: ['credential'],
    path: { path: text('The path of the request, with all its slashes.', { examples: ['orders/7'] }) },
    headers: { 'X-Latchkey-Require-Scope': requireScopeHeader },
    answers: verified,
    refusals: verifyRefusals,
    samples: [],
  },
} as const satisfies Endpoint
