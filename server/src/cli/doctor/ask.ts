/** One GET at this service's own address, as an application or a browser would send it. */
import { type LookupAddress, lookup } from 'node:dns'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { text } from 'node:stream/consumers'

export type Asked =
  | { readonly status: number; readonly location: string | undefined; readonly body: string }
  /** The system's short name for it: ECONNREFUSED, ENOTFOUND, CERT_HAS_EXPIRED … */
  | { readonly fault: string }

const PATIENCE_MS = 5_000

/** Redirects are not followed: whoever is asked is to answer. */
export async function ask(address: string): Promise<Asked> {
  const url = new URL(address)
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { lookup: asBrowsersDo, signal: AbortSignal.timeout(PATIENCE_MS), agent: false as const }
      send(url, options, resolve).on('error', reject).end()
    })
    const { statusCode: status = 0, headers } = response
    return { status, location: headers.location, body: await text(response) }
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException
    return { fault: name === 'AbortError' || name === 'TimeoutError' ? 'no answer' : String(code ?? name) }
  }
}

/** Whatever ends with `.localhost` is this machine (RFC 6761, section 6.3), though not every system's resolver knows it. */
const asBrowsersDo: LookupFunction = (host, options, callback) =>
  lookup(/(^|\.)localhost$/.test(host) ? 'localhost' : host, { ...options, all: true }, (error, found) => {
    const [first] = found ?? ([] as LookupAddress[])
    if (options.all) return callback(error, found ?? [])
    callback(error, first?.address ?? '', first?.family)
  })
