/** One GET request to this service's own address, as an application or a browser would send it. */
import { type LookupAddress, lookup } from 'node:dns'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { text } from 'node:stream/consumers'

export type Asked =
  | { readonly status: number; readonly location: string | undefined; readonly body: string }
  /** The system's error code: ECONNREFUSED, ENOTFOUND, CERT_HAS_EXPIRED … */
  | { readonly fault: string }

const TIMEOUT_MS = 5_000

/** Does not follow redirects: the address that is checked must answer itself. */
export async function ask(address: string): Promise<Asked> {
  const url = new URL(address)
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { lookup: asBrowsersDo, signal: AbortSignal.timeout(TIMEOUT_MS), agent: false as const }
      send(url, options, resolve).on('error', reject).end()
    })
    const { statusCode: status = 0, headers } = response
    return { status, location: headers.location, body: await text(response) }
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException
    return { fault: name === 'AbortError' || name === 'TimeoutError' ? 'no answer' : String(code ?? name) }
  }
}

/** Resolves `*.localhost` to this machine, as browsers do (RFC 6761, section 6.3); not every system's resolver does. */
const asBrowsersDo: LookupFunction = (host, options, callback) =>
  lookup(/(^|\.)localhost$/.test(host) ? 'localhost' : host, { ...options, all: true }, (error, found) => {
    const [first] = found ?? ([] as LookupAddress[])
    if (options.all) return callback(error, found ?? [])
    callback(error, first?.address ?? '', first?.family)
  })
