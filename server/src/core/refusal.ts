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
    remedy: 'Nothing is wrong. Poll again after `interval` seconds; `Retry-After` repeats the number.',
  },
  slow_down: {
    status: 400,
    standard: 'slow_down',
    message: 'Polling is faster than the interval allows. Wait for the interval between polls.',
    remedy:
      'Wait `interval` seconds between polls. The early poll did not move the clock, and the interval has not grown. An application that keeps ignoring this may be suspended pending review.',
  },
  auth_expired: {
    status: 400,
    standard: 'expired_token',
    message: 'The code expired before the user authorized it. Tell the user, and let them ask for a new code.',
    remedy: 'Tell the user and offer a new code. Do not request one without the user asking for it.',
  },
  auth_rejected: {
    status: 400,
    standard: 'access_denied',
    message: 'The user rejected the application.',
    remedy: 'Stop polling. Ask again only when the user starts over.',
  },
  invalid: {
    status: 400,
    standard: 'invalid_grant',
    message: 'The code is not valid: it was used already, or the request does not fit it.',
    remedy:
      'The outcome was already delivered, or the application id, secret, device code and path do not belong together. Nothing was changed. Check the four against the code request; otherwise start with a new code.',
  },
  invalid_request: {
    status: 400,
    standard: 'invalid_request',
    message: 'The request is malformed.',
    remedy:
      'A required parameter is missing, a name is given twice, or a value cannot be read. The message says which.',
  },
  invalid_scope: {
    status: 400,
    standard: 'invalid_scope',
    message: 'The scope is unknown or not allowed for this application.',
    remedy:
      'Ask only for scopes in the application’s allowed set, or leave `scope` out to get its default set. Without `scope`, it is that set which cannot be granted: its owner has to change it.',
  },
  invalid_grant: {
    status: 400,
    standard: 'invalid_grant',
    message: 'The code, token or key is not valid, not any more, or not for this application.',
    remedy:
      'A code is exchanged once, within a minute, with the same redirect address and its own verifier. Of refresh tokens only the newest counts; an older one ends the access, because somebody may have stolen it. Otherwise the user took the access back or it ran out: ask the user again.',
  },
  unsupported_grant_type: {
    status: 400,
    standard: 'unsupported_grant_type',
    message: 'This grant_type is not known here.',
    remedy:
      'Use `authorization_code`, `refresh_token` or `urn:ietf:params:oauth:grant-type:device_code`. Only the standard dialect looks at it.',
  },
  unsupported_response_type: {
    status: 400,
    standard: 'unsupported_response_type',
    message: 'The response_type must be code.',
    remedy: 'Send `response_type=code`; there is no other.',
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
    message: 'The credential is missing, or it is not valid any more.',
    remedy:
      'Send the access token or the access key as `Authorization: Bearer …`, nowhere else. If it has expired, renew it; if the user took the access back, ask the user again.',
  },
  insufficient_scope: {
    status: 403,
    standard: 'insufficient_scope',
    message: 'The credential does not carry the permission that this needs.',
    remedy:
      'Ask the user for the scope. If they granted it, they may have lost it since: `GET /1/me` says what the credential carries now.',
  },
  application_suspended: {
    status: 403,
    standard: 'unauthorized_client',
    message:
      'The application is suspended pending review. Codes that were granted before and issued credentials go on working; nothing else can be granted until the review has ended.',
    remedy:
      'New codes and dialogs are refused, and a code that no user has granted yet cannot be granted, until an operator has reviewed the application and restored it. Ask the operator of the service why.',
  },
  device_flow_disabled: {
    status: 403,
    standard: 'unauthorized_client',
    message: 'The device flow is not enabled for this application.',
    remedy:
      'The application was registered without the device flow. Switch it on in the settings of the developer console.',
  },
  test_mode_off: {
    status: 403,
    standard: 'unauthorized_client',
    message: 'The application is not in test mode, so its codes are decided by people.',
    remedy:
      'Switch test mode on in the developer console. While it is on, nobody can enter the codes of the application on a page.',
  },
  not_found: {
    status: 404,
    standard: 'invalid_request',
    message: 'There is nothing at this address.',
    remedy: 'Check the path; `/reference` lists every one. Paths are case-sensitive and have no trailing slash.',
  },
  method_not_allowed: {
    status: 405,
    standard: 'invalid_request',
    message: 'This method is not allowed here.',
    remedy: 'The `Allow` header says which method is. Device flow requests use POST.',
  },
  payload_too_large: {
    status: 413,
    standard: 'invalid_request',
    message: 'The request body is too large.',
    remedy: 'A request needs less than 16 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    standard: 'invalid_request',
    message: 'Send parameters as application/x-www-form-urlencoded or multipart/form-data, in UTF-8.',
    remedy: 'JSON and XML bodies are not read. Parameters go into the form or the query.',
  },
  misdirected: {
    status: 421,
    standard: 'invalid_request',
    message: 'This page lives at the address of an account, in front of this host.',
    remedy:
      'Put the account in front: the page of `acme` is at `acme.` and this host, spelled as in PUBLIC_URL, port included.',
  },
  too_many_requests: {
    status: 429,
    // No RFC defines a code for it. RFC 9126, section 2.3, has the status; this is the nearest code of RFC 6749
    // (section 4.1.2.1).
    standard: 'temporarily_unavailable',
    message: 'Too many requests from this network or for this application. Try again later.',
    remedy:
      'Wait for `Retry-After` seconds and repeat the request. Ask for a code when somebody wants one, not again and again. Where many devices share one address, or your own server asks for all of them, tell the operator of the service. Polls are never answered like this.',
  },
  headers_too_large: {
    status: 431,
    standard: 'invalid_request',
    message: 'The request line or its headers are too large.',
    remedy: 'Send parameters in the form instead of the query.',
  },
  server_error: {
    status: 500,
    standard: 'server_error',
    message: 'Something went wrong on our side. Try again.',
    remedy: 'Repeat the request. If it stays, tell the operator the time of the request.',
  },
  unavailable: {
    status: 503,
    standard: 'temporarily_unavailable',
    message: 'The service cannot do this at the moment. Try again shortly.',
    remedy: 'Wait for `Retry-After` seconds and repeat the request. A code that was placed in vain expires by itself.',
  },
} as const satisfies Record<string, { status: number; standard: string; message: string; remedy: string }>

export type RefusalCode = keyof typeof refusals

/** A rejected request. Thrown anywhere, turned into a response in one place (http/respond.ts). */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: RefusalCode

  /** `message` replaces the table's text where it can say more precisely what to fix. */
  constructor(code: RefusalCode, message: string = refusals[code].message) {
    super(message)
    this.code = code
  }
}
