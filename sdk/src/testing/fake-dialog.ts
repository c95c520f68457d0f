/**
 * Dialog of the fake: answers an authorization address as the user, and exchanges the code. docs/interface/dialog.md.
 */
import { type FakeAnswer, type FakeParameters, FakeRefused, required } from './fake-answer.ts'
import { authenticateForm, issue, remaining } from './fake-credentials.ts'
import { createGrant, type FakeDialogCode, type FakeWorld, randomText, resolveScopes } from './fake-world.ts'

const CODE_LIFETIME_MS = 60_000

/** How long an exchange with the same Idempotency-Key is answered again. */
const REPEAT_MS = 600_000

/** Returns the address to which the user's answer redirects. Throws if the service would show an error page. */
export function answerDialog(world: FakeWorld, address: string, decision: 'cancel' | readonly string[] | null): string {
  const { searchParams } = new URL(address)
  const redirectUri = searchParams.get('redirect_uri') ?? ''
  const problem = problemOf(world, searchParams, redirectUri)
  if (problem) throw new Error(`The dialog shows a page with a problem: ${problem}.`)
  const asked = resolveScopes(world, searchParams.get('scope') ?? undefined)
  const back = new URL(redirectUri)
  const state = searchParams.get('state')
  if (decision === 'cancel') back.searchParams.set('error', 'access_denied')
  else {
    const code = `lkc_0000${randomText(44)}`
    const scopes = decision ? asked.filter((name) => decision.includes(name)) : asked
    world.dialogCodes.set(code, {
      grant: createGrant(world, 'token_set', scopes),
      redirectUri,
      challenge: searchParams.get('code_challenge'),
      state: state ?? '',
      expiresAt: world.now() + CODE_LIFETIME_MS,
      used: false,
      delivered: null,
    })
    back.searchParams.set('code', code)
  }
  if (state !== null) back.searchParams.set('state', state)
  back.searchParams.set('iss', world.baseUrl)
  return back.href
}

function problemOf({ application, suspended }: FakeWorld, asked: URLSearchParams, redirectUri: string): string | null {
  if (asked.get('client_id') !== application.id) return 'the application is not known'
  if (!isRegistered(application.redirectUris, redirectUri)) return 'the redirect address is not registered'
  if (suspended) return 'the application is suspended'
  if (asked.get('response_type') !== 'code') return 'response_type is not code'
  const [challenge, method] = [asked.get('code_challenge'), asked.get('code_challenge_method')]
  // PKCE is optional for an application with a secret, and required for a public one and for loopback addresses.
  const pkceOptional = application.secret !== '' && !LOOPBACK.test(redirectUri)
  if (challenge === null && method === null && pkceOptional) return null
  return method === 'S256' && challenge?.length === 43 ? null : 'there is no code_challenge of the kind S256'
}

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?(?=\/)/

/** To the letter, except for the port of a loopback address (RFC 8252, section 7.3). */
function isRegistered(registered: readonly string[], requested: string): boolean {
  const portless = (uri: string) => uri.replace(LOOPBACK, 'http://$1')
  const canonical = URL.parse(requested)?.href === requested && !requested.includes('#')
  return registered.includes(requested) || (canonical && registered.map(portless).includes(portless(requested)))
}

/**
 * Exchanges a code. The same exchange gets the same answer for ten minutes if it repeats its Idempotency-Key. Any other
 * replayed, expired or mismatched code revokes the grant.
 */
export async function exchange(world: FakeWorld, parameters: FakeParameters, request: Request): Promise<FakeAnswer> {
  authenticateForm(world, parameters)
  const code = world.dialogCodes.get(required(parameters, 'code'))
  const redirectUri = required(parameters, 'redirect_uri')
  const verifier = parameters.get('code_verifier')
  const challenge = verifier === undefined ? null : await challengeOf(verifier)
  if (!code) throw new FakeRefused('invalid_grant')
  const key = request.headers.get('idempotency-key')
  const { delivered, grant } = code
  const same = code.redirectUri === redirectUri && code.challenge === challenge
  if (delivered && key !== null && delivered.key === key && same && world.now() < delivered.at + REPEAT_MS) {
    const left = remaining(world, delivered.fields, delivered.at)
    if (grant.revoked || grant.generation !== 1 || left.expires_in === 0) throw new FakeRefused('invalid_grant')
    return { fields: left }
  }
  if (
    verifier === undefined &&
    code.challenge !== null &&
    !code.used &&
    fits(world, code, redirectUri, code.challenge)
  ) {
    throw new FakeRefused('invalid_request')
  }
  if (code.used || !fits(world, code, redirectUri, challenge)) {
    code.used = true
    code.grant.revoked = true
    throw new FakeRefused('invalid_grant')
  }
  code.used = true
  const fields = { ...issue(world, grant), state: code.state }
  code.delivered = { key, fields, at: world.now() }
  return { fields }
}

function fits(world: FakeWorld, code: FakeDialogCode, redirectUri: string, challenge: string | null): boolean {
  return world.now() < code.expiresAt && code.redirectUri === redirectUri && code.challenge === challenge
}

/** The S256 challenge of a verifier (RFC 7636, section 4.2). */
async function challengeOf(verifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const text = btoa(String.fromCharCode(...new Uint8Array(digest)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
