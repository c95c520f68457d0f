/**
 * Endpoints that describe a credential, or report a leaked one.
 * docs/interface/credentials.md, "Check a credential".
 */
import { EMAIL_SCOPE, formatScope } from '../../core/grants/scope.ts'
import type { ValidCredential } from '../../flows/grants/check-credential.ts'
import { reportCredential as report } from '../../flows/grants/revoke-credential.ts'
import { readUser } from '../../store/accounts/users.ts'
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
import type { Endpoint, Handler } from '../route.ts'
import { boolean, optional, parse, text } from '../schema.ts'
import { checkBearer } from './bearer.ts'

const describe: Handler = async (context, request) => {
  const checked = await checkBearer(context, request)
  if ('refusal' in checked) return checked
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
