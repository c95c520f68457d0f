/**
 * Authorization requests: an application opens the dialog, or pushes the request first (RFC 9126).
 * docs/interface/dialog.md.
 *
 * Two kinds of refusal: until the redirect URI is known to be registered for the application, nothing may lead to it.
 * After that the error can be returned there, but only when the user presses a button (RFC 9700 §4.11.2).
 */
import { randomUUID } from 'node:crypto'
import type { Application } from '../../core/applications/application.ts'
import { DIALOG_LIFETIME_MS } from '../../core/dialog/dialog.ts'
import { isLoopbackRedirect, isRegisteredRedirect } from '../../core/dialog/redirect-uri.ts'
import { BAD_RESOURCE, isResource } from '../../core/dialog/resource.ts'
import { stateProblem } from '../../core/dialog/state.ts'
import { resolveRequested, scopesNotAllowed } from '../../core/grants/scope.ts'
import { networkOf } from '../../core/network.ts'
import { UNKNOWN_NETWORK } from '../../gate/limiter.ts'
import { digestBrowserMark, signPushedRequest, verifyPushedRequest } from '../../secrets/dialog-texts.ts'
import { isCodeChallenge } from '../../secrets/pkce.ts'
import { insertDialog, openInBrowser } from '../../store/dialog/dialogs.ts'
import type { Context } from '../context.ts'

export type DialogRequest = {
  readonly applicationId: string
  readonly redirectUri: string | null
  readonly responseType: string | null
  readonly scope: string | null
  readonly state: string | null
  readonly codeChallenge: string | null
  readonly codeChallengeMethod: string | null
  readonly responseMode: string | null
  /** Checked for its form only (RFC 8707). */
  readonly resource: string | null
  readonly requestedFrom: string | null
  /** The application has proved that it is itself, by its secret. */
  readonly proven: boolean
}

export type Opened = { readonly outcome: 'opened'; readonly dialogId: string }

/** An error for the application's developer, with the codes of RFC 6749 §4.1.2.1. */
export type DialogRefusal = {
  readonly outcome: 'refused'
  readonly application: Application
  readonly redirectUri: string
  readonly state: string | null
  readonly error: 'invalid_request' | 'invalid_scope' | 'invalid_target' | 'unsupported_response_type'
  readonly reason: string
}

/** A parameter is missing or cannot be used, so that not even the error may be returned. */
export type Malformed = {
  readonly outcome: 'malformed'
  readonly application: Application | null
  readonly reason: string
}

const NO_CLIENT: Malformed = { outcome: 'malformed', application: null, reason: 'The parameter client_id is missing.' }

export type OpenDialogResult =
  | Opened
  | DialogRefusal
  | { readonly outcome: 'unknown_application' }
  /** Rate limit of this network. */
  | { readonly outcome: 'too_many_requests'; readonly waitMs: number }
  /** Rejected under overload. */
  | { readonly outcome: 'shed' }
  | Malformed
  | { readonly outcome: 'not_set_up' | 'redirect_not_registered' | 'suspended'; readonly application: Application }

