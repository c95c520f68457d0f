/** Host reader: finds the account by the Host header alone, compared exactly with PUBLIC_URL, port included. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../core/refusal.ts'

/** The slug in front of the host of PUBLIC_URL; null if the request is not for an account's host. */
export type HostReader = (request: IncomingMessage) => string | null

/** One label of a host name: the longest a slug can be. */
const LABEL = /^[a-z0-9-]{1,63}$/

/** Stands for a malformed slug under our host. No account can have this name. */
const INVALID_SLUG = '-'

export function createHostReader(publicUrl: string): HostReader {
  const suffix = `.${new URL(publicUrl).host}`
  return (request) => {
    const host = request.headers.host ?? ''
    if (!host.toLowerCase().endsWith(suffix)) return null
    if (!isOnlyHost(request, host)) throw new Refusal('invalid_request')
    const slug = host.slice(0, -suffix.length).toLowerCase()
    return LABEL.test(slug) ? slug : INVALID_SLUG
  }
}

/**
 * Rejects a second Host header and an absolute request target that names another host: a proxy and this server could
 * otherwise disagree on the account, which lets an attacker bypass the proxy's checks.
 */
function isOnlyHost(request: IncomingMessage, host: string): boolean {
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(request.url ?? '')
  return hosts.length === 1 && (!absolute || absolute[1]?.toLowerCase() === host.toLowerCase())
}
