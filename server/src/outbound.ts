/**
 * The one way out to an address that somebody else chose: one POST, guarded (docs/operations.md, "What goes out"). What is sent
 * is for flows/. Nothing of what comes back is kept but the status, so that it is no way to read from here.
 */
import { Resolver } from 'node:dns/promises'
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'

const MAX_URL_LENGTH = 2_000

/** Of an answer that nobody looks at: read so far only that an honest receiver can finish its sentence. */
const MAX_ANSWER_BYTES = 16_384

export type AddressProblem = 'too_long' | 'not_an_address' | 'scheme' | 'userinfo' | 'fragment' | 'host' | 'private'

export type PostFailure = 'private_address' | 'unknown_name' | 'unreachable' | 'timeout' | 'tls' | 'broken'

export type Posted = { readonly tookMs: number } & (
  | { readonly status: number }
  | { readonly error: PostFailure | AddressProblem }
)

export type OutboundMessage = { readonly headers: Readonly<Record<string, string>>; readonly body: string }

export type Outbound = {
  /** Null: it may be an address to send to, as far as that can be seen without asking anybody for it. */
  problemWith(url: string): AddressProblem | null
  /** Never throws, and takes no longer than its time in all. With `stop` it ends at once, as if it had timed out. */
  post(url: string, message: OutboundMessage, stop?: AbortSignal): Promise<Posted>
}

export type OutboundSettings = {
  /** Private addresses as well; for development and tests. */
  readonly privateToo: boolean
  /** Empty: the machine's own. */
  readonly dnsServers: readonly string[]
  /** Name, connection, answer: all of it. */
  readonly patienceMs?: number
  /** Certificates to trust instead of the usual authorities. */
  readonly ca?: string
}

export function createOutbound(settings: OutboundSettings): Outbound {
  const { privateToo, patienceMs = 10_000 } = settings
  const problemWith = (text: string) => addressProblem(text, privateToo)
  return {
    problemWith,
    post: async (text, message, stop) => {
      const began = performance.now()
      const took = () => ({ tookMs: Math.round(performance.now() - began) })
      const problem = problemWith(text)
      if (problem) return { error: problem, ...took() }
      const ending = new AbortController()
      const end = () => ending.abort()
      const timer = setTimeout(end, patienceMs)
      stop?.addEventListener('abort', end)
      if (stop?.aborted) end()
      try {
        const url = new URL(text)
        const found = await resolve(url, settings, ending.signal)
        if ('error' in found) return { ...found, ...took() }
        return { ...(await send(url, found.addresses, message, ending.signal, settings.ca)), ...took() }
      } finally {
        clearTimeout(timer)
        stop?.removeEventListener('abort', end)
      }
    },
  }
}

/** As DNS has it. No dot at the end: it would be another name for certificates than for us. */
const HOST = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/
const MAX_HOST_LENGTH = 253

/** Names that mean something only on a machine or within a house (RFC 6761, RFC 6762, RFC 8375; `internal` is ICANN's). */
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/

/** URL has read the many spellings of an address by then: decimal, octal, hexadecimal, shortened, mapped. */
function addressProblem(text: string, privateToo: boolean): AddressProblem | null {
  if (text.length > MAX_URL_LENGTH) return 'too_long'
  const url = URL.parse(text)
  if (!url) return 'not_an_address'
  const host = bareHost(url)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && privateToo && isLoopback(host))) return 'scheme'
  if (url.username !== '' || url.password !== '') return 'userinfo'
  if (text.includes('#')) return 'fragment'
  if (isIP(host) !== 0) return privateToo || isPublic(host) ? null : 'private'
  const name = host.endsWith('.') ? host.slice(0, -1) : host
  if (!privateToo && (LOCAL_NAME.test(name) || !name.includes('.'))) return 'private'
  return HOST.test(host) && host.length <= MAX_HOST_LENGTH ? null : 'host'
}

function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

/** RFC 6761, section 6.3: these never leave the machine, whatever a name server says. */
function isLoopback(host: string): boolean {
  return host === '::1' || /^127\./.test(host) || /(?:^|\.)localhost$/.test(host)
}

type Address = { readonly address: string; readonly family: 4 | 6 }

type Found = { readonly addresses: readonly Address[] } | { readonly error: PostFailure }

/** Asked for once. What is connected to is what was looked at here, so a name that changes its mind gains nothing. */
async function resolve(url: URL, settings: OutboundSettings, signal: AbortSignal): Promise<Found> {
  const host = bareHost(url)
  const literal = isIP(host)
  if (literal !== 0) return { addresses: [{ address: host, family: literal === 4 ? 4 : 6 }] }
  if (isLoopback(host)) return { addresses: [{ address: '127.0.0.1', family: 4 }] }
  const every = await ask(host, settings.dnsServers, signal)
  if (signal.aborted) return { error: 'timeout' }
  const addresses = every.filter(({ address }) => settings.privateToo || isPublic(address))
  if (addresses.length > 0) return { addresses }
  return { error: every.length > 0 ? 'private_address' : 'unknown_name' }
}

/** Not by way of the system's own look-up: that keeps a thread, of which there are four, for as long as a name server likes. */
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

/** What is not for everybody (IANA's registries of special-purpose addresses). In IPv6 only 2000::/3 is, less a few. */
const special = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
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

type Sent = { readonly status: number } | { readonly error: PostFailure }

function send(
  url: URL,
  addresses: readonly Address[],
  { headers, body }: OutboundMessage,
  signal: AbortSignal,
  ca: string | undefined,
): Promise<Sent> {
  const lookup: LookupFunction = (_host, { all }, found) => {
    if (all) return found(null, [...addresses])
    const [first] = addresses
    found(null, first?.address ?? '', first?.family)
  }
  const secure = url.protocol === 'https:'
  const options = {
    method: 'POST',
    lookup,
    // One connection for one message, by no proxy that an environment names.
    agent: secure ? new HttpsAgent({ keepAlive: false }) : new HttpAgent({ keepAlive: false }),
    headers: { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' },
    signal,
  }
  return new Promise((resolve) => {
    let answered = false
    const read = (response: IncomingMessage) => {
      answered = true
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > MAX_ANSWER_BYTES) response.destroy()
      })
      // The status was said; that the rest was cut short changes nothing.
      response.on('error', () => {})
      response.on('close', () => {
        request.destroy()
        resolve({ status: response.statusCode ?? 0 })
      })
    }
    const request = secure
      ? httpsRequest(url, { ...options, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) }, read)
      : httpRequest(url, options, read)
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (!answered) resolve({ error: signal.aborted ? 'timeout' : failureOf(error.code ?? '') })
    })
    // With neither an answer nor an error, as when it wants to speak another protocol from here on.
    request.on('close', () => {
      if (!answered) resolve({ error: 'broken' })
    })
    request.end(body)
  })
}

function failureOf(code: string): PostFailure {
  if (/^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES)$/.test(code)) return 'unreachable'
  if (code === 'ETIMEDOUT') return 'timeout'
  return /CERT|TLS|SSL|SIGNED|UNABLE|EPROTO/.test(code) ? 'tls' : 'broken'
}
