/**
 * Reads a request header that may occur only once; null if it is absent. If a header is repeated, Node joins the values
 * with `, `, which no caller accepts. For some headers Node keeps only the first value; of these, `authorization` is
 * rejected if it is repeated, because a proxy may have checked the other value.
 */
import type { IncomingMessage } from 'node:http'
import { Refusal } from '../core/refusal.ts'

export function singleHeader(request: IncomingMessage, name: string): string | null {
  const value = request.headers[name]
  if (typeof value !== 'string') return null
  if (name === 'authorization' && isRepeated(request, name)) {
    throw new Refusal('invalid_request', 'There is more than one Authorization header.')
  }
  return value
}

function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let times = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? ''
    if (given.length === name.length && given.toLowerCase() === name) times += 1
  }
  return times > 1
}
