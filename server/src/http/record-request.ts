/**
 * Usage recorder: counts requests for the developer of the application they name. Pending polls are counted elsewhere.
 */
import { NO_APPLICATION } from '../flows/applications/usage-counters.ts'
import type { Context } from '../flows/context.ts'
import type { Answer } from './answer.ts'
import { claimedApplication } from './grants/application-fields.ts'
import type { FormFields } from './parameters.ts'
import type { ApiRequest, Endpoint } from './route.ts'
import { readClient } from './standard/client.ts'

/** Answers that are not recorded: every polling device gets them every few seconds. */
const PENDING: readonly unknown[] = ['auth_pending', 'slow_down']

const MAX_MESSAGE_LENGTH = 300

/** Runs after the response is under way. `readQuery`: null if the query has no secret for sure. Throws a Refusal. */
export function recordRequest(
  context: Context,
  route: Endpoint,
  request: ApiRequest,
  readQuery: (() => FormFields) | null,
  answer: Answer,
): void {
  const refusal = 'refusal' in answer ? answer.refusal : null
  const pending = PENDING.includes(refusal)
  if (!namesItsCaller(route) || (pending && !readQuery)) return
  try {
    const { applicationId: claimed, secret } = readClaimedApplication(route, request)
    if (!claimed) return
    // A public application has no secret, so every request in its name counts as authenticated. All steps are taken for
    // an unknown application as well: on a busy machine the client notices how long the server works after its response.
    const authenticated = context.applications.authenticate(claimed, secret) !== null
    const inUrl = readQuery !== null && isSecretIn(context, readable(readQuery), claimed)
    const applicationId = context.applications.find(claimed) ? claimed : NO_APPLICATION
    if (inUrl && applicationId !== NO_APPLICATION) context.usage.count(applicationId, 'secretsInUrl')
    if (pending) return
    // The message about scopes repeats what the client sent, and nothing of that is stored.
    const told = 'message' in answer && refusal !== 'invalid_scope' ? answer.message : undefined
    const message = told?.slice(0, MAX_MESSAGE_LENGTH) ?? null
    const at = context.applications.now()
    context.usage.note({ applicationId, at, authenticated, operation: route.operation.id, refusal, message })
  } catch (error) {
    context.events.unexpected('usage', error)
  }
}

function namesItsCaller({ method, dialect, operation }: Endpoint): boolean {
  // A management key is no application.
  if (method !== 'POST' || dialect === 'manage' || dialect === 'scim') return false
  // A credential is reported by a third party who found it; an application named in that request is not its caller.
  return operation.id !== 'reportCredential'
}

type ClaimedApplication = { readonly applicationId: string | null; readonly secret: string | null }

/**
 * The application that a request claims to come from. Also read when the rest of the request is malformed: those are
 * the errors that its developer will look for.
 */
function readClaimedApplication(route: Endpoint, request: ApiRequest): ClaimedApplication {
  const asked = route.dialect === 'standard' ? readable(() => readClient(request)) : null
  return asked?.client ?? claimedApplication(readable(request.parameters) ?? readable(request.form) ?? NOTHING)
}

/** Only a valid secret counts: an invalid one leaks nothing, and anyone can send one. */
function isSecretIn(context: Context, query: FormFields | null, applicationId: string): boolean {
  return SECRETS.some((name) => {
    const secret = query?.get(name)
    return secret !== undefined && context.applications.authenticate(applicationId, secret) !== null
  })
}

const NOTHING: FormFields = new Map()

const SECRETS: readonly string[] = ['SVCsecret', 'client_secret']

function readable<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
