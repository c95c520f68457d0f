/** Endpoints that check a credential, or report a leaked one. docs/interface.md, "Check a credential". */
import { EMAIL_SCOPE, formatScope, parseScope } from '../../core/grants/scope.ts'
import { checkCredential, type ValidCredential } from '../../flows/grants/check-credential.ts'
import { reportCredential as report } from '../../flows/grants/revoke-credential.ts'
import { readUser } from '../../store/accounts/users.ts'
import type { Answer } from '../answer.ts'
import {
  accountExternalId,
  accountName,
  emailAddress,
  grantedApplication,
  grantedScope,
  grantId,
  tokenExpiresIn,
  userExternalId,
  userId,
  variant,
} from '../fields.ts'
import type { ApiRequest, Endpoint, Handler } from '../route.ts'
import { boolean, optional, parse, text } from '../schema.ts'

/** One answer for every credential that is not valid: the reason is not disclosed. */
const INVALID_CREDENTIAL: Answer = { refusal: 'invalid_credential', wwwAuthenticate: 'Bearer' }

const describe: Handler = async (context, request) => {
  const credential = readBearer(request)
  if (credential === null) return INVALID_CREDENTIAL
  const checked = await checkCredential(context, credential)
  if (checked.outcome === 'not_valid') return INVALID_CREDENTIAL
  const user = checked.scopes.includes(EMAIL_SCOPE) ? await readUser(context.db, checked.userId) : null
  return {
    status: 200,
    fields: {
      account: checked.account,
      user: checked.userId,
      ...externalIds(checked),
      ...(user === null ? {} : { email: user.email }),
      application: checked.applicationId,
      grant: checked.grantId,
      scope: formatScope(checked.scopes),
      variant: checked.variant,
      ...(checked.expiresInSeconds === null ? {} : { expires_in: checked.expiresInSeconds }),
    },
  }
}

export const describeCredential = {
  method: 'GET',
  path: '/me',
  dialect: 'interface',
  handler: describe,
  operation: {
    id: 'describeCredential',
    tag: 'Credentials',
    summary: 'What a credential is and may do',
    description:
      'The first thing to ask when an API call was refused. `scope` is what was granted, as far as the user still holds it and the application is still allowed it, at this moment. Forged, expired, taken back: all of that is one answer, `invalid_credential`.',
    security: ['credential'],
    answers: {
      200: {
        description: 'It is valid.',
        body: {
          name: 'Credential',
          description: 'What a credential is, and what it may do at this moment.',
          properties: {
            account: accountName,
            user: userId,
            account_external_id: optional(accountExternalId),
            user_external_id: optional(userExternalId),
            email: optional(emailAddress),
            application: grantedApplication,
            grant: grantId,
            scope: grantedScope,
            variant,
            expires_in: optional({
              ...tokenExpiresIn,
              description: 'Seconds until the access token expires. An access key has none.',
            }),
          },
          xml: true,
        },
      },
    },
    refusals: ['invalid_credential', 'unavailable'],
  },
} as const satisfies Endpoint

/** Ids at the operator's own service, for those that have one. */
export function externalIds({ accountExternalId, userExternalId }: ValidCredential): Record<string, string> {
  return {
    ...(accountExternalId === null ? {} : { account_external_id: accountExternalId }),
    ...(userExternalId === null ? {} : { user_external_id: userExternalId }),
  }
}

/** Percent-encoded, because a header holds ASCII only. */
function externalIdHeaders({ accountExternalId, userExternalId }: ValidCredential): Record<string, string> {
  const headers: Record<string, string> = {}
  if (accountExternalId !== null) headers['x-latchkey-account-external-id'] = encodeURIComponent(accountExternalId)
  if (userExternalId !== null) headers['x-latchkey-user-external-id'] = encodeURIComponent(userExternalId)
  return headers
}

const verifyQuery = {
  scope: optional(text('Scopes, separated by commas. All of them have to be carried.', { examples: ['orders:read'] })),
}

