/**
 * Outbound HTTP to a URL that a third party chose, guarded against SSRF
 * (docs/operations/connections.md, "Outbound connections").
 * flows/ decides what is sent. Of a webhook's response only the status is kept; documents of an identity provider are
 * read, up to a size, and never shown (docs/history.md#0047).
 */
import { Resolver } from 'node:dns/promises'
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { AddressProblem } from './core/webhooks/webhook.ts'

const MAX_URL_LENGTH = 2_000

/** The response body is discarded. It is read up to this size, so that an honest receiver can finish sending it. */
const MAX_ANSWER_BYTES = 16_384

/**
 * Failures before a TLS connection exists. The owner of the URL sees one error for all of them: with details they could
 * scan networks.
 */
export const UNCONNECTED = ['private_address', 'unknown_name', 'unreachable', 'connect_timeout', 'handshake'] as const

export type PostFailure = (typeof UNCONNECTED)[number] | 'timeout' | 'tls' | 'broken'

export type Posted = { readonly tookMs: number } & (
  | { readonly status: number }
  | { readonly error: PostFailure | AddressProblem }
)

export type OutboundMessage = { readonly headers: Readonly<Record<string, string>>; readonly body: string }

/** `busy`: too many requests to the same provider wait (flows/provider/request-limits.ts). */
export type FetchFailure = PostFailure | AddressProblem | 'too_large' | 'busy'

export type Fetched =
  | { readonly status: number; readonly type: string; readonly body: Buffer }
  | { readonly error: FetchFailure }

/** Limits of a response that is read. */
export type FetchLimits = { readonly maxBytes: number; readonly timeoutMs: number }

export type FetchRequest = {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

export type Outbound = {
  /** Null: acceptable, as far as can be told without DNS. */
  problemWith(url: string): AddressProblem | null
  /** Never throws. `timeoutMs` limits the whole attempt. An abort of `stop` ends it at once, reported as a timeout. */
  post(url: string, message: OutboundMessage, stop?: AbortSignal): Promise<Posted>
  /** Never throws. A redirect is a response like any other. */
  fetch(url: string, request: FetchRequest, limits: FetchLimits): Promise<Fetched>
}

export type OutboundSettings = {
  /** Allows private addresses too, for development and tests. */
  readonly allowPrivate: boolean
  /** Empty: the system's name servers. */
  readonly dnsServers: readonly string[]
  /** Timeout for DNS, connection and response together. */
  readonly timeoutMs?: number
  /** CA certificates to trust instead of the default ones. */
  readonly ca?: string
}

export function createOutbound(settings: OutboundSettings): Outbound {
  const { allowPrivate, timeoutMs = 10_000 } = settings
  const problemWith = (text: string) => addressProblem(text, allowPrivate)
  return {
    problemWith,
    post: async (text, message, stop) => {
      const began = performance.now()
      const took = () => ({ tookMs: Math.round(performance.now() - began) })
      const problem = problemWith(text)
      if (problem) return { error: problem, ...took() }
      const ending = new AbortController()
      const end = () => ending.abort()
      const timer = setTimeout(end, timeoutMs)
      stop?.addEventListener('abort', end)
      if (stop?.aborted) end()
      try {
        const url = new URL(text)
        const found = await resolve(url, settings, ending.signal)
        if ('error' in found) return { ...found, ...took() }
        const request = { method: 'POST', ...message } as const
        const sent = await send(url, found.addresses, request, ending.signal, settings.ca, MAX_ANSWER_BYTES)
        return 'error' in sent ? { ...sent, ...took() } : { status: sent.status, ...took() }
      } finally {
        clearTimeout(timer)
        stop?.removeEventListener('abort', end)
      }
    },
    fetch: async (text, request, limits) => {
      const problem = problemWith(text)
      if (problem) return { error: problem }
      const signal = AbortSignal.timeout(limits.timeoutMs)
      const url = new URL(text)
      const found = await resolve(url, settings, signal)
      if ('error' in found) return found
      const sent = await send(url, found.addresses, request, signal, settings.ca, limits.maxBytes)
      if ('error' in sent) return sent
      if (!sent.whole) return { error: signal.aborted ? 'timeout' : sent.tooLarge ? 'too_large' : 'broken' }
      return { status: sent.status, type: sent.type, body: sent.body }
    },
  }
}

/** Host name syntax of DNS. No trailing dot: certificate checks would treat the name as different from this code. */
const HOST = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/
const MAX_HOST_LENGTH = 253

/**
 * Names with a meaning only on one machine or in one network (RFC 6761, RFC 6762, RFC 8375; `internal` is reserved by
 * ICANN).
 */
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/

/** `URL` normalises the spellings of an IP address first: decimal, octal, hexadecimal, shortened, mapped. */
function addressProblem(text: string, allowPrivate: boolean): AddressProblem | null {
  if (text.length > MAX_URL_LENGTH) return 'too_long'
  const url = URL.parse(text)
  if (!url) return 'not_an_address'
  const host = bareHost(url)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && allowPrivate && isLoopback(host))) return 'scheme'
  if (url.username !== '' || url.password !== '') return 'userinfo'
  if (text.includes('#')) return 'fragment'
  if (!isWebhookPort(url.port)) return 'port'
  if (isIP(host) !== 0) return allowPrivate || isPublic(host) ? null : 'private'
  const name = host.endsWith('.') ? host.slice(0, -1) : host
  if (!allowPrivate && (LOCAL_NAME.test(name) || !name.includes('.'))) return 'private'
  return HOST.test(host) && host.length <= MAX_HOST_LENGTH ? null : 'host'
}

