/** Operations on credentials: exchange, refresh, rotate, revoke, check, report. docs/interface.md, "Credentials". */
import { Type } from 'typebox'
import {
  applicationId,
  applicationSecret,
  codeVerifier,
  given,
  optionalSecret,
  redirectUri,
  variant,
} from './fields.ts'
import type { Operation } from './operation.ts'

const byApplication = { SVCappid: applicationId, SVCsecret: optionalSecret }
const bySecret = { SVCappid: applicationId, SVCsecret: applicationSecret }

/** CORS header: only pages on the application's own origins may read the response. */
const readable = Type.Object({
  'Access-Control-Allow-Origin': Type.Optional(
    Type.String({
      description: 'The request’s `Origin`, if it is the very origin of one of the application’s redirect addresses.',
    }),
  ),
})

export const credentialOperations = {
  exchangeCode: {
    tag: 'Dialog',
    summary: 'Exchange the dialog’s code for a token set',
    description:
      'Once, within a minute of the user’s yes, by the application that opened the dialog, with the same `redirect_uri` and the verifier of its challenge. A wrong verifier or address spends the code. If the connection broke before the answer arrived, send the same request again.\n\nA code that comes back after its answer was sent is in two hands: it is refused, and the token set it led to ends.',
    security: ['applicationInForm', 'none'],
    form: Type.Object({
      ...byApplication,
      code: given('The `code` that the dialog returned with.'),
      redirect_uri: redirectUri,
      code_verifier: codeVerifier,
    }),
    answers: { 200: { description: 'The first token set.', schema: 'TokenSet', headers: readable } },
    refusals: ['invalid_request', 'invalid_grant', 'invalid_application', 'unavailable'],
    samples: [{ label: 'Exchange the code', send: ['SVCappid', 'SVCsecret', 'code', 'redirect_uri', 'code_verifier'] }],
  },
  refreshTokenSet: {
    tag: 'Credentials',
    summary: 'Renew a token set',
    description:
      'Gives a new access token and a new refresh token. Store both before you use them, and let one process of yours do it at a time. If the answer got lost, repeat the request within 30 seconds with the same refresh token: you get the same set again. Later than that, an old refresh token counts as stolen, and the access ends.\n\nThe access token that you hold goes on working until its own expiry.\n\n`invalid_grant` is final: start over with a new code or dialog.',
    security: ['applicationInForm', 'none'],
    form: Type.Object({
      ...byApplication,
      refresh_token: given('The newest refresh token that you hold.'),
      scope: Type.Optional(
        Type.String({
          description: 'Not more than was granted; more is refused, less changes nothing. Best left out.',
        }),
      ),
    }),
    answers: { 200: { description: 'The next token set.', schema: 'RenewedTokenSet', headers: readable } },
    refusals: ['invalid_request', 'invalid_scope', 'invalid_grant', 'invalid_application', 'unavailable'],
    samples: [{ label: 'Renew', send: ['SVCappid', 'SVCsecret', 'refresh_token'] }],
  },
  revokeTokenSet: {
    tag: 'Credentials',
    summary: 'Give up a token set',
    description:
      'For when the user signs out of your application or removes it. The access token and the refresh token end, whichever of the two you send. The answer is the same if there was nothing to end.',
    security: ['applicationInForm', 'none'],
    form: Type.Object({ ...byApplication, token: given('The access token or the refresh token.') }),
    answers: { 200: { description: 'It does not work any more.', schema: 'Nothing', headers: readable } },
    refusals: ['invalid_request', 'invalid_application', 'unavailable'],
    samples: [{ label: 'Give up', send: ['SVCappid', 'SVCsecret', 'token'] }],
  },
  rotateAccessKey: {
    tag: 'Credentials',
    summary: 'Replace an access key',
    description:
      'Gives a new key; the old one goes on working for `overlap` seconds, so that every device can be told. If the answer got lost, repeat the request within that time: you get the same new key again.',
    security: ['applicationInForm'],
    form: Type.Object({ ...bySecret, access_key: given('The key to replace.') }),
    answers: { 200: { description: 'The new key.', schema: 'ReplacedAccessKey' } },
    refusals: ['invalid_request', 'invalid_grant', 'invalid_application', 'unavailable'],
  },
  revokeAccessKey: {
    tag: 'Credentials',
    summary: 'Give up an access key',
    description: 'The key ends at once, and so does one that it replaced. The answer is the same if there was none.',
    security: ['applicationInForm'],
    form: Type.Object({ ...bySecret, access_key: given('The key to give up.') }),
    answers: { 200: { description: 'It does not work any more.', schema: 'Nothing' } },
    refusals: ['invalid_request', 'invalid_application', 'unavailable'],
  },
  reportCredential: {
    tag: 'Credentials',
    summary: 'Report a credential that was found',
    description:
      'For anybody who comes across an access token, a refresh token or an access key where it should not be: in a log, a repository, a paste. To have it is to prove it, so nothing else is asked. A living one ends at once, and its user is told.',
    security: ['none'],
    form: Type.Object({ credential: given('The whole credential, with its prefix.') }),
    answers: { 200: { description: 'What became of it.', schema: 'Report' } },
    refusals: ['invalid_request', 'unavailable'],
  },
  describeCredential: {
    tag: 'Credentials',
    summary: 'What a credential is and may do',
    description:
      'The first thing to ask when an API call was refused. `scope` is what was granted, as far as the user still holds it and the application is still allowed it, at this moment. Forged, expired, taken back: all of that is one answer, `invalid_credential`.',
    security: ['credential'],
    answers: { 200: { description: 'It is valid.', schema: 'Credential' } },
    refusals: ['invalid_credential', 'unavailable'],
  },
  verifyCredential: {
    tag: 'Credentials',
    summary: 'Let a request through, or not (forward auth)',
    description:
      'For a gateway that asks before it lets a request through: nginx calls it `auth_request`, others forward auth. The answer is in the status and the headers; there is no body to read.',
    security: ['credential'],
    query: Type.Object({
      scope: Type.Optional(
        Type.String({
          description: 'Scopes, separated by commas. All of them have to be carried.',
          examples: ['orders:read'],
        }),
      ),
    }),
    answers: {
      200: {
        description: 'Let it through.',
        headers: Type.Object({
          'X-Latchkey-Account': Type.String({ description: 'The account’s name in front of the host.' }),
          'X-Latchkey-User': Type.String({ description: 'The user’s id.' }),
          'X-Latchkey-Application': Type.String({ description: 'The application’s id.' }),
          'X-Latchkey-Scope': Type.String({ description: 'All that it may do, separated by commas.' }),
          'X-Latchkey-Variant': variant,
        }),
      },
    },
    refusals: ['invalid_request', 'invalid_credential', 'insufficient_scope', 'unavailable'],
    samples: [{ label: 'Verify', send: ['scope'] }],
  },
} as const satisfies Readonly<Record<string, Operation>>
