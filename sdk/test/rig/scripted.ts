/** A scripted service: answers in order, and records its requests. */
import type { Client, ClientOptions } from '../../src/index.ts'
import { importSdk } from './packed.ts'
import { VirtualClock } from './virtual-clock.ts'

export type Script = (asked: Asked) => Response | Error | Promise<Response | Error>

export type Asked = {
  readonly url: string
  readonly headers: Headers
  readonly form: Readonly<Record<string, string>>
  /** On the virtual clock. */
  readonly at: number
}

const SECRET = 'lks_thesecretofthisapplicationthesecretofthisap'
const DEVICE_CODE = 'lkd_thedevicecodethedevicecodethedevicecodethedevicecodet'
export const ACCESS = 'lka_theaccesstokentheaccesstokentheaccesstokentheaccessto'
export const REFRESH = 'lkr_therefreshtokentherefreshtokentherefreshtoken12'
export const KEY = 'lkk_theaccesskeytheaccesskeytheaccesskeytheaccessk'
export const USER_CODE = '432324981'
/** Secrets that must not appear anywhere. */
export const EVERY_SECRET = [SECRET, DEVICE_CODE, ACCESS, REFRESH, KEY, USER_CODE]

export type Scripted = {
  readonly client: Client
  readonly clock: VirtualClock
  readonly asked: Asked[]
  /** The next answer; the last one is repeated. */
  next(...steps: (Script | Response | Error)[]): void
}

const { createClient } = await importSdk()

export function scripted(options: Partial<ClientOptions> = {}): Scripted {
  const clock = new VirtualClock()
  const asked: Asked[] = []
  let steps: (Script | Response | Error)[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const form = Object.fromEntries(new URLSearchParams(String(init?.body ?? '')))
    const question = { url: String(input), headers: new Headers(init?.headers), form, at: clock.now() }
    asked.push(question)
    const step = steps.length > 1 ? steps.shift() : steps[0]
    if (!step) throw new Error('the script is empty')
    const answer = await Promise.race([typeof step === 'function' ? step(question) : step, hungUp(init?.signal)])
    if (answer instanceof Error) throw answer
    return answer.clone()
  }
  const client = createClient({
    baseUrl: 'https://service.example',
    appId: 'app_n61zbfpywkrj',
    appSecret: SECRET,
    fetch,
    clock,
    ...options,
  })
  return {
    client,
    clock,
    asked,
    next: (...given) => {
      steps = given
    },
  }
}

/** Rejects as the platform's fetch does on abort. */
function hungUp(signal: AbortSignal | null | undefined): Promise<Error> {
  return new Promise((resolve) => {
    signal?.addEventListener('abort', () => resolve(new DOMException('This operation was aborted', 'AbortError')))
  })
}

export function json(status: number, body: object, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers })
}

/** The device code record, with the state that was sent. */
export function record(fields: object = {}): Script {
  return ({ form }) =>
    json(200, {
      device_code: DEVICE_CODE,
      user_code: USER_CODE,
      verification_url: '',
      expires_in: 600,
      interval: 5,
      state: form.state ?? '',
      ...fields,
    })
}

export const refusal = (error: string, headers: Record<string, string> = {}, status = 400): Response =>
  json(status, { error, message: 'A sentence for people.' }, headers)

export const pending: Response = refusal('auth_pending')

/** The service's answer with the code's interval. */
export const pendingFor = (interval: number): Response => refusal('auth_pending', { 'retry-after': `${interval}` })

export const tokenSet = (fields: object = {}): Response =>
  json(200, { access_token: ACCESS, refresh_token: REFRESH, expires_in: 3600, scope: 'orders:read', ...fields })

export const lost = (code = 'ECONNRESET'): Error => new TypeError('fetch failed', { cause: { code } })
