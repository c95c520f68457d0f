/** POST /oauth/par (RFC 9126): takes the dialog's parameters server to server; the browser carries only a reference. */
import { openDialog, PUSHED_LIFETIME_MS, pushedReference } from '../../flows/dialog/open.ts'
import { readDialogRequest } from '../dialog/dialog-request.ts'
import { readableHeaders, redirectUri, resourceField, responseMode, sealed } from '../fields.ts'
import { readableByOwnPages } from '../grants/own-pages.ts'
import type { Endpoint } from '../route.ts'
import { constant, integer, optional, text } from '../schema.ts'
import { tooBusy, tooManyRequests } from '../too-much.ts'
import { asClient, clientFields, readClient, spacedScopes, UNKNOWN_CLIENT } from './client.ts'

const handler = readableByOwnPages('standard', async (context, request) => {
  const { client, parameters } = readClient(request)
  if (!context.applications.authenticate(client.applicationId, client.secret)) return UNKNOWN_CLIENT
  if (parameters.has('request_uri')) return { refusal: 'invalid_request', message: 'A request_uri cannot be pushed.' }
  const asked = readDialogRequest(client.applicationId, parameters, request.address())
  const result = await openDialog(context, { ...asked, proven: client.secret !== null })
  switch (result.outcome) {
    case 'opened': {
      const request_uri = pushedReference(context, result.dialogId, client.applicationId)
      return { status: 201, fields: { request_uri, expires_in: PUSHED_LIFETIME_MS / 1000 } }
    }
    case 'too_many_requests':
      return tooManyRequests(result.waitMs)
    case 'shed':
      return tooBusy()
    case 'refused':
      return { refusal: result.error, message: result.reason }
    case 'suspended':
      return { refusal: 'application_suspended' }
    case 'malformed':
      return { refusal: 'invalid_request', message: result.reason }
    default:
      return { refusal: 'invalid_request', message: 'The redirect_uri is not registered for this application.' }
  }
})

export const pushRequest = {
  method: 'POST',
  path: '/oauth/par',
  dialect: 'standard',
  handler,
  operation: {
    id: 'pushRequest',
    ...asClient,
    summary: 'Push the dialog’s parameters',
    description:
      'RFC 9126: the parameters go from server to server, and the browser carries only a reference. Everything wrong with them is told here, to you, instead of to the person in the window. Open `/oauth/authorize` with `client_id` and `request_uri` next.',
    form: {
      ...clientFields,
      response_type: constant('code', '`code`, and nothing else.'),
      redirect_uri: redirectUri,
      scope: spacedScopes,
      state: optional(text('Your own text, at most 1024 bytes, returned unchanged.', { examples: ['af0ifjsldkj'] })),
      code_challenge: optional(
        text(
          'SHA-256 of your `code_verifier`, in base64url. Public applications have to send it, and those that were registered so; all others may.',
          { pattern: '^[A-Za-z0-9_-]{43}$' },
        ),
      ),
      code_challenge_method: optional(constant('S256', '`S256`; there is no other.')),
      response_mode: responseMode,
      resource: resourceField,
    },
    answers: {
      201: {
        description: 'Put away.',
        headers: readableHeaders,
        body: {
          name: 'PushedRequest',
          description: 'The dialog’s parameters, put away (RFC 9126).',
          properties: {
            request_uri: text('Goes into the dialog’s address, together with `client_id` and nothing else.', {
              pattern: sealed('urn:ietf:params:oauth:request_uri:', 52),
              examples: ['urn:ietf:params:oauth:request_uri:0000AVq2pYQxS0m1hN8vH3tTqkMBod0h86gWCMq3_Pxmp3LVhCFxuRcY'],
            }),
            expires_in: integer('Seconds in which the dialog has to be opened.', { examples: [90] }),
          },
        },
      },
    },
    refusals: [
      'invalid_request',
      'invalid_scope',
      'invalid_target',
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
} as const satisfies Endpoint
