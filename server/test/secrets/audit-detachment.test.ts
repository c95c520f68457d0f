/** The signed record of a detached month: what its MAC covers. */
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type DetachedMonth,
  type Detachment,
  isSigned,
  plainRuns,
  readRuns,
  signDetachment,
} from '../../src/secrets/audit-detachment.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'

const KEY = 'q'.repeat(43)
const keysetOf = (...entries: readonly string[]) => parseKeyset(entries.join(',')) as Keyset
const keys = keysetOf(`7:${KEY}`)

const bytes = (byte: string) => Buffer.from(byte.repeat(32), 'hex')
const OTHER = bytes('e5')

const content: DetachedMonth = {
  month: '2026-08',
  runs: [
    { from: 1, to: 3, previous: bytes('a1'), hash: bytes('b2') },
    { from: 7, to: 8, previous: bytes('c3'), hash: bytes('d4') },
  ],
}
const TEXT =
  `{"month":"2026-08","runs":[` +
  `{"from":1,"to":3,"previous":"${'a1'.repeat(32)}","hash":"${'b2'.repeat(32)}"},` +
  `{"from":7,"to":8,"previous":"${'c3'.repeat(32)}","hash":"${'d4'.repeat(32)}"}]}`
const MAC = createHmac(
  'sha256',
  Buffer.from(hkdfSync('sha256', Buffer.from(KEY, 'base64url'), Buffer.alloc(0), 'latchkey/audit-detachment', 32)),
)
  .update(createHash('sha256').update(TEXT).digest())
  .digest()

describe('the MAC', () => {
  const record = signDetachment(keys.signing, content)

  it('is HMAC-SHA-256 of the hash of the content, under a key for nothing else', () => {
    expect(record).toEqual({ ...content, keyId: 7, mac: MAC })
  })

  it('is valid for the record as it was signed, also after another key signs', () => {
    expect(isSigned(keys, record)).toBe(true)
    expect(isSigned(keysetOf(createKey(8), `7:${KEY}`), record)).toBe(true)
  })

  it.each<[string, Partial<Detachment>]>([
    ['another month', { month: '2026-09' }],
    ['no runs', { runs: [] }],
    ['another beginning', { runs: content.runs.map((run) => ({ ...run, from: 0 })) }],
    ['another end', { runs: content.runs.map((run) => ({ ...run, to: 9 })) }],
    ['another predecessor', { runs: content.runs.map((run) => ({ ...run, previous: OTHER })) }],
    ['another last hash', { runs: content.runs.map((run) => ({ ...run, hash: OTHER })) }],
    ['another MAC', { mac: OTHER }],
    ['a MAC that is cut off', { mac: MAC.subarray(1) }],
  ])('is not valid for %s', (_what, other) => {
    expect(isSigned(keys, { ...record, ...other })).toBe(false)
  })

  it('is not valid under another key of the same id, and unknown without its key', () => {
    expect(isSigned(keysetOf(createKey(7)), record)).toBe(false)
    expect(isSigned(keysetOf(createKey(8)), record)).toBeNull()
    expect(isSigned(keysetOf(`8:${KEY}`, createKey(7)), { ...record, keyId: 8 })).toBe(true)
  })
})

it('runs are written for the database with their hashes in hex, and read back', () => {
  const plain = plainRuns(content.runs)
  expect(plain).toEqual([
    { from: 1, to: 3, previous: 'a1'.repeat(32), hash: 'b2'.repeat(32) },
    { from: 7, to: 8, previous: 'c3'.repeat(32), hash: 'd4'.repeat(32) },
  ])
  expect(readRuns(plain)).toEqual(content.runs)
})
