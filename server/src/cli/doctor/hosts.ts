/** Host check: the service answers at PUBLIC_URL, it is this service, and the accounts' subdomains lead to it. */
import { isIP } from 'node:net'
import { readAnySlug } from '../../store/accounts/accounts.ts'
import type { Postgres } from '../../store/postgres/postgres.ts'
import { type Asked, ask } from './ask.ts'
import { isLocal } from './configuration.ts'
import { broken, type Finding, ok, warning } from './finding.ts'

const METADATA = '/.well-known/oauth-authorization-server'

const NAME_UNKNOWN = /^(ENOTFOUND|EAI_AGAIN|ENODATA)$/
const CERTIFICATE = /CERT|SELF_SIGNED|ALTNAME|^ERR_(TLS|SSL)|VERIFY/

export async function examineHosts(publicUrl: string, db: Postgres | null): Promise<readonly Finding[]> {
  const base = judgeBase(publicUrl, await ask(publicUrl + METADATA))
  if (base.severity !== 'ok') return [base]
  const slug = db && (await readAnySlug(db))
  if (!slug) return [base]
  const { protocol, host, hostname } = new URL(publicUrl)
  if (isIP(hostname.replace(/[[\]]/g, ''))) {
    const what = `PUBLIC_URL is ${publicUrl}: an IP address cannot have subdomains for accounts.`
    return [
      base,
      broken('account addresses', what, 'Set PUBLIC_URL to a host name, for example localhost on this machine.'),
    ]
  }
  const account = `${protocol}//${slug}.${host}`
  return [base, judgeAccount(account, slug, host, await ask(`${account}/sign-in`))]
}

function judgeBase(publicUrl: string, asked: Asked): Finding {
  const check = 'public address'
  if ('fault' in asked) {
    const what = `PUBLIC_URL, ${publicUrl}, is unreachable (${asked.fault}).`
    if (CERTIFICATE.test(asked.fault)) {
      return broken(check, what, 'Install a certificate for this host and all its subdomains on the proxy.')
    }
    const remedy = 'Start the service with "latchkey serve", or correct PUBLIC_URL or the proxy in front.'
    if (!isLocal(publicUrl)) return warning(check, what, remedy)
    // localhost of a container is that container alone.
    return warning(
      check,
      what,
      `${remedy} In a container, run this command inside the one that serves ("docker exec").`,
    )
  }
  const issuer = issuerOf(asked.body)
  if (asked.status !== 200 || issuer === null) {
    const instead = asked.location ? `a redirect to ${asked.location}` : `HTTP ${asked.status}`
    const what = `The server at PUBLIC_URL, ${publicUrl}, is not Latchkey: ${instead}.`
    return broken(
      check,
      what,
      'Set PUBLIC_URL to the address that applications use, or point the proxy at the service.',
    )
  }
  if (issuer !== publicUrl) {
    const what = `The service at ${publicUrl} has the issuer ${issuer}: it runs with a different PUBLIC_URL.`
    return broken(
      check,
      what,
      `Use the same PUBLIC_URL, ${issuer} or ${publicUrl}, for every process and this command.`,
    )
  }
  return ok(check, `The service answers at ${publicUrl}.`)
}

function judgeAccount(account: string, slug: string, host: string, asked: Asked): Finding {
  const check = 'account addresses'
  if ('fault' in asked) {
    const what = `Accounts cannot be reached at their own addresses: ${account} (${asked.fault}).`
    if (NAME_UNKNOWN.test(asked.fault)) return broken(check, what, `Point *.${host} at the proxy, in DNS.`)
    if (CERTIFICATE.test(asked.fault)) return broken(check, what, `Give the proxy a certificate for *.${host}.`)
    return broken(check, what, `Let the proxy take requests for *.${host}, too.`)
  }
  if (asked.status === 200) return ok(check, `The account ${slug} is at ${account}.`)
  if (asked.status === 421) {
    const what = `Requests for ${account} arrive at the service with another Host header: the proxy changes it.`
    return broken(
      check,
      what,
      'Configure the proxy to pass the Host header unchanged, port included (nginx: proxy_set_header Host $http_host).',
    )
  }
  if (asked.status === 404) {
    const what = `The service at ${account} has no account ${slug}: it uses a different database.`
    return broken(check, what, 'Use the same DATABASE_URL for every process and this command.')
  }
  return broken(
    check,
    `${account} answers HTTP ${asked.status}.`,
    'Check the proxy in between and the log of the service.',
  )
}

function issuerOf(body: string): string | null {
  try {
    const { issuer } = JSON.parse(body)
    return typeof issuer === 'string' ? issuer : null
  } catch {
    return null
  }
}
