/** A header that was given once. Given twice, nobody can tell which one is meant. */
import type { IncomingMessage } from 'node:http'

export function singleHeader(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name]
  return typeof value === 'string' ? value : null
}
