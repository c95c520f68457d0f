/**
 * Endpoints that revoke a credential in the native dialect, one for each variant.
 * docs/interface/credentials.md, "Credentials".
 */
import type { Context } from '../../flows/context.ts'
import { type RevocationRequest, revokeCredential } from '../../flows/grants/revoke-credential.ts'
import type { Answer } from '../answer.ts'
import { nothing, readableHeaders } from '../fields.ts'
import type { Endpoint } from '../route.ts'
import { parse, text } from '../schema.ts'
import { applicationIn, byApplication } from './application-fields.ts'
import { readableByOwnPages } from './own-pages.ts'

const revokeTokenForm = { ...byApplication, token: text('The access token or the refresh token.') }

const revokeTokenHandler = readableByOwnPages('interface', async (context, request) => {
  const form = parse(revokeTokenForm, request.parameters())
  return revoke(context, { ...applicationIn(form), credential: form.token, variant: 'token_set' })
})

export const revokeTokenSet = {
  method: 'POST',
  path: '/auth/oauth/revoke',
  dialect: 'interface',
  handler: revokeTokenHandler,
  operation: {
    id: 'revokeTokenSet',
    tag: 'Credentials',
    summary: 'Give up a token set',
    description:
      'For when the user signs out of your application or removes it. The access token and the refresh token end, whichever of the two you send. The answer is the same if there was nothing to end. One of another application is refused.',
    security: ['applicationInForm', 'none'],
    form: revokeTokenForm,
    answers: { 200: { description: 'It does not work any more.', body: nothing, headers: readableHeaders } },
    refusals: ['invalid_request', 'invalid_grant', 'invalid_application', 'unavailable'],
    samples: [{ label: 'Give up', send: ['SVCappid', 'SVCsecret', 'token'] }],
  },
} as const satisfies Endpoint

const revokeKeyForm = { ...byApplication, access_key: text('The key to give up.') }

const revokeKeyHandler = readableByOwnPages('interface', async (context, request) => {
  const form = parse(revokeKeyForm, request.parameters())
  return revoke(context, { ...applicationIn(form), credential: form.access_key, variant: 'access_key' })
})

export async function revoke(context: Context, request: RevocationRequest): Promise<Answer> {
  const { outcome } = await revokeCredential(context, request)
  if (outcome === 'invalid_application') return { refusal: outcome }
  if (outcome === 'foreign') return { refusal: 'invalid_grant', message: FOREIGN }
  return { status: 200, fields: {} }
}

const FOREIGN = 'The credential was issued to another application, and is not revoked.'

export const revokeAccessKey = {
  method: 'POST',
  path: '/auth/key/revoke',
  dialect: 'interface',
  handler: revokeKeyHandler,
  operation: {
    id: 'revokeAccessKey',
    tag: 'Credentials',
    summary: 'Give up an access key',
    description:
      'The key ends at once, and so does one that it replaced. The answer is the same if there was none. One of another application is refused.',
    security: ['applicationInForm', 'none'],
    form: revokeKeyForm,
    answers: { 200: { description: 'It does not work any more.', body: nothing } },
    refusals: ['invalid_request', 'invalid_grant', 'invalid_application', 'unavailable'],
    samples: [{ label: 'Give up', send: ['SVCappid', 'SVCsecret', 'access_key'] }],
  },
} as const satisfies Endpoint
