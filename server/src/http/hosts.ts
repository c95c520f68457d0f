/** Which account a request is for: decided by its Host alone, compared with PUBLIC_URL to the letter, port included. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../core/refusal.ts'

/** The slug in front of our own host, or null where the request is not for an account. */
export type HostReader = (request: IncomingMessage) => string | null

/** As much as an account's name in front of the host can be: one label of a host name. */
const LABEL = /^[a-z0-9-]{1,63}$/

/** Within our host, but nobody's: no account can have this name. */
const NOBODY = '-'

export function createHostReader(publicUrl: string): HostReader {
  const suffix = `.${new URL(publicUrl).host}`
  return (request) => {
    const host = request.headers.host ?? ''
    if (!host.toLowerCase().endsWith(suffix)) return null
    if (!isAlone(request, host)) throw new Refusal('invalid_request')
    const slug = host.slice(0, -suffix.length).toLowerCase()
    return LABEL.test(slug) ? slug : NOBODY
  }
}

/** A second Host, or an address in the request line that names another one: layers that disagree let somebody through. */
function isAlone(request: IncomingMessage, host: string): boolean {
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(request.url ?? '')
  return hosts.length === 1 && (!absolute || absolute[1]?.toLowerCase() === host.toLowerCase())
}
