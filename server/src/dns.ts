/**
 * DNS client for TXT records only (RFC 1035, section 3.3.14). outbound.ts resolves the addresses of webhook hosts.
 */
import { Resolver } from 'node:dns/promises'

export type TextAnswer =
  | { readonly outcome: 'found'; readonly texts: readonly string[] }
  /** The name does not exist or has no TXT record. */
  | { readonly outcome: 'none' }
  /** No name server answered in time, or only with an error. */
  | { readonly outcome: 'silent' }

export type Dns = { resolveTxt(name: string): Promise<TextAnswer> }

type Patience = {
  /** Timeout of one query to one server; a retry waits longer. */
  readonly tryMs?: number
  readonly tries?: number
  /** Limit for the whole look-up. */
  readonly wholeMs?: number
}

const NO_RECORD_CODES: readonly unknown[] = ['ENOTFOUND', 'ENODATA']

/** `servers`: `address` or `address:port`; empty: the system's name servers. */
export function createDns(
  servers: readonly string[],
  { tryMs = 1_500, tries = 2, wholeMs = 5_000 }: Patience = {},
): Dns {
  return {
    resolveTxt: async (name) => {
      // One resolver per look-up: cancel() aborts every query of a resolver.
      const resolver = new Resolver({ timeout: tryMs, tries })
      if (servers.length > 0) resolver.setServers(servers)
      const timer = setTimeout(() => resolver.cancel(), wholeMs)
      try {
        const records = await resolver.resolveTxt(name)
        // A CNAME to a name without TXT records yields an empty answer.
        if (records.length === 0) return { outcome: 'none' }
        // A TXT record above 255 bytes consists of several strings (RFC 7208, section 3.3).
        return { outcome: 'found', texts: records.map((strings) => strings.join('')) }
      } catch (error) {
        return { outcome: NO_RECORD_CODES.includes((error as NodeJS.ErrnoException).code) ? 'none' : 'silent' }
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