/**
 * For a gateway that asks before it forwards a request (nginx: auth_request; others: forward auth). The result is in
 * the status and the headers. If `scope` is given, the credential must have all of it.
 */
const verify: Handler = async (context, request) => {
  const credential = readBearer(request)
  if (credential === null) return INVALID_CREDENTIAL
  const checked = await checkCredential(context, credential)
  if (checked.outcome === 'not_valid') return INVALID_CREDENTIAL
  const { scope } = parse(verifyQuery, request.parameters())
  if (scope !== null && !parseScope(scope).every((name) => checked.scopes.includes(name))) {
    return { refusal: 'insufficient_scope', wwwAuthenticate: 'Bearer error="insufficient_scope"' }
  }
  return {
    status: 200,
    headers: {
      'x-latchkey-account': checked.account,
      'x-latchkey-user': checked.userId,
      ...externalIdHeaders(checked),
      'x-latchkey-application': checked.applicationId,
      'x-latchkey-scope': formatScope(checked.scopes),
      'x-latchkey-variant': checked.variant,
    },
  }
}

export const verifyCredential = {
  method: 'GET',
  path: '/auth/verify',
  dialect: 'interface',
  handler: verify,
  operation: {
    id: 'verifyCredential',
    tag: 'Credentials',
    summary: 'Let a request through, or not (forward auth)',
    description:
      'For a gateway that asks before it lets a request through: nginx calls it `auth_request`, others forward auth. The answer is in the status and the headers; there is no body to read.',
    security: ['credential'],
    query: verifyQuery,
    answers: {
      200: {
        description: 'Let it through.',
        headers: {
          'X-Latchkey-Account': text('The account’s name in front of the host.'),
          'X-Latchkey-User': text('The user’s id.'),
          'X-Latchkey-Account-External-Id': optional(
            text('The account’s id at the operator’s own service, percent-encoded.'),
          ),
          'X-Latchkey-User-External-Id': optional(
            text('The user’s id at the operator’s own service, percent-encoded.'),
          ),
          'X-Latchkey-Application': text('The application’s id.'),
          'X-Latchkey-Scope': text('All that it may do, separated by commas.'),
          'X-Latchkey-Variant': variant,
        },
      },
    },
    refusals: ['invalid_request', 'invalid_credential', 'insufficient_scope', 'unavailable'],
    samples: [{ label: 'Verify', send: ['scope'] }],
  },
} as const satisfies Endpoint

const reportForm = { credential: text('The whole credential, with its prefix.') }

/** Revokes a credential found where it should not be. Possession is the only proof required. */
const reportHandler: Handler = async (context, request) => {
  const { credential } = parse(reportForm, request.parameters())
  return { status: 200, fields: { revoked: await report(context, credential) } }
}

export const reportCredential = {
  method: 'POST',
  path: '/auth/report',
  dialect: 'interface',
  handler: reportHandler,
  operation: {
    id: 'reportCredential',
    tag: 'Credentials',
    summary: 'Report a credential that was found',
    description:
      'For anybody who comes across an access token, a refresh token or an access key where it should not be: in a log, a repository, a paste. To have it is to prove it, so nothing else is asked. A living one ends at once, and its user is told.',
    security: ['none'],
    form: reportForm,
    answers: {
      200: {
        description: 'What became of it.',
        body: {
          name: 'Report',
          description: 'What became of a reported credential.',
          properties: {
            revoked: boolean(
              'True: it was a living credential, and is one no longer. False: it was none, or not any more.',
              { examples: [true] },
            ),
          },
          xml: true,
        },
      },
    },
    refusals: ['invalid_request', 'unavailable'],
  },
} as const satisfies Endpoint

/**
 * Reads the header of RFC 6750, section 2.1. Its other two methods are not supported: credentials in forms and URLs end
 * up in logs and histories. The scheme is case-insensitive (RFC 9110, section 11.1).
 */
function readBearer(request: ApiRequest): string | null {
  return /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(request.header('authorization') ?? '')?.[1] ?? null
}
