/**
 * HTTP client for the service: sends a form, receives JSON, with a time limit and a size limit. Refusals are returned
 * as responses; faults are thrown.
 */
import { sanitisedCause } from './cause.ts'
import type { Clock } from './clock.ts'
import { type ErrorCode, LatchkeyError } from './errors.ts'

/** A response that was read completely: a success, or a refusal with `error` in its body. */
export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly requestId: string | undefined
  /** In seconds. */
  readonly retryAfter: number | undefined
  /** The service held the answer, as `Prefer: wait` asked for. */
  readonly held: boolean
}

export interface Question {
  /** Undefined values are not sent. */
  readonly form: Readonly<Record<string, string | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  readonly timeLimitMs?: number
}

export interface Wire {
  readonly baseUrl: string
  /** Throws `network`, `unavailable`, `too_many_requests`, `unexpected_answer`, or the reason of the signal. */
  ask(path: string, question: Question): Promise<Answer>
}

export interface WireOptions {
  readonly baseUrl: string
  readonly fetch?: typeof globalThis.fetch | undefined
  readonly clock: Clock
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly allowInsecureRequests?: boolean | undefined
}

/** The service's longest response is below 1 KiB. */
const MAX_ANSWER_BYTES = 64 * 1024

/**
 * A poll may wait up to almost 5 s for another one that is being answered, and 3 s for a database that does not answer.
 */
export const TIME_LIMIT_MS = 15_000

export function createWire(options: WireOptions): Wire {
  const { fetch, clock, headers } = options
  const base = readBaseUrl(options)
  const send: typeof globalThis.fetch = fetch ?? ((input, init) => globalThis.fetch(input, init))

  return {
    baseUrl: base,
    ask: async (path, question) => {
      const { signal, timeLimitMs = TIME_LIMIT_MS } = question
      signal?.throwIfAborted()
      const body = formOf(question.form)
      const over = new AbortController()
      const end = () => over.abort()
      signal?.addEventListener('abort', end, { once: true })
      const done = new AbortController()
      let late = false
      clock.sleep(timeLimitMs, done.signal).then(
        () => {
          late = true
          end()
        },
        () => {},
      )
      try {
        const response = await send(base + path, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded', ...question.headers },
          body,
          // Following a redirect would send the secret to its target.
          redirect: 'manual',
          signal: over.signal,
        })
        return await readAnswer(response, clock, () => over.abort())
      } catch (error) {
        if (error instanceof LatchkeyError) throw error
        signal?.throwIfAborted()
        throw fault(error, late ? timeLimitMs : null)
      } finally {
        done.abort()
        signal?.removeEventListener('abort', end)
      }
    },
  }
}

/** Whether the same request may succeed later. */
export function isTransient(error: unknown): error is LatchkeyError {
  return error instanceof LatchkeyError && TRANSIENT.includes(error.code)
}

const TRANSIENT: readonly ErrorCode[] = ['network', 'unavailable', 'too_many_requests', 'unexpected_answer']

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]']

/** Whether a secret or a credential may be sent there: by https, or to this machine. */
export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname))
}

function readBaseUrl({ baseUrl, allowInsecureRequests = false }: WireOptions): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new LatchkeyError('invalid_request', {
      message: 'baseUrl must be the http or https address of the service, without a query.',
    })
  }
  if (!allowInsecureRequests && !isSecure(url)) {
    throw new LatchkeyError('invalid_request', {
      message: 'baseUrl must be an https address, because secrets are sent to it. Only this machine may use http.',
    })
  }
  return url.href.replace(/\/+$/, '')
}

function formOf(fields: Question['form']): string {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.set(name, value)
  return form.toString()
}

async function readAnswer(response: Response, clock: Clock, hangUp: () => void): Promise<Answer> {
  const { status, headers } = response
  const requestId = headers.get('x-request-id') ?? undefined
  const retryAfter = readRetryAfter(headers.get('retry-after'), clock.now())
  const moved = response.type === 'opaqueredirect' || (status >= 300 && status < 400)
  if (moved) {
    hangUp()
    const message = 'The service answered with a redirect. Give baseUrl as the service itself spells it.'
    throw new LatchkeyError('unexpected_answer', { requestId, message })
  }
  const body = parseObject(await readText(response, requestId, hangUp))
  const refusal = wordOf(body?.error)
  if (status === 429) throw new LatchkeyError('too_many_requests', { requestId, retryAfter, refusal })
  if (status >= 500) throw new LatchkeyError('unavailable', { requestId, retryAfter, refusal })
  if (!body || (status >= 400 && refusal === undefined)) {
    const message = `The answer (HTTP ${status}) is not one that Latchkey gives. Check baseUrl and any proxy in between.`
    throw new LatchkeyError('unexpected_answer', { requestId, message })
  }
  const held = /^wait\b/.test(headers.get('preference-applied') ?? '')
  return { status, body, requestId, retryAfter, held }
}

async function readText(response: Response, requestId: string | undefined, hangUp: () => void): Promise<string> {
  const reader = response.body?.getReader()
  if (!reader) return response.text()
  const decoder = new TextDecoder()
  let [text, size] = ['', 0]
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.byteLength
    text += decoder.decode(value, { stream: true })
    if (size <= MAX_ANSWER_BYTES) continue
    hangUp()
    throw new LatchkeyError('unexpected_answer', { requestId })
  }
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}

/** Parses `Retry-After`: seconds, or an HTTP date. */
function readRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000))
}

/** The service's error word. Longer or other text is ignored, and never passed on. */
export function wordOf(error: unknown): string | undefined {
  return typeof error === 'string' && /^[a-z][a-z_]{0,39}$/.test(error) ? error : undefined
}

/** Describes a fault by the platform's short error code only: its message could quote anything. */
function fault(error: unknown, limitMs: number | null): LatchkeyError {
  const cause = limitMs === null ? sanitisedCause(error) : { name: 'TimeoutError' }
  const reason = limitMs === null ? cause?.code : `no answer within ${limitMs / 1000} s`
  const message = `The service could not be reached${reason ? ` (${reason})` : ''}. Check the connection and baseUrl, then try again.`
  return new LatchkeyError('network', { message, cause })
}
