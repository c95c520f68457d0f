/**
 * Refusals: the closed table of all errors the service returns; docs/errors.md is generated from it. Codes are
 * contract, messages are not. `standard` is the error code in the standard dialect (RFC 6749, section 5.2, RFC 8628,
 * section 3.5, RFC 6750).
 */
export const refusals = {
  auth_pending: {
    status: 400,
    standard: 'authorization_pending',
    message: 'The user has not yet processed the code. Keep polling, no faster than the interval.',
    remedy:
      'This is not an error. Poll again after `Retry-After` seconds: the `interval`, less the time for which this poll was held.',
  },
  slow_down: {
    status: 400,
    standard: 'slow_down',
    message: 'Polling is faster than the interval allows. Wait for the interval between polls.',
    remedy:
      'Wait `interval` seconds between polls. The early poll does not restart the interval, and the interval is not increased. An application that repeatedly ignores this may be suspended pending review.',
  },
  auth_expired: {
    status: 400,
    standard: 'expired_token',
    message: 'The code expired before the user authorized it. Inform the user, and let them request a new code.',
    remedy:
      'Inform the user and offer a new code. Do not request a new code without an action of the user. A code also ends before its time if users of two accounts entered it.',
  },
  auth_rejected: {
    status: 400,
    standard: 'access_denied',
    message: 'The user rejected the application.',
    remedy: 'Stop polling. Request a new code only when the user starts again.',
  },
  invalid: {
    status: 400,
    standard: 'invalid_grant',
    message: 'The code is not valid: it was already used, or the request does not match it.',
    remedy:
      'If the message names a parameter, correct it: the code is unchanged. Otherwise the outcome was already delivered, or the application id, secret, device code and path do not match. Compare these four values with the code request; otherwise request a new code.',
  },
  invalid_request: {
    status: 400,
    standard: 'invalid_request',
    message: 'The request is malformed.',
    remedy:
      'A required parameter is missing, a parameter has two values, or a value is malformed. The message names it, unless the request is no valid HTTP.',
  },
  invalid_scope: {
    status: 400,
    standard: 'invalid_scope',
    message: 'The scope is unknown or not allowed for this application.',
    remedy:
      'The message names the rejected scopes and, after authentication, the allowed ones. Request only those, or omit `scope` to request the default scopes of the application. A refresh cannot request more than was granted. If the request had no `scope`, the default scopes cannot be granted: the owner of the application has to change them.',
  },
  invalid_target: {
    status: 400,
    standard: 'invalid_target',
    message: 'The resource must be an absolute URI without a fragment.',
    remedy: 'Correct `resource` (RFC 8707), or leave it out. Only the standard dialect and the dialog read it.',
  },
  invalid_grant: {
    status: 400,
    standard: 'invalid_grant',
    message: 'The code, token or key is invalid, expired or revoked, or was issued to another application.',
    remedy:
      'A code can be exchanged once, within a minute, with the same redirect URI and the matching code verifier. Use the newest refresh token only: an older one revokes the grant once a newer one was used, because it may have been stolen. Otherwise the user revoked the access or it expired: start a new authorization.',
  },
  unsupported_grant_type: {
    status: 400,
    standard: 'unsupported_grant_type',
    message: 'The grant_type is not supported.',
    remedy:
      'Use `authorization_code`, `refresh_token` or `urn:ietf:params:oauth:grant-type:device_code`. Only the standard dialect uses this parameter.',
  },
  unsupported_response_type: {
    status: 400,
    standard: 'unsupported_response_type',
    message: 'The response_type must be code.',
    remedy: 'Send `response_type=code`; no other value is supported.',
  },
  invalid_application: {
    status: 401,
    standard: 'invalid_client',
    message: 'Unknown application id or wrong secret.',
    remedy: 'Check `SVCappid` and `SVCsecret`. If the secret was rotated, use the new one.',
  },
  invalid_credential: {
    status: 401,
    standard: 'invalid_token',
    message: 'The credential is missing or no longer valid.',
    remedy:
      'Send the access token or the access key in the header `Authorization: Bearer …`. If the token has expired, refresh it; if the user revoked the access, start a new authorization.',
  },
  insufficient_scope: {
    status: 403,
    standard: 'insufficient_scope',
    message: 'The credential does not have the scope that this request requires.',
    remedy:
      'Request the scope from the user. If the user granted it, they may have lost it since: `GET /1/me` returns the current scopes of the credential. A management key keeps its scopes: create one that has those which the message names.',
  },
  application_suspended: {
    status: 403,
    standard: 'unauthorized_client',
    message:
      'The application is suspended pending review. Codes that were already granted and issued credentials remain valid; nothing else can be granted until the review has ended.',
    remedy:
      'New codes and dialogs are rejected, and pending codes cannot be granted, until an operator has reviewed and restored the application. Contact the operator of the service.',
  },
  device_flow_disabled: {
    status: 403,
    standard: 'unauthorized_client',
    message: 'The device flow is not enabled for this application.',
    remedy:
      'The application was registered without the device flow. Enable it in the settings of the developer console.',
  },
  invalid_test_secret: {
    status: 403,
    standard: 'unauthorized_client',
    message: 'The test secret is not valid, or no longer: it ends with test mode, after 24 hours at the latest.',
    remedy:
      'Enable test mode in the developer console, which shows a new test secret once, and send it as `test_secret`. The secret of the application cannot decide codes. In test mode, users cannot enter the codes of the application.',
  },
  not_found: {
    status: 404,
    standard: 'invalid_request',
    message: 'There is no resource at this path.',
    remedy: 'Check the path; `/reference` lists all paths. Paths are case-sensitive and have no trailing slash.',
  },
  method_not_allowed: {
    status: 405,
    standard: 'invalid_request',
    message: 'The method is not allowed for this path.',
    remedy: 'The message and the `Allow` header name the allowed methods. Device flow requests use POST.',
  },
  conflict: {
    status: 409,
    standard: 'invalid_request',
    message: 'The request contradicts the current state.',
    remedy:
      'The message says what is in the way: something with this name, address or external id exists, the last administrator would be lost, or the `Idempotency-Key` was used for another request. Read the resource and decide again.',
  },
  precondition_failed: {
    status: 412,
    standard: 'invalid_request',
    message: 'The resource was changed since it was read.',
    remedy:
      'The `If-Match` header does not match the current `ETag`. Read the resource again and repeat the change with its new `ETag`.',
  },
  payload_too_large: {
    status: 413,
    standard: 'invalid_request',
    message: 'The request body is too large.',
    remedy: 'The limit is 16 KiB, and 256 KiB for JSON bodies of the management API.',
  },
  unsupported_media_type: {
    status: 415,
    standard: 'invalid_request',
    message: 'Send parameters as application/x-www-form-urlencoded or multipart/form-data, in UTF-8.',
    remedy:
      'Send parameters in the form or in the query string. Only the management API and SCIM take JSON; XML bodies are not supported.',
  },
  misdirected: {
    status: 421,
    standard: 'invalid_request',
    message: 'This page is served only on the subdomain of an account.',
    remedy:
      'A page of an account: use its subdomain; the host is `acme.` followed by the host of PUBLIC_URL, port included. The API: use PUBLIC_URL, which the message names; it is not served on the subdomains.',
  },
  too_many_requests: {
    status: 429,
    // No RFC defines a code for it. RFC 9126, section 2.3, has the status; this is the nearest code of RFC 6749
    // (section 4.1.2.1).
    standard: 'temporarily_unavailable',
    message: 'Too many requests from this network or for this application. Try again later.',
    remedy:
      'Wait for `Retry-After` seconds and repeat the request. Request a code only when a user starts the flow. If many devices share one address, or your server requests codes for all of them, contact the operator of the service. Polls never get this error.',
  },
  headers_too_large: {
    status: 431,
    standard: 'invalid_request',
    message: 'The request line or its headers are too large.',
    remedy: 'Send parameters in the form instead of the query string.',
  },
  server_error: {
    status: 500,
    standard: 'server_error',
    message: 'An internal error occurred. Try again.',
    remedy:
      'Repeat the request. If the error persists, send the `X-Request-Id` and the time of the request to the operator.',
  },
  unavailable: {
    status: 503,
    standard: 'temporarily_unavailable',
    message: 'The service is temporarily unavailable. Try again shortly.',
    remedy:
      'Wait for `Retry-After` seconds and repeat the request. A code that was created but not received expires by itself.',
  },
} as const satisfies Record<string, { status: number; standard: string; message: string; remedy: string }>

export type RefusalCode = keyof typeof refusals

/** Kinds of problems in SCIM (RFC 7644, section 3.12, table 9). */
export type ScimType = 'invalidFilter' | 'invalidSyntax' | 'invalidValue' | 'uniqueness'

/** A rejected request. Thrown anywhere, turned into a response in one place (http/respond.ts). */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode
  readonly scimType: ScimType | null

  /** `message` replaces the table's text where it can say more precisely what to fix. */
  constructor(code: RefusalCode, message: string = refusals[code].message, scimType: ScimType | null = null) {
    super(message)
    this.code = code
    this.scimType = scimType
  }
}
