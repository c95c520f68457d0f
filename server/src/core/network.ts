/** IP addresses in canonical spelling, and the network that an address belongs to. */

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

/**
 * Canonical spelling as PostgreSQL accepts it, or null if it is no address. IPv6 is shortened and loses its zone, which
 * has a meaning only on the machine that saw it; IPv4-mapped IPv6 becomes IPv4 (RFC 4291, section 2.5.5.2).
 */
export function readAddress(text: string): string | null {
  const bare = withoutZone(text)
  if (IPV4.test(bare)) return bare
  // The URL parser accepts only strict IPv6 and shortens it.
  const address = /^[0-9a-f:.]+$/i.test(bare) ? URL.parse(`http://[${bare}]`)?.hostname.slice(1, -1) : undefined
  if (!address) return null
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(address)
  return mapped ? [mapped[1], mapped[2]].flatMap(twoBytes).join('.') : address
}

function withoutZone(text: string): string {
  const [address = '', zone = '', ...rest] = text.split('%', 3)
  return address.includes(':') && /^[\w.:-]+$/.test(zone) && rest.length === 0 ? address : text
}

function twoBytes(hex = ''): [number, number] {
  const value = Number.parseInt(hex, 16)
  return [value >> 8, value & 255]
}

/** The /24 of an IPv4 or /48 of an IPv6 address, about one site, spelled as PostgreSQL's cidr. */
export function networkOf(address: string | null): string | null {
  const canonical = address === null ? null : readAddress(address)
  if (canonical === null) return null
  if (!canonical.includes(':')) return `${canonical.split('.', 3).join('.')}.0/24`
  const [left, right] = canonical.split('::')
  const [head, tail] = [groupsOf(left), groupsOf(right)]
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return `${readAddress(`${[...head, ...zeros, ...tail].slice(0, 3).join(':')}::`)}/48`
}

function groupsOf(half = ''): string[] {
  return half === '' ? [] : half.split(':')
}

/** Source of an attempt to sign in. */
export type Source = {
  /** As `networkOf` returns it, or UNKNOWN_NETWORK (gate/limiter.ts). */
  readonly network: string
  readonly accountId: string
}
