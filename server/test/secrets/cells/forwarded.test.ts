/** The mark of a forwarded request: for one cell, one request and one client. */
import { createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isForwarded, signForwarded } from '../../../src/secrets/cells/forwarded.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'

const KEY = 'q'.repeat(43)
const keysetOf = (...entries: readonly string[]) => parseKeyset(entries.join(',')) as Keyset
const keys = keysetOf(`1:${KEY}`)
const request = { to: 3, requestId: '0123456789abcdef', address: '192.0.2.7' }
const mark = signForwarded(keys, request)

describe('the mark', () => {
  // Cells of two versions read each other's marks.
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    [null, ''],
  ])('is the key id and half an HMAC over the request, whose client is %s', (address, written) => {
    const subKey = hkdfSync('sha256', Buffer.from(KEY, 'base64url'), Buffer.alloc(0), 'latchkey/cell-message', 32)
    const message = Buffer.concat([Buffer.of(1), Buffer.from(`forwarded\n3\n0123456789abcdef\n${written}`)])
    const code = createHmac('sha256', Buffer.from(subKey)).update(message).digest().subarray(0, 16)
    const expected = Buffer.concat([Buffer.of(1), code]).toString('base64url')
    expect(signForwarded(keys, { ...request, address })).toBe(expected)
  })

  it('is accepted for its request, also after another key signs', () => {
    expect(isForwarded(keys, mark, request)).toBe(true)
    expect(isForwarded(keysetOf(createKey(2), `1:${KEY}`), mark, { ...request })).toBe(true)
  })

  it.each([
    ['another cell', { to: 4 }],
    ['another request', { requestId: 'fedcba9876543210' }],
    ['another client', { address: '192.0.2.8' }],
    ['an unknown client', { address: null }],
  ])('is refused for %s', (_what, other) => {
    expect(isForwarded(keys, mark, { ...request, ...other })).toBe(false)
  })

  it('is refused altered, and under other keys', () => {
    for (const other of ['', mark.slice(1), mark.slice(0, -1), `${mark}A`, `${mark}=`, ` ${mark}`]) {
      expect(isForwarded(keys, other, request)).toBe(false)
    }
    expect(isForwarded(keysetOf(createKey(1)), mark, request)).toBe(false)
    expect(isForwarded(keysetOf(createKey(2)), mark, request)).toBe(false)
  })
})
