/**
 * `fetch` with the credential. On a 401 it renews the token and repeats the request once. It follows redirects itself,
 * so that the credential goes only to the origin that was requested.
 */
import { unlessAborted } from './abort.ts'
import { bearerOf, type Credentials } from './credentials.ts'
import { LatchkeyError } from './errors.ts'
import type { Tokens } from './tokens.ts'
import { isSecure } from './wire.ts'

type Fetch = typeof globalThis.fetch
type Input = string | URL | Request

const MAX_REDIRECTS = 10

interface AuthorizedFetchOptions {
  readonly fetch?: Fetch | undefined
  readonly allowInsecureRequests?: boolean | undefined
}

export function authorizedFetch(
  tokens: Tokens,
  { fetch, allowInsecureRequests = false }: AuthorizedFetchOptions,
): (input: Input, init?: RequestInit) => Promise<Response> {
  const send: Fetch = fetch ?? ((input, init) => globalThis.fetch(input, init))

  return async (input, init = {}) => {
    if (!allowInsecureRequests && !isSecure(addressOf(input))) throw insecure()
    const credentials = await unlessAborted(tokens.fresh, signalOf(input, init))
    const response = await sendWithCredential(send, input, init, credentials)
    if (response.status !== 401 || !canRepeat(input, init)) return response
    const renewed = await unlessAborted(() => tokens.afterRefusal(credentials), signalOf(input, init))
    if (!renewed) return response
    await response.body?.cancel()
    return sendWithCredential(send, input, init, renewed)
  }
}

function addressOf(input: Input): URL {
  return new URL(input instanceof Request ? input.url : input, globalThis.location?.href)
}

/** A body that is a stream was consumed by the first attempt and cannot be sent again. */
function canRepeat(input: Input, init: RequestInit): boolean {
  const body = init.body ?? (input instanceof Request ? input.body : null)
  return !(body instanceof ReadableStream)
}

function signalOf(input: Input, init: RequestInit): AbortSignal | null | undefined {
  return init.signal ?? (input instanceof Request ? input.signal : null)
}

async function sendWithCredential(
  send: Fetch,
  input: Input,
  init: RequestInit,
  credentials: Credentials,
): Promise<Response> {
  const asked = init.redirect ?? (input instanceof Request ? input.redirect : 'follow')
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
  headers.set('authorization', `Bearer ${bearerOf(credentials)}`)
  const signal = signalOf(input, init)
  let [target, request]: [Input, RequestInit] = [input, signal ? { ...init, headers, signal } : { ...init, headers }]
  for (let hops = 0; ; hops += 1) {
    const response = await send(target, { ...request, redirect: asked === 'follow' ? 'manual' : asked })
    if (asked !== 'follow' || !isRedirect(response)) return response
    await response.body?.cancel()
    const from = addressOf(target)
    const location = response.headers.get('location')
    const to = location !== null && URL.canParse(location, from.href) ? new URL(location, from.href) : null
    if (!to || to.origin !== from.origin || hops === MAX_REDIRECTS) throw notFollowed(to)
    const method = request.method ?? (target instanceof Request ? target.method : 'GET')
    if (!/^(GET|HEAD)$/i.test(method)) throw notFollowed(to)
    ;[target, request] = [to.href, { ...request, method }]
  }
}

/** In browsers a redirect is `opaqueredirect`, which hides its target. */
function isRedirect(response: Response): boolean {
  return response.type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(response.status)
}

function insecure(): LatchkeyError {
  return new LatchkeyError('invalid_request', {
    message: 'A credential is sent by https only, except to this machine. Use the https address of the API.',
  })
}

function notFollowed(to: URL | null): LatchkeyError {
  const where = to ? ` to ${to.origin}` : ''
  return new LatchkeyError('unexpected_answer', {
    message: `The API answered with a redirect${where} that is not followed with a credential. Ask for the final address.`,
  })
}
