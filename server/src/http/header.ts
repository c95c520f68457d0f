/**
 * Reads a request header that is meant to be given once; null if it is absent. A repeated one is ambiguous: Node joins
 * the values with `, `, except for headers such as `authorization`, of which it keeps the first.
 */
import type { IncomingMessage } from 'node:http'

export function singleHeader(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name]
  return typeof value === 'string' ? value : null
}
