/** The signed record of an archived month: what its MAC covers, and that it has exactly one text. */
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  type ArchiveContent,
  type ArchiveRecord,
  isSigned,
  plainRuns,
  readRecord,
  readRuns,
  signArchive,
  writeRecord,
} from '../../src/secrets/audit-archive.ts'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'

const KEY = 'q'.repeat(43)
const keysetOf = (...entries: readonly string[]) => parseKeyset(entries.join(',')) as Keyset
const keys = keysetOf(`7:${KEY}`)

const [A, B, C, D, FILE] = ['a1', 'b2', 'c3', 'd4', 'e5'].map((byte) => Buffer.from(byte.repeat(32), 'hex')) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
  Buffer,
]

const content: ArchiveContent = {
  month: '2026-08',
  events: 5,
  runs: [
    { from: 1, to: 3, previous: A, hash: B },
    { from: 7, to: 8, previous: C, hash: D },
  ],
  sha256: FILE,
}
const PLAIN =
  `{"month":"2026-08","events":5,"runs":[` +
  `{"from":1,"to":3,"previous":"${'a1'.repeat(32)}","hash":"${'b2'.repeat(32)}"},` +
  `{"from":7,"to":8,"previous":"${'c3'.repeat(32)}","hash":"${'d4'.repeat(32)}"}],` +
  `"sha256":"${'e5'.repeat(32)}"`
const MAC = createHmac(
  'sha256',
  Buffer.from(hkdfSync('sha256', Buffer.from(KEY, 'base64url'), Buffer.alloc(0), 'latchkey/audit-archive', 32)),
)
  .update(createHash('sha256').update(`${PLAIN}}`).digest())
  .digest()
const TEXT = `${PLAIN},"key_id":7,"mac":"${MAC.toString('hex')}"}`

describe('the MAC', () => {
  const record = signArchive(keys.signing, content)

  it('is HMAC-SHA-256 of the hash of the content, under a key for nothing else', () => {
    expect(signArchive(keys.signing, content)).toEqual({ ...content, keyId: 7, mac: MAC })
  })

  it('is valid for the record as it was signed, also after another key signs', () => {
    expect(isSigned(keys, record)).toBe(true)
    expect(isSigned(keysetOf(createKey(8), `7:${KEY}`), record)).toBe(true)
  })

  it.each<[string, Partial<ArchiveRecord>]>([
    ['another month', { month: '2026-09' }],
    ['another number of events', { events: 6 }],
    ['no runs', { runs: [] }],
    ['another beginning', { runs: content.runs.map((run) => ({ ...run, from: 0 })) }],
    ['another end', { runs: content.runs.map((run) => ({ ...run, to: 9 })) }],
    ['another predecessor', { runs: content.runs.map((run) => ({ ...run, previous: FILE })) }],
    ['another last hash', { runs: content.runs.map((run) => ({ ...run, hash: FILE })) }],
    ['another file', { sha256: A }],
    ['another MAC', { mac: A }],
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

describe('the text', () => {
  it('has the fields in this order, and bytes in hex', () => {
    expect(writeRecord({ ...content, keyId: 7, mac: MAC })).toBe(TEXT)
  })

  it('is read back to the record', () => {
    expect(readRecord(TEXT)).toEqual({ ...content, keyId: 7, mac: MAC })
  })

  it('is that of a month without runs, too', () => {
    const empty = signArchive(keys.signing, { ...content, events: 0, runs: [] })
    expect(readRecord(writeRecord(empty))).toEqual(empty)
  })

  it.each([
    ['nothing', ''],
    ['no JSON', TEXT.slice(0, -1)],
    ['null', 'null'],
    ['an empty object', '{}'],
    ['white space after it', `${TEXT}\n`],
    ['white space in it', TEXT.replace(',"events"', ', "events"')],
    ['a field more', TEXT.replace(/\}$/, ',"x":1}')],
    ['a record without its MAC', TEXT.replace(/,"mac":"[^"]*"/, '')],
    ['a record without the id of its key', TEXT.replace(/,"key_id":\d+/, '')],
    ['a record without its month', TEXT.replace(/"month":"[^"]*",/, '')],
    ['a record without its number of events', TEXT.replace(/"events":\d+,/, '')],
    ['a record without the hash of its file', TEXT.replace(/,"sha256":"[^"]*"/, '')],
    ['a record without its runs', TEXT.replace(/"runs":\[.*\],/, '')],
    ['another order of the fields', TEXT.replace('"month":"2026-08","events":5', '"events":5,"month":"2026-08"')],
    ['a field twice', TEXT.replace('"events":5', '"events":6,"events":5')],
    ['hex in capitals', TEXT.replace('"sha256":"e5', '"sha256":"E5')],
    ['half a byte', TEXT.replace('"sha256":"e5', '"sha256":"5')],
    ['another spelling of a number', TEXT.replace('"events":5', '"events":5.0')],
    ['runs that are no list', TEXT.replace(/\[.*\]/, '{}')],
  ])('%s is no record', (_what, text) => {
    expect(text).not.toBe(TEXT)
    expect(readRecord(text)).toBeNull()
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
