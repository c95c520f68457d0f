/**
 * Routes that open the dialog: the address of the window that an application opens, in both dialects, by a link or by a
 * form. docs/interface/dialog.md.
 */
import { applicationId, askedScope, redirectUri, resourceField, responseMode } from '../fields.ts'
import type { Operation } from '../openapi/operation.ts'
import type { BasePage } from '../route.ts'
import { constant, optional, text } from '../schema.ts'
import { authorizeByForm as openByForm, authorize as openByLink } from './base-handlers.ts'

const responseType = constant('code', '`code`, and nothing else.')

const optionalFields = {
  scope: askedScope,
  state: optional(
    text(
      'Your own text, at most 1024 bytes, returned unchanged. Make it unguessable and compare it when the browser comes back.',
      { examples: ['af0ifjsldkj'] },
    ),
  ),
  code_challenge: optional(
    text(
      'SHA-256 of your `code_verifier`, in base64url (RFC 7636). Public applications have to send it, and those that were registered so; all others may. What was sent is always checked.',
      { pattern: '^[A-Za-z0-9_-]{43}$' },
    ),
  ),
  code_challenge_method: optional(constant('S256', '`S256`; there is no other. Needed with `code_challenge`.')),
  response_mode: responseMode,
  resource: resourceField,
}

const authorization = {
  client_id: applicationId,
  response_type: responseType,
  redirect_uri: redirectUri,
  ...optionalFields,
}

/** With `request_uri`, the pushed parameters need not be repeated. */
const standardAuthorization = {
  client_id: applicationId,
  request_uri: optional(text('What `/oauth/par` answered. Then it and `client_id` are all that is looked at.')),
  response_type: optional({ ...responseType, description: '`code`. Needed unless there is a `request_uri`.' }),
  redirect_uri: optional({
    ...redirectUri,
    description:
      'One of the registered addresses, to the letter; http addresses of 127.0.0.1, [::1] and localhost with any port. Needed unless there is a `request_uri`.',
  }),
  ...optionalFields,
}

export const seeOther = {
  Location: text('Where the browser goes on.'),
  'Set-Cookie': optional(text('Ties the dialog to this browser.')),
}

const OPENING = `Open this address in a window of the user’s browser: a popup or the whole page, never a frame. The user says which account, signs in, sees what you ask for and what of it they lack, and decides.

Then the browser comes to your \`redirect_uri\`. After a yes with \`code\` (exchange it within a minute), your \`state\`, and \`iss\`, which must be the address of this service. After a no with \`error=access_denied\`, \`state\` and \`iss\`.

What is wrong with the request itself is shown to the person in the window, with status 400. As soon as application and \`redirect_uri\` are known to belong together, that page has a button that comes to you with \`error\`, \`error_description\`, \`state\` and \`iss\`. Nothing is ever sent to an address that is not registered.`

const opening = {
  security: ['none'],
  answers: {
    303: { description: 'The dialog is open. The browser goes on by itself.', headers: seeOther },
    400: {
      description:
        'A page that says what is wrong: `invalid_request`, `invalid_scope` or `unsupported_response_type`, an unknown application, an address that is not registered, a suspended application, a `request_uri` that has run out.',
      page: true,
    },
  },
  refusals: [
    'invalid_request',
    'invalid_scope',
    'invalid_target',
    'unsupported_response_type',
    'application_suspended',
    'too_many_requests',
    'unavailable',
  ],
} as const satisfies Partial<Operation>

const sample = [
  'client_id',
  'response_type',
  'redirect_uri',
  'state',
  'code_challenge',
  'code_challenge_method',
] as const

const AS_FORM = 'The same as with GET, with the parameters in a form or in the address.'

export const openDialog = {
  method: 'GET',
  path: '/auth/oauth/authorize',
  dialect: 'page',
  versioned: true,
  handler: openByLink,
  operation: {
    id: 'openDialog',
    ...opening,
    tag: 'Dialog',
    summary: 'Open the dialog',
    description: OPENING,
    query: authorization,
    samples: [{ label: 'See where it leads', send: sample }],
  },
} as const satisfies BasePage

export const openDialogByForm = {
  method: 'POST',
  path: '/auth/oauth/authorize',
  dialect: 'page',
  versioned: true,
  fromAnywhere: true,
  handler: openByForm,
  operation: {
    id: 'openDialogByForm',
    ...opening,
    tag: 'Dialog',
    summary: 'Open the dialog by a form',
    description: AS_FORM,
    form: authorization,
    samples: [{ label: 'See where it leads', send: sample }],
  },
} as const satisfies BasePage

export const authorize = {
  method: 'GET',
  path: '/oauth/authorize',
  dialect: 'page',
  handler: openByLink,
  operation: {
    id: 'authorize',
    ...opening,
    tag: 'Standard dialect',
    summary: 'Open the dialog',
    description: OPENING,
    query: standardAuthorization,
    samples: [{ label: 'See where it leads', send: sample }],
  },
} as const satisfies BasePage

export const authorizeByForm = {
  method: 'POST',
  path: '/oauth/authorize',
  dialect: 'page',
  fromAnywhere: true,
  handler: openByForm,
  operation: {
    id: 'authorizeByForm',
    ...opening,
    tag: 'Standard dialect',
    summary: 'Open the dialog by a form',
    description: AS_FORM,
    form: standardAuthorization,
    samples: [{ label: 'See where it leads', send: sample }],
  },
} as const satisfies BasePage
