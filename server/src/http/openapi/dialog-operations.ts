/**
 * Operations for browsers that an application has to know: the address of its dialog window, and the page to which a
 * device sends users. The pages behind them are internal and not described. docs/interface.md, "The dialog".
 */
import { Type } from 'typebox'
import { applicationId, askedScope, given, redirectUri } from './fields.ts'
import type { Operation } from './operation.ts'

const responseType = Type.Literal('code', { description: '`code`, and nothing else.' })

const optional = {
  scope: askedScope,
  state: Type.Optional(
    Type.String({
      description:
        'Your own text, at most 1024 bytes, returned unchanged. Make it unguessable and compare it when the browser comes back.',
      examples: ['af0ifjsldkj'],
    }),
  ),
  code_challenge: Type.Optional(
    Type.String({
      description:
        'SHA-256 of your `code_verifier`, in base64url (RFC 7636). Public applications have to send it, and those that were registered so; all others may. What was sent is always checked.',
      pattern: '^[A-Za-z0-9_-]{43}$',
    }),
  ),
  code_challenge_method: Type.Optional(
    Type.Literal('S256', { description: '`S256`; there is no other. Needed with `code_challenge`.' }),
  ),
}

const authorization = Type.Object({
  client_id: applicationId,
  response_type: responseType,
  redirect_uri: redirectUri,
  ...optional,
})

/** With `request_uri`, the pushed parameters need not be repeated. */
const standardAuthorization = Type.Object({
  client_id: applicationId,
  request_uri: Type.Optional(
    Type.String({
      description: 'What `/oauth/par` answered. Then it and `client_id` are all that is looked at.',
    }),
  ),
  response_type: Type.Optional({ ...responseType, description: '`code`. Needed unless there is a `request_uri`.' }),
  redirect_uri: Type.Optional({
    ...redirectUri,
    description: 'One of the registered addresses, to the letter. Needed unless there is a `request_uri`.',
  }),
  ...optional,
})

const seeOther = Type.Object({
  Location: Type.String({ description: 'Where the browser goes on.' }),
  'Set-Cookie': Type.Optional(Type.String({ description: 'Ties the dialog to this browser.' })),
})

const DIALOG = `Open this address in a window of the user’s browser: a popup or the whole page, never a frame. The user says which account, signs in, sees what you ask for and what of it they lack, and decides.

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

export const dialogOperations = {
  openDialog: {
    ...opening,
    tag: 'Dialog',
    summary: 'Open the dialog',
    description: DIALOG,
    query: authorization,
    samples: [{ label: 'See where it leads', send: sample }],
  },
  openDialogByForm: {
    ...opening,
    tag: 'Dialog',
    summary: 'Open the dialog by a form',
    description: AS_FORM,
    form: authorization,
    samples: [{ label: 'See where it leads', send: sample }],
  },
  authorize: {
    ...opening,
    tag: 'Standard dialect',
    summary: 'Open the dialog',
    description: DIALOG,
    query: standardAuthorization,
    samples: [{ label: 'See where it leads', send: sample }],
  },
  authorizeByForm: {
    ...opening,
    tag: 'Standard dialect',
    summary: 'Open the dialog by a form',
    description: AS_FORM,
    form: standardAuthorization,
    samples: [{ label: 'See where it leads', send: sample }],
  },
  showActivation: {
    tag: 'Standard dialect',
    summary: 'The page to send people to who hold a code',
    description:
      'The `verification_uri` of the device flow: a page for a person. It asks for the account and leads to where codes are entered there. No code is ever filled in: people type what they see on their own device.',
    security: ['none'],
    answers: { 200: { description: 'The page.', page: true } },
    refusals: [],
  },
  chooseAccount: {
    tag: 'Standard dialect',
    summary: 'The form of that page',
    description:
      'For the page itself; programs have no use for it. A form that comes from another site’s page is refused with 403.',
    security: ['none'],
    form: Type.Object({
      typed: Type.Optional(Type.String({ description: 'The account, as the person typed it.', examples: ['acme'] })),
      account: Type.Optional(given('The account, chosen from those that this browser knows.')),
    }),
    answers: {
      303: { description: 'On to the account’s own address.', headers: seeOther },
      400: { description: 'The page again: there is no such account.', page: true },
      403: { description: 'A page: the form came from elsewhere.', page: true },
    },
    refusals: ['invalid_request', 'unavailable'],
    samples: [{ label: 'As the page does', send: ['typed'] }],
  },
} as const satisfies Readonly<Record<string, Operation>>

type BrowserRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Also served under /1. */
  readonly versioned: boolean
  readonly operation: keyof typeof dialogOperations
  /** The route of routes.ts before which this one is listed. */
  readonly before: string
}

/** web/base-routes.ts serves these routes; server/test/conformance/openapi.test.ts compares the two. */
export const browserRoutes: readonly BrowserRoute[] = [
  {
    method: 'GET',
    path: '/auth/oauth/authorize',
    versioned: true,
    operation: 'openDialog',
    before: '/auth/oauth/token',
  },
  {
    method: 'POST',
    path: '/auth/oauth/authorize',
    versioned: true,
    operation: 'openDialogByForm',
    before: '/auth/oauth/token',
  },
  { method: 'GET', path: '/oauth/authorize', versioned: false, operation: 'authorize', before: '/oauth/par' },
  { method: 'POST', path: '/oauth/authorize', versioned: false, operation: 'authorizeByForm', before: '/oauth/par' },
  { method: 'GET', path: '/activate', versioned: false, operation: 'showActivation', before: '/oauth/token' },
  { method: 'POST', path: '/activate', versioned: false, operation: 'chooseAccount', before: '/oauth/token' },
]
