/**
 * Errors of this library: one class with a closed set of codes. A message says what happened and what to do. No
 * message, stack, inspection or JSON of an error contains a secret, a code or a credential: the only parts of a request
 * or response in it are the service's error word and the request id, and the only parts of another error are those of
 * {@link Cause}.
 */
import type { Cause } from './cause.ts'

const MESSAGES = {
  auth_rejected: 'The user rejected the application. Ask again only when the user starts over.',
  code_expired: 'The code expired before the user decided. Tell the user, and let them ask for a new code.',
  code_used:
    'The code is not valid: its outcome was collected already, or application, secret, variant and code do not belong together. Start with a new code.',
  too_many_slow_downs:
    'The service asked three times to poll more slowly. Polling stopped, so that the application is not suspended; look for a second program that polls with the same code.',
  invalid_application: 'The service does not accept this application. Check appId and appSecret.',
  application_suspended:
    'The application is suspended pending review. Ask the operator of the service why; what users granted before goes on working.',
  invalid_scope: 'A scope is unknown or not allowed for this application. Ask only for what it was registered for.',
  invalid_request: 'The request is not one that the service understands.',
  too_many_requests: 'Too many requests. Wait for retryAfter seconds.',
  unavailable: 'The service cannot answer at the moment. Try again in a while.',
  network: 'The service could not be reached. Check the connection and baseUrl, then try again.',
  reauthorize: 'The access has ended: it was taken back or ran out. Ask the user to authorize the application again.',
  popup_blocked: 'The browser blocked the window. Open the dialog directly in the click, or use mode "redirect".',
  dialog_closed: 'The window was closed before the user decided.',
  state_mismatch: 'The answer does not belong to the dialog that was opened here. Start again.',
  access_denied: 'The user rejected the request. Ask again only when the user starts over.',
  wrong_issuer: 'The answer comes from another authorization server than the one that was asked. Start again.',
  secret_in_browser:
    'An application secret must not be in a browser, where everybody can read it. Register the application as public and leave appSecret out.',
  store: 'The store could not be read or written.',
  unexpected_answer: 'The answer is not one that Latchkey gives. Check baseUrl and any proxy in between.',
  not_authorized: 'There is no credential yet. Let the user authorize the application first.',
  lacks_scope: 'The credential does not carry the scope that this needs. Ask the user for it.',
} as const

/** Every code that a {@link LatchkeyError} can have. */
export type ErrorCode = keyof typeof MESSAGES

/** All codes, for programs that list them. */
export const ERROR_CODES: readonly ErrorCode[] = Object.keys(MESSAGES) as ErrorCode[]

export interface ErrorDetails {
  /** Replaces the default message of the code. Must not contain anything secret. */
  readonly message?: string | undefined
  /** The response's `x-request-id`, for the operator of the service. */
  readonly requestId?: string | undefined
  /** The service's own error word, the `error` of its response; sometimes more precise than the code. */
  readonly refusal?: string | undefined
  /** Seconds to wait before retrying. */
  readonly retryAfter?: number | undefined
  /** Name, code and system call of the platform's error behind `network` and `store`. Nothing else of it is kept. */
  readonly cause?: Cause | undefined
}

/** The only error that this library throws on purpose. */
export class LatchkeyError extends Error {
  override readonly name = 'LatchkeyError'
  readonly code: ErrorCode
  readonly requestId: string | undefined
  readonly refusal: string | undefined
  readonly retryAfter: number | undefined
  declare readonly cause: Cause | undefined

  constructor(code: ErrorCode, details: ErrorDetails = {}) {
    super(details.message ?? MESSAGES[code], details.cause ? { cause: details.cause } : undefined)
    this.code = code
    this.requestId = details.requestId
    this.refusal = details.refusal
    this.retryAfter = details.retryAfter
  }

  toJSON(): Record<string, unknown> {
    const { name, code, message, requestId, refusal, retryAfter, cause } = this
    return { name, code, message, requestId, refusal, retryAfter, cause }
  }
}

/**
 * Whether `error` is a {@link LatchkeyError}, with this code if one is given. Works across two copies of this package,
 * too.
 *
 * @example Tell the user what happened
 * ```ts
 * import { createClient, isLatchkeyError } from '@latchkey/sdk'
 *
 * const client = createClient({ baseUrl: 'https://service.example', appId: 'app_n61zbfpywkrj' })
 * try {
 *   await client.fetch('https://service.example/1/me')
 * } catch (error) {
 *   if (!isLatchkeyError(error, 'not_authorized')) throw error
 *   console.log('Connect this device first.')
 * }
 * ```
 */
export function isLatchkeyError(error: unknown, code?: ErrorCode): error is LatchkeyError {
  if (!(error instanceof Error) || error.name !== 'LatchkeyError') return false
  return code === undefined || (error as LatchkeyError).code === code
}
