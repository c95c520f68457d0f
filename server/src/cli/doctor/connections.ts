/** Connection checks: whether credentials and data cross a network in the clear, or an engine lets everybody in. */
import { isIPv4 } from 'node:net'
import { type Finding, warning } from './finding.ts'

const WHERE = 'docs/operations.md, "PostgreSQL and Redis on another machine"'

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
  const url = new URL(redisUrl)
  const host = url.hostname
  if (isOnThisMachine(host)) return []
  const findings: Finding[] = []
  if (!url.protocol.startsWith('rediss')) {
    const what = `REDIS_URL names ${host} without TLS: its password crosses the network in the clear.`
    findings.push(warning('redis', what, `Let Redis speak TLS, and write rediss:// (${WHERE}).`))
  }
  if (url.password === '') {
    const what = `REDIS_URL has no password, and Redis is at ${host}: whoever reaches it can lift limits and slow polls down.`
    findings.push(warning('redis', what, 'Start Redis with deploy/redis/latchkey.conf, and put user and password in.'))
  }
  return findings
}

/** No host, or a folder: a socket. */
function isOnThisMachine(host: string): boolean {
  if (host === '' || host.startsWith('/') || host === '[::1]' || /(^|\.)localhost$/.test(host)) return true
  return isIPv4(host) && host.startsWith('127.')
}
