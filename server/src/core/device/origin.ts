/** Origin of a request compared with the user's: a code requested from somewhere else may have been dictated to the user. */
import { networkOf } from '../network.ts'

/** A client as far as it is known. `asn`: autonomous system number of its network. */
export type Client = { readonly address: string | null; readonly country: string | null; readonly asn: number | null }

/** `unknown`: an address is missing, or one is IPv4 and the other IPv6, which one site may well have both of. */
export type Origin = 'same' | 'other_country' | 'other_network' | 'unknown'

/** Countries decide where both are known; otherwise networks: autonomous systems, or address prefixes. */
export function compareOrigin(requester: Client, user: Client): Origin {
  if (requester.country !== null && user.country !== null)
    return requester.country === user.country ? 'same' : 'other_country'
  if (requester.asn !== null && user.asn !== null) return requester.asn === user.asn ? 'same' : 'other_network'
  const [requested, used] = [networkOf(requester.address), networkOf(user.address)]
  if (isLoopback(requester.address) && isLoopback(user.address)) return 'same'
  if (requested === null || used === null || isIpv6(requested) !== isIpv6(used)) return 'unknown'
  return requested === used ? 'same' : 'other_network'
}

function isLoopback(address: string | null): boolean {
  return address !== null && /^(?:127\.|::1$)/.test(address)
}

function isIpv6(network: string): boolean {
  return network.includes(':')
}
