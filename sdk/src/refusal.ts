/** Mapping from the service's error words to the errors of this library. docs/interface.md, "Errors". */
import { type ErrorCode, LatchkeyError } from './errors.ts'
import { type Answer, wordOf } from './wire.ts'

const CODES: Readonly<Record<string, ErrorCode>> = {
  auth_rejected: 'auth_rejected',
  auth_expired: 'code_expired',
  invalid: 'code_used',
  invalid_application: 'invalid_application',
  device_flow_disabled: 'invalid_application',
  application_suspended: 'application_suspended',
  invalid_scope: 'invalid_scope',
  insufficient_scope: 'lacks_scope',
  invalid_credential: 'reauthorize',
  invalid_request: 'invalid_request',
  not_found: 'unexpected_answer',
  method_not_allowed: 'unexpected_answer',
  // The names of the standard dialect.
  invalid_client: 'invalid_application',
  unauthorized_client: 'invalid_application',
  access_denied: 'access_denied',
  expired_token: 'code_expired',
  invalid_token: 'reauthorize',
}

const MESSAGES: Readonly<Record<string, string>> = {
  device_flow_disabled: 'The application is not registered for the device flow. Switch it on in the developer console.',
  unauthorized_client:
    'The application may not do this: it is suspended pending review, or not registered for the device flow. Look into the developer console.',
}

/**
 * The error for a refusal. `codes` overrides the meaning of a word for one endpoint. The service's own message is
 * passed on only for malformed requests, where it names the field, and with the sent values removed.
 */
export function refused(
  answer: Answer,
  sent: Sent = {},
  codes: Readonly<Record<string, ErrorCode>> = {},
): LatchkeyError {
  const refusal = wordOf(answer.body.error)
  const code =
    codes[refusal ?? ''] ?? CODES[refusal ?? ''] ?? (answer.status < 400 ? 'unexpected_answer' : 'invalid_request')
  const { requestId, retryAfter } = answer
  const said = code === 'invalid_request' ? messageOf(answer, sent) : undefined
  return new LatchkeyError(code, { requestId, retryAfter, refusal, message: said ?? MESSAGES[refusal ?? ''] })
}

/** The form fields of the request. */
type Sent = Readonly<Record<string, string | undefined>>

function messageOf({ body }: Answer, sent: Sent): string | undefined {
  const said = body.message ?? body.error_description
  if (typeof said !== 'string') return undefined
  let quoted = said.slice(0, 300).replace(/\blk[a-z]_[\w-]+/g, '…')
  for (const value of Object.values(sent)) if (value && value.length > 3) quoted = quoted.replaceAll(value, '…')
  return `The service refused the request: ${quoted}`
}
