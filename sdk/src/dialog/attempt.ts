/** One attempt of the dialog: its random values, its address, and the check that a response belongs to it. */
import { LatchkeyError } from '../errors.ts'
import { wordOf } from '../wire.ts'
import type { Page } from './page.ts'

/** Where the code is exchanged: on this page, or on the application's server, which has the secret. */
export type Exchanger = 'here' | 'server'

export type Attempt = {
  readonly state: string
  /** PKCE verifier (RFC 7636): a stolen code is useless without it. */
  readonly verifier: string
  readonly redirectUri: string
  readonly exchange: Exchanger
  /** Address of the page that opened the dialog. */
  readonly returnTo: string
}

export function createAttempt(redirectUri: string, exchange: Exchanger, returnTo: string): Attempt {
  return { state: randomText(), verifier: randomText(), redirectUri, exchange, returnTo }
}

/** Builds the authorization URL. docs/interface/dialog.md. */
export async function addressOf(
  attempt: Attempt,
  asked: { readonly baseUrl: string; readonly appId: string; readonly scope: string | undefined },
): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(attempt.verifier))
  const query = new URLSearchParams({
    client_id: asked.appId,
    response_type: 'code',
    redirect_uri: attempt.redirectUri,
    state: attempt.state,
    code_challenge: encode(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  })
  if (asked.scope !== undefined) query.set('scope', asked.scope)
  return `${asked.baseUrl}/1/auth/oauth/authorize?${query}`
}

function randomText(): string {
  return encode(crypto.getRandomValues(new Uint8Array(32)))
}

function encode(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** The query parameters with which the dialog redirected back. */
export type Returned = URLSearchParams

/**
 * Returns the code after checking that the response belongs to this attempt, comes from this service and is a grant.
 * Throws otherwise.
 */
export function readCode(attempt: Attempt, returned: Returned, baseUrl: string): string {
  if (returned.get('state') !== attempt.state) throw new LatchkeyError('state_mismatch')
  // RFC 9207, section 2.4: check the issuer before trusting anything else in the response, errors included.
  if (returned.get('iss')?.replace(/\/+$/, '') !== baseUrl) throw new LatchkeyError('wrong_issuer')
  const refusal = returned.get('error')
  if (refusal !== null) throw refusedDialog(wordOf(refusal))
  const code = returned.get('code')
  if (code) return code
  throw new LatchkeyError('unexpected_answer', { message: 'The dialog returned without a code.' })
}

function refusedDialog(refusal: string | undefined): LatchkeyError {
  if (refusal === 'access_denied' || refusal === 'invalid_scope') return new LatchkeyError(refusal, { refusal })
  return new LatchkeyError('invalid_request', {
    refusal,
    message: 'The dialog refused the request; its page said why. Check the redirect address and the scopes.',
  })
}

const STORAGE_PREFIX = 'latchkey.dialog.'

/** Stores the attempt across the redirect of this window, which discards all other state. */
export function storeAttempt({ sessionStorage }: Page, attempt: Attempt): void {
  try {
    sessionStorage.setItem(STORAGE_PREFIX + attempt.state, JSON.stringify(attempt))
  } catch {
    throw new LatchkeyError('store', { message: 'The browser does not let this page use sessionStorage.' })
  }
}

/** Reads and removes the attempt: a repeated response finds none. */
export function takeAttempt({ sessionStorage }: Page, state: string): Attempt | null {
  try {
    const kept = sessionStorage.getItem(STORAGE_PREFIX + state)
    sessionStorage.removeItem(STORAGE_PREFIX + state)
    return kept === null ? null : (JSON.parse(kept) as Attempt)
  } catch {
    return null
  }
}
