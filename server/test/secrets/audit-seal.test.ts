/** The seal of an audit event: which bytes it covers, without ambiguity. */
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson, encodeEntry, NO_SEAL, sealEntry } from '../../src/secrets/audit-seal.ts'
import { parseKeyset } from '../../src/secrets/keyset.ts'

const KEY = 'q'.repeat(43)
const keyset = parseKeyset(`1:${KEY},2:${'r'.repeat(43)}`)
if ('problem' in keyset) throw new Error(keyset.problem)
const { signing: key } = keyset
const other = keyset.byId.get(2) ?? key

const ENTRY = { id: '7', kind: 'session.started', account_id: null, detail: '{"how": "password"}' }
const place = { previous: NO_SEAL, position: 1 }

test('it is HMAC-SHA-256 over the seal before it, the position and the hash of the entry, under a key for nothing else', () => {
  const field = (text: string) => `${'\0'.repeat(3)}${String.fromCharCode(text.length)}${text}`
  const entry = ['detail', '{"how":"password"}', 'id', '7', 'kind', 'session.started'].map(field).join('')
  const subKey = Buffer.from(
    hkdfSync('sha256', Buffer.from(KEY, 'base64url'), Buffer.alloc(0), 'latchkey/audit-seal', 32),
  )
  const expected = createHmac('sha256', subKey)
    .update(Buffer.alloc(32))
    .update(Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]))
    .update(createHash('sha256').update(entry).digest())
    .digest()
  expect(sealEntry(key, place, ENTRY)).toEqual(expected)
})

test('another key, position, predecessor or event gives another seal', () => {
  const seals = [
    sealEntry(key, place, ENTRY),
    sealEntry(other, place, ENTRY),
    sealEntry(key, { ...place, position: 2 }, ENTRY),
    sealEntry(key, { ...place, previous: Buffer.alloc(32, 1) }, ENTRY),
    sealEntry(key, place, { ...ENTRY, id: '8' }),
  ]
  expect(new Set(seals.map((seal) => seal.toString('hex'))).size).toBe(seals.length)
})

test('a null column may be added later without breaking a seal; an empty text is not null', () => {
  expect(encodeEntry({ ...ENTRY, actor: null })).toEqual(encodeEntry(ENTRY))
  expect(encodeEntry({ ...ENTRY, actor: '' })).not.toEqual(encodeEntry(ENTRY))
})

test('no two different rows have the same encoding, whatever their columns contain', () => {
  const row = fc.dictionary(fc.string({ maxLength: 3 }), fc.option(fc.string({ maxLength: 4 })), {
    maxKeys: 4,
    noNullPrototype: true,
  })
  const known = (each: Record<string, string | null>) =>
    JSON.stringify(
      Object.entries(each)
        .filter(([, value]) => value !== null)
        .sort(),
    )
  fc.assert(
    fc.property(row, row, (one, two) => {
      fc.pre(!('detail' in one) && !('detail' in two))
      expect(encodeEntry(one).equals(encodeEntry(two))).toBe(known(one) === known(two))
    }),
    { numRuns: 2_000 },
  )
})

describe('detail', () => {
  test('is the same in any order and with any white space', () => {
    expect(canonicalJson('{"b": [1, {"y": 1, "x": "ü"}], "a": null}')).toBe('{"a":null,"b":[1,{"x":"ü","y":1}]}')
    expect(canonicalJson('{"a":null,\n "b":[1,{"x":"\\u00fc","y":1}]}')).toBe('{"a":null,"b":[1,{"x":"ü","y":1}]}')
  })

  test('keeps every digit of a number', () => {
    expect(canonicalJson('[1.0, 1, 12345678901234567890, 0.1000]')).toBe('[1.0,1,12345678901234567890,0.1000]')
  })

  test('with a name of Object.prototype is an ordinary field', () => {
    expect(canonicalJson('{"__proto__": {"a": 1}, "constructor": 2}')).toBe('{"__proto__":{"a":1},"constructor":2}')
  })

  test('with deep nesting is sealed as it is', () => {
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
    expect(canonicalJson(deep)).toBe(deep)
  })

  test.each([
    ['lists', (depth: number) => `${'['.repeat(depth)} 1${']'.repeat(depth)}`],
    ['objects', (depth: number) => `${'{"a":'.repeat(depth)} 1${'}'.repeat(depth)}`],
  ])('is rewritten to a depth of 64: %s', (_of, nested) => {
    expect(canonicalJson(nested(64))).toBe(nested(64).replace(' ', ''))
    expect(canonicalJson(nested(65))).toBe(nested(65))
  })

  test('is rewritten with any number of members side by side', () => {
    expect(canonicalJson(`[${'[ ],'.repeat(100)}{ }]`)).toBe(`[${'[],'.repeat(100)}{}]`)
    expect(canonicalJson(`[${'{ },'.repeat(100)}[ ]]`)).toBe(`[${'{},'.repeat(100)}[]]`)
  })

  test.each([
    [' "a" ', '"a"'],
    [' 1.50 ', '1.50'],
    [' null ', 'null'],
    [' true ', 'true'],
  ])('may be a single value: %s', (text, canonical) => {
    expect(canonicalJson(text)).toBe(canonical)
  })

  test('with three names is sorted from any order', () => {
    for (const names of ['abc', 'acb', 'bac', 'bca', 'cab', 'cba']) {
      const text = `{${Array.from(names, (name) => `"${name}":0`).join()}}`
      expect(canonicalJson(text)).toBe('{"a":0,"b":0,"c":0}')
    }
  })

  test('has one meaning in every spelling', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        expect(JSON.parse(canonicalJson(JSON.stringify(value)))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })
})