export async function openDialog(context: Context, request: DialogRequest): Promise<OpenDialogResult> {
  const { limiter, load } = context
  if (load.sheds('dialog')) return { outcome: 'shed' }
  const network = networkOf(request.requestedFrom)
  const limited = await limiter.dialog(network)
  if (!limited.passed) return { outcome: 'too_many_requests', waitMs: limited.waitMs }
  if (request.applicationId === '') return NO_CLIENT
  const application = context.applications.find(request.applicationId)
  if (!application || application.deleted) return { outcome: 'unknown_application' }
  if (application.redirectUris.length === 0) return { outcome: 'not_set_up', application }
  const { redirectUri } = request
  const malformed = (reason: string) => ({ outcome: 'malformed', application, reason }) as const
  if (redirectUri === null) return malformed('The parameter redirect_uri is missing.')
  if (!isRegisteredRedirect(application.redirectUris, redirectUri)) {
    return { outcome: 'redirect_not_registered', application }
  }
  if (application.suspended) return { outcome: 'suspended', application }
  const { state, codeChallenge } = request
  const problemOfState = state && stateProblem(state)
  if (problemOfState) return malformed(problemOfState)

  const refused = (error: DialogRefusal['error'], reason: string): DialogRefusal => {
    return { outcome: 'refused', application, redirectUri, state, error, reason }
  }
  if (request.responseType === null)
    return refused('invalid_request', 'The parameter response_type is missing; it must be code.')
  if (request.responseType !== 'code') return refused('unsupported_response_type', 'response_type must be code.')
  if (request.responseMode !== null && request.responseMode !== 'query') {
    return refused('invalid_request', 'response_mode must be query, or left out.')
  }
  if (request.resource !== null && !isResource(request.resource)) return refused('invalid_target', BAD_RESOURCE)
  const pkceRequired = application.pkceRequired || isLoopbackRedirect(redirectUri)
  const problem = challengeProblem(pkceRequired, request)
  if (problem) return refused('invalid_request', problem)
  const requested = resolveRequested(request.scope, application)
  if (requested.answer === 'not_allowed') {
    return refused(
      'invalid_scope',
      scopesNotAllowed(requested.names, request.proven ? application.allowedScopes : null),
    )
  }

  const dialogId = randomUUID()
  const queueKey = { applicationId: application.id, network: network ?? UNKNOWN_NETWORK }
  const opened = await load.enqueue(queueKey, () =>
    insertDialog(context.db, {
      id: dialogId,
      applicationId: application.id,
      redirectUri,
      scopes: requested.scopes,
      state,
      codeChallenge,
      lifetimeMs: DIALOG_LIFETIME_MS,
    }),
  )
  return opened === 'shed' ? { outcome: 'shed' } : { outcome: 'opened', dialogId }
}

/** RFC 7636 §4.3. Rejects `plain`: an attacker who saw the authorization URL would know the verifier. */
function challengeProblem(pkceRequired: boolean, request: DialogRequest): string | null {
  const { codeChallenge, codeChallengeMethod } = request
  if (codeChallenge === null) {
    if (codeChallengeMethod !== null) return 'code_challenge_method is given without code_challenge.'
    return pkceRequired ? 'code_challenge is missing; this application must use PKCE with S256.' : null
  }
  if (codeChallengeMethod !== 'S256') return 'code_challenge_method must be S256.'
  return isCodeChallenge(codeChallenge) ? null : 'code_challenge must be 43 base64url characters.'
}

/** Time for the application to open the window. */
export const PUSHED_LIFETIME_MS = 90_000

export function pushedReference(context: Context, dialogId: string, applicationId: string): string {
  const expiresAt = context.applications.now() + PUSHED_LIFETIME_MS
  return signPushedRequest(context.config.keys, dialogId, expiresAt, applicationId)
}

/**
 * Opens a pushed request. All other parameters of the URL are ignored. Only the browser that opened it first can open it
 * again, by reloading the page (RFC 9126 §4).
 */
export async function openPushed(
  context: Context,
  applicationId: string,
  reference: string,
  browserMark: string,
): Promise<Opened | Malformed | { readonly outcome: 'unknown_application' | 'expired' }> {
  if (applicationId === '') return NO_CLIENT
  const application = context.applications.find(applicationId)
  if (!application || application.deleted) return { outcome: 'unknown_application' }
  const pushed = verifyPushedRequest(context.config.keys, reference, applicationId)
  if (!pushed || context.applications.now() >= pushed.expiresAt) return { outcome: 'expired' }
  const opened = await openInBrowser(context.db, pushed.id, digestBrowserMark(browserMark))
  return opened ? { outcome: 'opened', dialogId: pushed.id } : { outcome: 'expired' }
}
