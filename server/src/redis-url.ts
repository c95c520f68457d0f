/**
 * REDIS_URL: a single server, a cluster, or a group of servers behind Redis Sentinel. The latter two may name several
 * hosts, which a URL as browsers know it cannot. Errors complete "REDIS_URL …" and contain no password.
 */

export type RedisAddress = {
  readonly kind: 'single' | 'cluster' | 'sentinel'
  readonly tls: boolean
  /** Cluster: nodes to start with. Sentinel: the sentinels. */
  readonly hosts: readonly RedisHost[]
  readonly username: string | null
  readonly password: string | null
  readonly database: number
  readonly sentinel: Sentinel | null
}

export type RedisHost = { readonly host: string; readonly port: number }

/** The group of servers that the sentinels watch, and what the sentinels themselves ask for. */
export type Sentinel = { readonly group: string; readonly username: string | null; readonly password: string | null }

const SCHEMES = ['redis', 'rediss', 'redis+cluster', 'rediss+cluster', 'redis+sentinel', 'rediss+sentinel']

const FORM = /^([a-z+]+):\/\/(?:([^/?#]*)@)?([^/?#@]*)(\/[^?#]*)?(?:\?([^#]*))?$/

const PORTS = { single: 6379, cluster: 6379, sentinel: 26379 } as const

const PARAMETERS = ['sentinel_username', 'sentinel_password']

const GROUP_EXAMPLE = 'redis+sentinel://HOST:26379,HOST:26379/mymaster'

/** Returns the URL itself, for the table in config.ts. */
export function checkRedisUrl(text: string): string {
  parseRedisUrl(text)
  return text
}

export function parseRedisUrl(text: string): RedisAddress {
  if (!SCHEMES.some((scheme) => text.startsWith(`${scheme}://`))) {
    throw new Error(`does not start with ${SCHEMES.join(':// or ')}://`)
  }
  const [, scheme = '', credentials = '', authority = '', path = '', query = ''] = FORM.exec(text) ?? []
  if (scheme === '') throw new Error('is not a URL')
  if (path.includes('@')) throw new Error('has a / before the @; write %2F for a / in the password')
  const kind = scheme.endsWith('+cluster') ? 'cluster' : scheme.endsWith('+sentinel') ? 'sentinel' : 'single'
  const hosts = authority.split(',').map((host) => readHost(host, PORTS[kind]))
  if (kind === 'single' && hosts.length > 1) {
    throw new Error('names several servers: start it with redis+cluster:// or redis+sentinel://')
  }
  const [username, password] = readCredentials(credentials)
  const parts = path.split('/').slice(1).map(decode)
  // A + stays one, as in the password before the @: only forms write a space so.
  const parameters = new URLSearchParams(query.replaceAll('+', '%2B'))
  const unknown = [...parameters.keys()].find((name) => kind !== 'sentinel' || !PARAMETERS.includes(name))
  if (unknown !== undefined) throw new Error(`has the unknown parameter "${unknown}"`)
  const sentinel = kind === 'sentinel' ? readSentinel(parts.shift() ?? '', parameters) : null
  const [database = '', ...more] = parts
  if (more.length > 0 || !/^\d{0,5}$/.test(database)) throw new Error(`has "/${parts.join('/')}", which is no database`)
  if (kind === 'cluster' && Number(database) > 0) throw new Error('names a database, but a cluster has only one')
  const tls = scheme.startsWith('rediss')
  return { kind, tls, hosts, username, password, database: Number(database), sentinel }
}

/** An IPv6 address is in brackets, which are not part of it. */
function readHost(text: string, defaultPort: number): RedisHost {
  const [, bracketed, plain = '', port = String(defaultPort)] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^[\]:\s]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = bracketed ?? decode(plain)
  if (host === '' || Number(port) < 1 || Number(port) > 65_535) {
    throw new Error(`has "${text}", which is not a host with an optional port`)
  }
  return { host, port: Number(port) }
}

function readCredentials(text: string): readonly [username: string | null, password: string | null] {
  const [username = '', ...rest] = text.split(':')
  return [decode(username) || null, decode(rest.join(':')) || null]
}

function readSentinel(group: string, parameters: URLSearchParams): Sentinel {
  if (group === '') throw new Error(`does not name the group that the sentinels watch: ${GROUP_EXAMPLE}`)
  const [username = null, password = null] = PARAMETERS.map((name) => parameters.get(name))
  return { group, username, password }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('has a % that is not followed by two hexadecimal digits; write %25 for a percent sign')
  }
}