const HTTPS_PORT = 443
const LAST_REFUSED_PORT = 1024

/** Of the system ports (RFC 6335), only 443 is allowed: webhooks must not probe other services. Empty: the default. */
function isWebhookPort(port: string): boolean {
  return port === '' || Number(port) === HTTPS_PORT || Number(port) > LAST_REFUSED_PORT
}

function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Loopback hosts. `localhost` names are not looked up: they must stay on this machine (RFC 6761, section 6.3). */
function isLoopback(host: string): boolean {
  return host === '::1' || /^127\./.test(host) || /(?:^|\.)localhost$/.test(host)
}

type Address = { readonly address: string; readonly family: 4 | 6 }

type Found = { readonly addresses: readonly Address[] } | { readonly error: PostFailure }

/** Resolves once. The connection uses exactly the addresses that were checked here, so DNS rebinding gains nothing. */
async function resolve(url: URL, settings: OutboundSettings, signal: AbortSignal): Promise<Found> {
  const host = bareHost(url)
  const literal = isIP(host)
  if (literal !== 0) return { addresses: [{ address: host, family: literal === 4 ? 4 : 6 }] }
  if (isLoopback(host)) return { addresses: [{ address: '127.0.0.1', family: 4 }] }
  const every = signal.aborted ? [] : await ask(host, settings.dnsServers, signal)
  if (signal.aborted) return { error: 'connect_timeout' }
  const addresses = every.filter(({ address }) => settings.allowPrivate || isPublic(address))
  if (addresses.length > 0) return { addresses }
  return { error: every.length > 0 ? 'private_address' : 'unknown_name' }
}

/** Avoids dns.lookup(): it blocks one of the four threads of libuv's pool for as long as a name server takes. */
async function ask(host: string, servers: readonly string[], signal: AbortSignal): Promise<readonly Address[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const cancel = () => resolver.cancel()
  signal.addEventListener('abort', cancel)
  const none = () => [] as string[]
  const [v4, v6] = await Promise.all([resolver.resolve4(host).catch(none), resolver.resolve6(host).catch(none)])
  signal.removeEventListener('abort', cancel)
  return [
    ...v4.map((address) => ({ address, family: 4 }) as const),
    ...v6.map((address) => ({ address, family: 6 }) as const),
  ]
}

/**
 * Ranges that are not globally routable (IANA's special-purpose registries). In IPv6 only 2000::/3 is global, less a
 * few.
 */
const special = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // The virtual machine host of Azure, which is not in the registries.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  special.addSubnet(network, prefix, 'ipv4')
}
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  special.addSubnet(network, prefix, 'ipv6')
}
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

export function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !special.check(address, 'ipv4')
  return isIP(address) === 6 && global6.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

type Sent =
  | {
      readonly status: number
      /** Media type and its parameters. */
      readonly type: string
      readonly body: Buffer
      /** The response was received to its end. */
      readonly whole: boolean
      readonly tooLarge: boolean
    }
  | { readonly error: PostFailure }

function send(
  url: URL,
  addresses: readonly Address[],
  { method, headers, body }: FetchRequest,
  signal: AbortSignal,
  ca: string | undefined,
  maxBytes: number,
): Promise<Sent> {
  const lookup: LookupFunction = (_host, { all }, found) => {
    if (all) return found(null, [...addresses])
    const [first] = addresses
    found(null, first?.address ?? '', first?.family)
  }
  const secure = url.protocol === 'https:'
  const options = {
    method,
    lookup,
    // A new connection per message, and no proxy from the environment.
    agent: secure ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false }),
    headers: {
      ...headers,
      ...(body === null ? {} : { 'content-length': Buffer.byteLength(body) }),
      connection: 'close',
    },
    signal,
  }
  return new Promise((resolve) => {
    let answered = false
    let connected = false
    const read = (response: IncomingMessage) => {
      answered = true
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxBytes) response.destroy()
        else chunks.push(chunk)
      })
      // `whole` says whether the body is complete; for a webhook it does not matter.
      response.on('error', () => {})
      response.on('close', () => {
        request.destroy()
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers['content-type'] ?? '',
          body: Buffer.concat(chunks),
          whole: response.complete && bytes <= maxBytes,
          tooLarge: bytes > maxBytes,
        })
      })
    }
    const request = secure
      ? httpsRequest(url, { ...options, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) }, read)
      : httpRequest(url, options, read)
    request.on('socket', (socket) => {
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        connected = true
      })
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (answered) return
      if (signal.aborted) return resolve({ error: connected ? 'timeout' : 'connect_timeout' })
      resolve({ error: (connected ? failureOf : connectFailureOf)(error.code ?? '') })
    })
    // Closed without a response or an error, for example on a protocol upgrade.
    request.on('close', () => {
      if (!answered) resolve({ error: connected ? 'broken' : 'handshake' })
    })
    request.end(body ?? undefined)
  })
}

/** A certificate that is not accepted is a failure of its own: the host is a TLS server, and its owner has to know why. */
function connectFailureOf(code: string): PostFailure {
  if (/^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES)$/.test(code)) return 'unreachable'
  if (code === 'ETIMEDOUT') return 'connect_timeout'
  return /CERT|SIGNED|UNABLE/.test(code) ? 'tls' : 'handshake'
}

function failureOf(code: string): PostFailure {
  if (code === 'ETIMEDOUT') return 'timeout'
  return /TLS|SSL|EPROTO/.test(code) ? 'tls' : 'broken'
}
