/** Errors of the client library, reworded for the user of the command line: what happened, and what to do now. */
import { isLatchkeyError, type LatchkeyError } from '@latchkey/sdk'
import type { ChosenApplication } from './client-settings.ts'
import { CommandRefused, EXPIRED, INTERRUPTED, NOT_LOGGED_IN, REJECTED, UNREACHABLE } from './output.ts'

type Explained = readonly [words: string, status: number]

/** Returns any other error unchanged: it is a CommandRefused already, or a bug. */
export function explainRefusal(error: unknown, chosen: ChosenApplication): unknown {
  if (error instanceof DOMException && error.name === 'AbortError')
    return new CommandRefused('Interrupted.', INTERRUPTED)
  if (!isLatchkeyError(error)) return error
  const [words, status] = explain(error, chosen)
  const request = error.requestId ? ` (Request id for the operator: ${error.requestId}.)` : ''
  return new CommandRefused(`${words}${request}`, status)
}

function explain(error: LatchkeyError, { server, application, secret }: ChosenApplication): Explained {
  const later = error.retryAfter ? `in ${error.retryAfter} seconds` : 'in a while'
  switch (error.code) {
    case 'auth_rejected':
    case 'access_denied':
      return ['The user who entered the code rejected the request. Nothing was stored on this machine.', REJECTED]
    case 'code_expired':
      return ['The code expired before it was entered and decided. Run "latchkey login" for a new one.', EXPIRED]
    case 'code_used':
      return [
        'The code is no longer valid: another program has collected its outcome. Run "latchkey login" for a new one.',
        1,
      ]
    case 'too_many_slow_downs':
      return [
        'The service rejected three polls as too early, so this command stopped: another program uses the same code. End it, then run "latchkey login" again.',
        1,
      ]
    case 'too_many_requests':
      return [`The service receives too many requests from your network. Try again ${later}.`, UNREACHABLE]
    case 'network':
      return [
        `${server} could not be reached${faultOf(error)}. Check the URL and your connection, then try again.`,
        UNREACHABLE,
      ]
    case 'unavailable':
      return [`The service at ${server} is temporarily unavailable. Try again ${later}.`, UNREACHABLE]
    case 'unexpected_answer':
      return [`The server at ${server} does not respond like Latchkey. Check the URL.`, UNREACHABLE]
    case 'reauthorize':
    case 'not_authorized':
      return ['The access was revoked or has expired. Run "latchkey login" again.', NOT_LOGGED_IN]
    case 'invalid_application':
      return [explainNoApplication(error, application, secret), 1]
    case 'application_suspended':
      return [`The application ${application} is suspended pending review. Contact the operator of the service.`, 1]
    case 'invalid_scope':
      return [
        `${application} may not request all of this scope. Request less with --scope, or omit it for the default scope.`,
        1,
      ]
    default:
      return [error.message, 1]
  }
}

/** The system's error code, which the library puts in parentheses. */
function faultOf({ message }: LatchkeyError): string {
  const [, fault] = /reached \(([^)]+)\)/.exec(message) ?? []
  return fault ? ` (${fault})` : ''
}

function explainNoApplication({ refusal }: LatchkeyError, application: string, secret: string | undefined): string {
  if (refusal === 'device_flow_disabled' || refusal === 'unauthorized_client') {
    return `${application} is not registered for the device flow, or it is suspended. Its developer can check this in the developer console.`
  }
  if (secret) return `The service does not accept ${application} with this secret. Check the id and the secret.`
  return `The service does not accept ${application} without a secret. Check the id. If the application has a secret, set it in LATCHKEY_SECRET, in the file named by LATCHKEY_SECRET_FILE, or with --secret-stdin.`
}
