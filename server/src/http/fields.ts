/**
 * Schemas of all parameters and fields, each defined once for all dialects and responses. The example of a field is
 * used in the curl commands; a field without one becomes a shell variable, because only the reader knows its value.
 */
import { type Body, constant, integer, oneOf, optional, text } from './schema.ts'

/** Prefix and length are part of the contract; the four digits are reserved (docs/interface/credentials.md). */
export const sealed = (prefix: string, length: number) => `^${prefix}[0-9a-f]{4}[A-Za-z0-9_-]{${length}}$`

const seconds = (description: string, example: number) => integer(description, { minimum: 0, examples: [example] })

export const applicationId = text('The application’s id, as it was registered: `app_` and 12 characters.')

export const applicationSecret = text(
  'One of the application’s live secrets: `lks_` and 43 characters. Send it in the form, never in an address.',
)

/** Optional because a public application has none. */
export const optionalSecret = optional(
  text(
    'One of the application’s live secrets: `lks_` and 43 characters. A public application has none and leaves this out; everybody else has to send it.',
  ),
)

export const askedScope = optional(
  text(
    'Scopes, separated by commas (white space works, too). Absent or empty: the application’s default set. One that is unknown or not allowed refuses the whole request.',
    { examples: ['orders:read'] },
  ),
)

export const askedState = optional(
  text(
    'Your own text, at most 1024 bytes. It comes back unchanged; absent, it comes back empty. It must be something that XML can carry: no control characters but tab and line breaks.',
    { examples: ['living-room'] },
  ),
)

export const grantedScope = text(
  'What the credential may do, separated by commas. It can be less than what you asked for: users grant what they hold themselves.',
  { examples: ['orders:read,orders:write'] },
)

export const echoedState = text('The `state` of the request, unchanged; empty if there was none.', {
  examples: ['living-room'],
})

export const deviceCode = text('What you poll with. Case-sensitive, and as secret as a credential.', {
  pattern: sealed('lkd_', 55),
  examples: ['lkd_0000AQGh3RQ4CGfh1wFSRtLa74gABQGh3SHzqBYIyrf8_GanctWEIXG5Fxg'],
})

export const userCode = text(
  'What the user types. Show it in groups if you like. Leading zeros count: it is text, not a number.',
  { pattern: '^[0-9]{9,15}$', examples: ['399781192'] },
)

export const codeExpiresIn = seconds('Seconds until both codes expire.', 600)

export const interval = integer('The shortest time between two polls, in seconds. It never grows.', {
  minimum: 1,
  maximum: 60,
  examples: [5],
})

export const accessToken = text('The credential for API requests.', {
  pattern: sealed('lka_', 56),
  examples: ['lka_0000AW8GoblDi9e88mMYkOY2oQcAAAABAGr5KcRQdrLCKj8UNJ5b8V51Hipe'],
})

export const refreshToken = text(
  'Renews the token set. Keep the newest one: an older one that comes back ends the access, because two seem to hold it.',
  { pattern: sealed('lkr_', 50), examples: ['lkr_0000AW8GoblDi9e88mMYkOY2oQcAAAABRlW5w9LUZMrbvcyMyVYz5w'] },
)

export const tokenExpiresIn = seconds('Seconds until the access token expires, counted from this answer.', 3600)

export const accessKey = text('The credential for API requests. It does not expire, so there is nothing to renew.', {
  pattern: sealed('lkk_', 50),
  examples: ['lkk_0000AdPtRTu_alWAO4VbseCmGuAAAAABhrGmaFfiZjyv-FwA1x1tTw'],
})

export const overlap = seconds('For how many seconds the old key goes on working, from its replacement.', 86_400)

export const variant = oneOf(['token_set', 'access_key'], 'What kind of credential it is.', { examples: ['token_set'] })

export const redirectUri = text(
  'Where the dialog returns to: one of the registered addresses, to the letter; http addresses of 127.0.0.1, [::1] and localhost with any port.',
  {
    format: 'uri',
    examples: ['https://app.example/callback'],
  },
)

export const responseMode = optional(constant('query', '`query`; there is no other, so it is best left out.'))

export const resourceField = optional(
  text('RFC 8707: an absolute URI without a fragment. It has no effect yet.', {
    format: 'uri',
    examples: ['https://api.example/'],
  }),
)

export const codeVerifier = optional(
  text(
    'The text whose SHA-256 was the `code_challenge` (RFC 7636). Needed if there was a challenge, refused if there was none.',
    { pattern: '^[A-Za-z0-9._~-]{43,128}$' },
  ),
)

export const spacedScope = text(
  'What the credential may do, separated by spaces. It can be less than what you asked for.',
  { examples: ['orders:read orders:write'] },
)

export const bearer = constant('Bearer', 'How the credential is sent.')

export const userId = text('The user’s id.', { examples: ['usr_k3v9m2x7q4tz'] })
export const emailAddress = text(
  'The user’s e-mail address. Present only if the credential carries the scope `email`.',
  {
    examples: ['ann@acme.example'],
  },
)
export const accountExternalId = text('The account’s id at the operator’s own service, if it has one.', {
  examples: ['customer-17'],
})
export const userExternalId = text('The user’s id at the operator’s own service, if it has one.', {
  examples: ['user-17'],
})
export const accountName = text('The account’s name in front of the host.', { examples: ['acme'] })
export const grantedApplication = text('The application’s id.', { examples: ['app_n61zbfpywkrj'] })

export const grantId = text(
  'The id of the grant that it belongs to, as webhooks and the audit log name it. It may be shown and logged: it is no part of the credential.',
  { pattern: '^grt_[0-9a-z]{20}$', examples: ['grt_4m8x2k7q9t3v6w1y5z0a'] },
)

/** CORS header: only pages on the application's own origins may read the response. */
export const readableHeaders = {
  'Access-Control-Allow-Origin': optional(
    text('The request’s `Origin`, if it is the very origin of one of the application’s redirect addresses.'),
  ),
}

/** Nothing but the status is of interest. */
export const nothing: Body = {
  name: 'Nothing',
  description: 'Done. There is nothing to tell.',
  properties: {},
  xml: true,
}

export const tokenSet: Body = {
  name: 'TokenSet',
  description: 'An access token, and what renews it.',
  properties: {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_in: tokenExpiresIn,
    scope: grantedScope,
    state: echoedState,
  },
  xml: true,
}
