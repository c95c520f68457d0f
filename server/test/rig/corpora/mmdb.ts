/** Writes a small MaxMind database (format 2.0): the binary tree, the records and the metadata. */
import { writeFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'

export type Value = string | number | readonly Value[] | { readonly [key: string]: Value }

/** Two children: another node, a record, or none. */
type Way = { readonly node: number } | { readonly record: number } | null

export function writeMmdb(
  path: string,
  entries: readonly (readonly [cidr: string, record: Value])[],
  { type = 'GeoLite2-City', ipVersion = 6 }: { type?: string; ipVersion?: 4 | 6 } = {},
): string {
  const nodes: [Way, Way][] = [[null, null]]
  const records: Buffer[] = []
  let recordBytes = 0
  for (const [cidr, record] of entries) {
    insert(nodes, bitsOf(cidr, ipVersion), { record: recordBytes })
    records.push(encode(record))
    recordBytes += records.at(-1)?.length ?? 0
  }
  const tree = nodes.flat().map((way) => {
    const value = way === null ? nodes.length : 'node' in way ? way.node : nodes.length + 16 + way.record
    return Buffer.of(value >> 16, (value >> 8) & 255, value & 255)
  })
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: type,
    description: { en: 'for tests' },
    ip_version: ipVersion,
    languages: ['en', 'de'],
    node_count: nodes.length,
    record_size: 24,
  })
  const marker = Buffer.from('\u00ab\u00cd\u00efMaxMind.com', 'latin1')
  writeFileSync(path, Buffer.concat([...tree, Buffer.alloc(16), ...records, marker, metadata]))
  return path
}

function insert(nodes: [Way, Way][], bits: readonly (0 | 1)[], way: Way): void {
  let at = 0
  for (const [depth, bit] of bits.entries()) {
    const node = nodes[at] as [Way, Way]
    if (depth === bits.length - 1) {
      node[bit] = way
      return
    }
    const next = node[bit]
    if (next && 'node' in next) at = next.node
    else {
      at = nodes.push([next, next]) - 1
      node[bit] = { node: at }
    }
  }
}

/** In a database for both families, an IPv4 address is the last 32 of 128 bits. */
function bitsOf(cidr: string, ipVersion: 4 | 6): (0 | 1)[] {
  const [address = '', prefix] = cidr.split('/')
  const short = isIPv4(address)
  const bytes = short ? address.split('.').map(Number) : bytesOf(address)
  const padded = short && ipVersion === 6 ? [...Array.from({ length: 12 }, () => 0), ...bytes] : bytes
  const bits = padded.flatMap((byte) => Array.from(byte.toString(2).padStart(8, '0'), (bit) => (bit === '1' ? 1 : 0)))
  return bits.slice(0, Number(prefix) + (padded.length - bytes.length) * 8)
}

function bytesOf(address: string): number[] {
  const [head = '', tail = ''] = address.split('::')
  const groups = (half: string) => half.split(':').filter((group) => group !== '')
  const zeros = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => '0')
  return [...groups(head), ...zeros, ...groups(tail)].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}

/** Text, unsigned 32-bit numbers, lists and maps. */
function encode(value: Value): Buffer {
  if (typeof value === 'string') return Buffer.concat([control(2, Buffer.byteLength(value)), Buffer.from(value)])
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(value)
    return Buffer.concat([control(6, 4), bytes])
  }
  if (Array.isArray(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)])
  const entries = Object.entries(value as Record<string, Value>)
  return Buffer.concat([control(7, entries.length), ...entries.flatMap(([key, each]) => [encode(key), encode(each)])])
}

function control(type: number, size: number): Buffer {
  const [short, ...more] = size < 29 ? [size] : [29, size - 29]
  return type <= 7 ? Buffer.of((type << 5) | short, ...more) : Buffer.of(short, type - 7, ...more)
}
