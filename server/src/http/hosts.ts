/** Which account a request is for: decided by its Host alone, compared with PUBLIC_URL to the letter, port included. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../core/refusal.ts'

/** The slug in front of our own host, or null where the request is not for an account. */
export type HostReader = (request: IncomingMessage) => string | null

export function createHostReader(publicUrl: string): HostReader {
  const suffix = `.${new URL(publicUrl).host}`
  return (request) => {
    const host = request.headers.host ?? ''
    if (!host.toLowerCase().endsWith(suffix)) return null
    const slug = host.slice(0, -suffix.length).toLowerCase()
    if (!isAlone(request, host)) throw new Refusal('invalid_request')
    return slug
  }
}

/** A second Host, or an address in the request line that names another one: layers that disagree let somebody through. */
function isAlone(request: IncomingMessage, host: string): boolean {
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(request.url ?? '')
  return hosts.length === 1 && (!absolute || absolute[1]?.toLowerCase() === host.toLowerCase())
}
