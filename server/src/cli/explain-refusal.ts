/** Errors of the client library, reworded for the user of the command line: what happened, and what to do now. */
import { isLatchkeyError, type LatchkeyError } from '@latchkey/sdk'
import type { ChosenApplication } from './client-settings.ts'
import { CommandRefused, EXPIRED, INTERRUPTED, NOT_LOGGED_IN, REJECTED, UNREACHABLE } from './output.ts'

type Explained = readonly [words: string, status: number]

/** Returns any other error unchanged: it is a CommandRefused already, or a bug. */
export function explainRefusal(error: unknown, chosen: ChosenApplication): unknown {
  if (!isLatchkeyError(error)) return error
  const [words, status] = explain(error, chosen)
  const request = error.requestId ? ` (Request ${error.requestId}, for whoever runs the service.)` : ''
  return new CommandRefused(`${words}${request}`, status)
}

function explain(error: LatchkeyError, { server, application, secret }: ChosenApplication): Explained {
  const later = error.retryAfter ? `in ${error.retryAfter} seconds` : 'in a while'
  switch (error.code) {
    case 'auth_rejected':
    case 'access_denied':
      return ['The answer was no: whoever entered the code did not allow it. Nothing was kept here.', REJECTED]
    case 'code_expired':
      return ['The code ran out before anybody decided. Run "latchkey login" for a new one.', EXPIRED]
    case 'code_used':
      return [
        'The code is no longer valid: something else collected its outcome. Run "latchkey login" for a new one.',
        1,
      ]
    case 'too_many_slow_downs':
      return [
        'The service said three times that it is asked too often, so waiting ended here: another program uses the same code. End it, then run "latchkey login" again.',
        1,
      ]
    case 'too_many_requests':
      return [`The service gets too many requests from your network. Try again ${later}.`, UNREACHABLE]
    case 'network':
      return [
        `${server} could not be reached${faultOf(error)}. Check the address and your connection, then try again.`,
        UNREACHABLE,
      ]
    case 'unavailable':
      return [`The service at ${server} cannot answer at the moment. Try again ${later}.`, UNREACHABLE]
    case 'unexpected_answer':
      return [`What answers at ${server} does not answer as Latchkey does. Check the address.`, UNREACHABLE]
    case 'reauthorize':
    case 'not_authorized':
      return ['The access has ended: it was taken back, or it ran out. Run "latchkey login" again.', NOT_LOGGED_IN]
    case 'invalid_application':
      return [explainNoApplication(error, application, secret), 1]
    case 'application_suspended':
      return [`The application ${application} is suspended pending review. Ask whoever runs the service why.`, 1]
    case 'invalid_scope':
      return [
        `${application} may not ask for all of this scope. Ask for less with --scope, or leave it out for the usual one.`,
        1,
      ]
    case 'aborted':
      return ['Ended.', INTERRUPTED]
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
    return `${application} is not registered for the device flow, or it is suspended. Its developer finds that in the console.`
  }
  if (secret) return `The service does not accept ${application} with this secret. Check both.`
  return `The service does not accept ${application} without a secret. Check the id; if the application has a secret, give it in LATCHKEY_SECRET, in the file named by LATCHKEY_SECRET_FILE, or with --secret-stdin.`
}
