/** Client address of a request: the peer, or the address that a trusted proxy reports in X-Forwarded-For. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIPv4 } from 'node:net'
import { readAddress } from '../core/network.ts'

export type AddressReader = (remote: string | undefined, forwardedFor: string | null) => string | null

export type RequestAddressReader = (request: IncomingMessage) => string | null

/**
 * `trusted` are the networks of our own proxies. Each proxy appends its peer to the right end of X-Forwarded-For, so
 * the list is read from the right; entries left of the first untrusted address were supplied by that client and are
 * ignored.
 */
export function createAddressReader(trusted: readonly string[]): AddressReader {
  const isProxy = createNetworkCheck(trusted)

  return (remote, forwardedFor) => {
    let nearest = remote === undefined ? null : readAddress(remote)
    for (const hop of forwardedFor?.split(',').reverse() ?? []) {
      if (nearest === null || !isProxy(nearest)) break
      const address = readAddress(withoutPort(hop.trim()))
      if (address === null) break
      nearest = address
    }
    return nearest
  }
}

/** Whether an address, as normalized by `readAddress`, is in one of the networks. */
export function createNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks) addNetwork(list, network)
  return (address) => list.check(address, familyOf(address))
}

/** Accepts CIDR notation or a single address. */
function addNetwork(list: BlockList, network: string): void {
  const [text = '', prefix] = network.split('/')
  const address = readAddress(text)
  if (address === null) throw new RangeError(`"${network}" is not a network`)
  const family = familyOf(address)
  const isMapped = family === 'ipv4' && text.includes(':')
  const max = family === 'ipv4' ? 32 : 128
  list.addSubnet(address, prefix === undefined ? max : Number(prefix) - (isMapped ? 96 : 0), family)
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}

/** Some proxies add the port: 192.0.2.1:4711, [2001:db8::1]:4711. */
function withoutPort(hop: string): string {
  return hop.replace(/^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
}
