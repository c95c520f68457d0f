/** Connection checks: whether data crosses a network unencrypted, or PostgreSQL or Redis needs no password. */
import { isIPv4 } from 'node:net'
import { parseRedisUrl } from '../../redis-url.ts'
import { type Finding, warning } from './finding.ts'

const WHERE = 'docs/operations/connections.md, "PostgreSQL and Redis on another machine"'

/** `passwordElsewhere`: the environment has one besides the URL. */
export function examinePostgresUrl(databaseUrl: string, passwordElsewhere: boolean): readonly Finding[] {
  const url = new URL(databaseUrl)
  const given = url.searchParams
  const host = given.get('host') ?? decodeURIComponent(url.hostname)
  if (isOnThisMachine(host)) return []
  const findings: Finding[] = []
  if (!/^(require|verify-ca|verify-full)$/.test(given.get('sslmode') ?? '')) {
    const what = `DATABASE_URL names ${host} without sslmode=verify-full: what the service knows crosses the network in the clear.`
    findings.push(warning('postgresql', what, `Let PostgreSQL speak TLS, and add ?sslmode=verify-full (${WHERE}).`))
  }
  if (url.password === '' && !passwordElsewhere && !given.has('sslcert')) {
    const what = `DATABASE_URL has no password, and PostgreSQL is at ${host}: whoever reaches it may be let in.`
    findings.push(warning('postgresql', what, 'Give the role a password, and require scram-sha-256 in pg_hba.conf.'))
  }
  return findings
}

export function examineRedisUrl(redisUrl: string): readonly Finding[] {
  const { hosts, tls, password, sentinel } = parseRedisUrl(redisUrl)
  const host = hosts.map((each) => each.host).find((name) => !isOnThisMachine(name))
  if (host === undefined) return []
  const findings: Finding[] = []
  if (!tls) {
    const what = `REDIS_URL names ${host} without TLS: its password crosses the network in the clear.`
    const scheme = redisUrl.slice(0, redisUrl.indexOf(':')).replace('redis', 'rediss')
    findings.push(warning('redis', what, `Let Redis speak TLS, and write ${scheme}:// (${WHERE}).`))
  }
  if (password === null) {
    const what = `REDIS_URL has no password, and Redis is at ${host}: whoever reaches it can lift limits and slow polls down.`
    findings.push(warning('redis', what, 'Start Redis with deploy/redis/latchkey.conf, and put user and password in.'))
  }
  if (sentinel !== null && sentinel.password === null) {
    const what = `REDIS_URL has no sentinel_password, and a sentinel is at ${host}: whoever reaches it can name another Redis.`
    findings.push(
      warning('redis', what, 'Set requirepass in sentinel.conf, and add ?sentinel_password=… to REDIS_URL.'),
    )
  }
  return findings
}

/** No host, or a folder: a socket. */
function isOnThisMachine(host: string): boolean {
  if (host === '' || host.startsWith('/') || host === '[::1]' || host === '::1' || /(^|\.)localhost$/.test(host))
    return true
  return isIPv4(host) && host.startsWith('127.')
}
