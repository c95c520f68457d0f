/** Client of the management API over HTTP: repeats what can be repeated, and turns refusals into sentences. */
import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Context } from '../../flows/context.ts'
import { CommandRefused, UNREACHABLE } from '../client/output.ts'

export type Resource = Readonly<Record<string, unknown>>

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A refusal of the API, in its words. */
export class ManagementRefusal extends CommandRefused {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

export type ManagementClient = {
  /** `path` is relative to /manage/1. An empty answer is {}. Throws a CommandRefused. */
  send(method: Method, path: string, body?: Resource): Promise<Resource>
  /** Every item of a list, over all its pages. */
  list<T extends Resource>(path: string): Promise<readonly T[]>
  /** Of this process, on the machine itself, for what the API does not offer. Null: over HTTP. */
  readonly context: Context | null
}

const ATTEMPTS = 4
const TIMEOUT_MS = 30_000
/** Items of a page: the most that the API gives. */
const LIMIT = 200

export function createManagementClient(server: string, key: string): ManagementClient {
  const send: ManagementClient['send'] = async (method, path, body) => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body ? { 'content-type': 'application/json' } : {}),
      // The same in every attempt: a repeated request changes nothing twice.
      ...(method === 'POST' ? { 'idempotency-key': randomUUID() } : {}),
    }
    for (let attempt = 1; ; attempt += 1) {
      const response = await request(server, `/manage/1${path}`, {
        method,
        headers,
        body: body && JSON.stringify(body),
      })
      if (response.outcome === 'answered' && response.status < 300) return response.body
      if (response.outcome === 'refused') throw response.error
      const again = response.outcome === 'unreachable' || response.status === 503
      if (!again || attempt === ATTEMPTS) throw explain(server, response)
      await setTimeout(500 * attempt)
    }
  }
  return withLists({ send, context: null })
}

export function withLists(client: Omit<ManagementClient, 'list'>): ManagementClient {
  return {
    ...client,
    list: async <T extends Resource>(path: string) => {
      const items: T[] = []
      let cursor: string | null = null
      do {
        const page = await client.send('GET', withQuery(path, cursor))
        items.push(...(page.items as readonly T[]))
        cursor = page.next as string | null
      } while (cursor !== null)
      return items
    },
  }
}

function withQuery(path: string, cursor: string | null): string {
  const query = new URLSearchParams({ limit: String(LIMIT), ...(cursor === null ? {} : { cursor }) })
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

type Response =
  | {
      readonly outcome: 'answered'
      readonly status: number
      readonly body: Resource
      readonly requestId: string | null
    }
  | { readonly outcome: 'unreachable'; readonly fault: string }
  | { readonly outcome: 'refused'; readonly error: CommandRefused }

async function request(
  server: string,
  path: string,
  given: { method: Method; headers: Record<string, string>; body: string | undefined },
): Promise<Response> {
  const { body = null, ...rest } = given
  let answer: globalThis.Response
  let content: string
  try {
    // A redirect would carry the key to another address.
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    answer = await fetch(`${server}${path}`, { ...rest, body, redirect: 'manual', signal })
    content = await answer.text()
  } catch (error) {
    return { outcome: 'unreachable', fault: faultOf(error) }
  }
  const parsed = parse(content)
  if (!parsed) {
    const message = `The server at ${server} does not respond like Latchkey. Check the URL.`
    return { outcome: 'refused', error: new CommandRefused(message, UNREACHABLE) }
  }
  return { outcome: 'answered', status: answer.status, body: parsed, requestId: answer.headers.get('x-request-id') }
}

function faultOf(error: unknown): string {
  const { cause, name } = error as { cause?: { code?: string }; name?: string }
  return cause?.code ?? (name === 'TimeoutError' ? 'no answer' : 'no connection')
}

function parse(content: string): Resource | null {
  if (content === '') return {}
  try {
    const value: unknown = JSON.parse(content)
    return typeof value === 'object' && value !== null ? (value as Resource) : null
  } catch {
    return null
  }
}

function explain(server: string, response: Exclude<Response, { outcome: 'refused' }>): CommandRefused {
  if (response.outcome === 'unreachable')
    return new CommandRefused(
      `${server} could not be reached (${response.fault}). Check the URL and your connection, then try again.`,
      UNREACHABLE,
    )
  const { error = '', message = `status ${response.status}` } = response.body
  if (error === 'unavailable')
    return new CommandRefused(`The service at ${server} is temporarily unavailable. Try again later.`, UNREACHABLE)
  const advice = ADVICE[String(error)] ?? ''
  const request = response.requestId ? ` (Request id: ${response.requestId}.)` : ''
  return new ManagementRefusal(String(error), `${message}${advice}${request}`)
}

const ADVICE: Readonly<Record<string, string>> = {
  invalid_credential: ' "latchkey manage-key list", on the server, shows the keys and until when they are valid.',
  insufficient_scope: ' "latchkey manage-key create", on the server, makes one that does.',
}
