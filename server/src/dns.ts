/**
 * Dns: asks name servers for the texts under a name (TXT, RFC 1035, section 3.3.14), and nothing else. No address that
 * they know of is ever connected to.
 */
import { Resolver } from 'node:dns/promises'

export type TextAnswer =
  | { readonly outcome: 'found'; readonly texts: readonly string[] }
  /** There is no such name, or it has no texts. */
  | { readonly outcome: 'none' }
  /** Nobody answered in time, or with nothing but an error. */
  | { readonly outcome: 'silent' }

export type Dns = { resolveTxt(name: string): Promise<TextAnswer> }

type Patience = {
  /** For one question to one server; the next try waits longer. */
  readonly tryMs?: number
  readonly tries?: number
  /** The whole of it, whatever the servers do. */
  readonly wholeMs?: number
}

const NOTHING_THERE: readonly unknown[] = ['ENOTFOUND', 'ENODATA']

/** `servers`: `address` or `address:port`; none: the machine's own. */
export function createDns(
  servers: readonly string[],
  { tryMs = 1_500, tries = 2, wholeMs = 5_000 }: Patience = {},
): Dns {
  return {
    resolveTxt: async (name) => {
      // One for each question: giving up on this one must not end the others.
      const resolver = new Resolver({ timeout: tryMs, tries })
      if (servers.length > 0) resolver.setServers(servers)
      const enough = setTimeout(() => resolver.cancel(), wholeMs)
      try {
        const records = await resolver.resolveTxt(name)
        // An alias that leads nowhere is answered, but with nothing.
        if (records.length === 0) return { outcome: 'none' }
        // A text above 255 bytes comes in several strings (RFC 7208, section 3.3).
        return { outcome: 'found', texts: records.map((strings) => strings.join('')) }
      } catch (error) {
        return { outcome: NOTHING_THERE.includes((error as NodeJS.ErrnoException).code) ? 'none' : 'silent' }
      } finally {
        clearTimeout(enough)
      }
    },
  }
}
