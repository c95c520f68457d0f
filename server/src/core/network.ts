/** Addresses on the internet, in one spelling each, and the network that an address belongs to. */

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

/**
 * As PostgreSQL takes it, or null for what is no address: IPv6 shortened, without the zone, which means nothing outside the
 * machine it was seen on; and IPv4 as itself where it arrives dressed as IPv6 (RFC 4291, section 2.5.5.2).
 */
export function readAddress(text: string): string | null {
  const bare = withoutZone(text)
  if (IPV4.test(bare)) return bare
  // The rules for IPv6 in URLs are the strict ones, and shorten it on the way.
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

/** About one site: a /24 of IPv4, a /48 of IPv6, spelled as PostgreSQL's cidr spells it. */
export function networkOf(address: string | null): string | null {
  const read = address === null ? null : readAddress(address)
  if (read === null) return null
  if (!read.includes(':')) return `${read.split('.', 3).join('.')}.0/24`
  const [left, right] = read.split('::')
  const [head, tail] = [groupsOf(left), groupsOf(right)]
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return `${readAddress(`${[...head, ...zeros, ...tail].slice(0, 3).join(':')}::`)}/48`
}

function groupsOf(half = ''): string[] {
  return half === '' ? [] : half.split(':')
}
