/** A device as an application's developer would write it: four requests over a socket, without knowledge of the server. */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MadeApplication } from './make.ts'

export type WireVariant = 'oauth' | 'key'

export type WireAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back
  readonly body: any
}

export type CodeRecord = {
  readonly device_code: string
  readonly user_code: string
  readonly verification_url: string
  readonly expires_in: number
  readonly interval: number
  readonly state: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 })

/** One POST. `query` and `form` are sent as they are given; a form may also be raw text with its own content type. */
export function post(
  address: string,
  path: string,
  sent: {
    query?: Record<string, string>
    form?: Record<string, string>
    raw?: string | Buffer
    headers?: Record<string, string>
    method?: string
    /** Local address of the connection. */
    localAddress?: string
    signal?: AbortSignal
  },
): Promise<WireAnswer> {
  const query = sent.query ? `?${new URLSearchParams(sent.query)}` : ''
  const form = sent.form ? new URLSearchParams(sent.form).toString() : undefined
  const body = sent.raw ?? form
  const headers = {
    ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...sent.headers,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${address}${path}${query}`,
      {
        method: sent.method ?? 'POST',
        agent,
        headers,
        ...(sent.localAddress && { localAddress: sent.localAddress }),
        ...(sent.signal && { signal: sent.signal }),
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: parse(text) })
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The fields that are equal in every repetition of an answer: all but the remaining seconds. */
export function withoutExpiresIn(text: string): string {
  return text.replace(/"expires_in":\d+/, '"expires_in":…')
}

/** Retries 503, "try again shortly", as a device in the field does: PostgreSQL may take too long on a busy machine. */
export async function whenServed(request: () => Promise<WireAnswer>): Promise<WireAnswer> {
  let answer = await request()
  for (let attempt = 1; answer.status === 503 && attempt <= 5; attempt += 1) {
    await sleep(500)
    answer = await request()
  }
  return answer
}

export class Device {
  readonly address: string
  readonly application: MadeApplication
  readonly variant: WireVariant

  constructor(address: string, application: MadeApplication, variant: WireVariant = 'oauth') {
    this.address = address
    this.application = application
    this.variant = variant
  }

  get credentials(): { SVCappid: string; SVCsecret: string } {
    return { SVCappid: this.application.id, SVCsecret: this.application.secret }
  }

  request(parameters: Record<string, string> = {}): Promise<WireAnswer> {
    return post(this.address, `/auth/${this.variant}/device/code`, { form: { ...this.credentials, ...parameters } })
  }

  async code(parameters: Record<string, string> = {}): Promise<CodeRecord> {
    const answer = await whenServed(() => this.request(parameters))
    if (answer.status !== 200) throw new Error(`the code request was answered ${answer.status} ${answer.text}`)
    return answer.body
  }

  poll(deviceCode: string, headers: Record<string, string> = {}): Promise<WireAnswer> {
    return post(this.address, `/auth/${this.variant}/device/polling`, {
      form: { ...this.credentials, device_code: deviceCode },
      headers,
    })
  }
}

/** Polls until the decision has arrived, as a device does. */
export async function collect(device: Device, deviceCode: string): Promise<WireAnswer> {
  for (;;) {
    const answer = await device.poll(deviceCode)
    if (!['auth_pending', 'slow_down'].includes(answer.body.error)) return answer
    await sleep(100)
  }
}

/** Two polls of one code, the second within this time after the first. On a slow machine, tried again with another code. */
export async function pollWithin(
  device: Device,
  { pauseMs, withinMs }: { readonly pauseMs: number; readonly withinMs: number },
): Promise<{ code: CodeRecord; first: WireAnswer; second: WireAnswer }> {
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    const code = await device.code()
    const begun = performance.now()
    const first = await device.poll(code.device_code)
    await sleep(pauseMs)
    const second = await device.poll(code.device_code)
    if (performance.now() - begun < withinMs) return { code, first, second }
  }
  throw new Error(`this machine is too slow for two polls within ${withinMs} ms`)
}
