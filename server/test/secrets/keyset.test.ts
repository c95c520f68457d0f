/** LATCHKEY_KEYS: parsing, error messages and sub-keys. */
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createKey, dropKey, type Keyset, type Purpose, parseKeyset } from '../../src/secrets/keyset.ts'
import { mac } from '../../src/secrets/mac.ts'

const KEY = 'q'.repeat(43)
const MESSAGE = Buffer.from('message')

const PURPOSES: readonly Purpose[] = [
  'management-key',
  'revocation-journal',
  'stored-response',
  'device-code',
  'user-code',
  'user-code-digest',
  'access-token',
  'refresh-token',
  'access-key',
  'authorization-code',
  'dialog-reference',
  'account-reference',
  'pushed-request',
  'application-secret',
  'test-secret',
  'idempotency-key',
  'session',
  'link',
  'form',
  'second-step',
  'hand-over',
  'provider-sign-in',
  'provider-secret',
  'challenge',
  'browser',
  'authenticator',
  'authenticator-setup',
  'recovery-code',
  'decision',
  'address',
  'webhook',
  'audit-seal',
  'audit-detachment',
  'publisher',
]

function readKeyset(text: string): Keyset {
  const keyset = parseKeyset(text)
  if ('problem' in keyset) throw new Error(keyset.problem)
  return keyset
}

describe('reading', () => {
  test('the first key signs, all of them verify', () => {
    const keyset = readKeyset([createKey(7), createKey(1), createKey(255)].join(','))
    expect(keyset.signing.id).toBe(7)
    expect([...keyset.byId.keys()]).toEqual([7, 1, 255])
    expect(keyset.byId.get(7)).toBe(keyset.signing)
    expect(keyset.byId.get(2)).toBeUndefined()
  })

  test.each([', ', '\n', ',', ' \t', ',\n'])('keys may be separated by %j', (separator) => {
    const keyset = readKeyset(`${separator}1:${KEY}${separator}2:${KEY}${separator}`)
    expect([...keyset.byId.keys()]).toEqual([1, 2])
  })

  const FORM = 'each key is written as id:key, a number and 43 base64url characters'
  test.each([
    ['', 'no key is given'],
    [' ,\n', 'no key is given'],
    [KEY, FORM],
    [`1:${KEY}q`, FORM],
    [`1:${KEY.slice(1)}`, FORM],
    [`1:${KEY.slice(1)}=`, FORM],
    [`1:${KEY.slice(1)}+`, FORM],
    [`one:${KEY}`, FORM],
    [`-1:${KEY}`, FORM],
    [`1000:${KEY}`, FORM],
    [`1:${KEY},2`, FORM],
    [`0:${KEY}`, 'the key id 0 is not between 1 and 255'],
    [`256:${KEY}`, 'the key id 256 is not between 1 and 255'],
    [`3:${KEY},4:${KEY},3:${'r'.repeat(43)}`, 'the key id 3 is given twice'],
    [`3:${KEY},03:${KEY}`, 'the key id 3 is given twice'],
  ])('%j: %s', (text, problem) => {
    expect(parseKeyset(text)).toEqual({ problem })
  })

  test.each([KEY, `1:${KEY}q`, `0:${KEY}`, `1:${KEY},1:${KEY}`])('a problem never shows the key: %j', (text) => {
    expect(JSON.stringify(parseKeyset(text))).not.toContain(KEY.slice(0, 8))
  })
})

describe('sub-keys', () => {
  test('differ by purpose, so that a text made for one cannot serve another', () => {
    const { signing } = readKeyset(createKey(1))
    expect(Object.keys(signing.for).sort()).toEqual([...PURPOSES].sort())
    const codes = PURPOSES.map((purpose) => mac(signing.for[purpose], MESSAGE).toString('hex'))
    expect(new Set(codes).size).toBe(PURPOSES.length)
  })

  test.each(PURPOSES)(
    '%s: HKDF as RFC 5869 has it. Another derivation would end everything that was ever signed',
    (purpose) => {
      const key = Buffer.alloc(32, 9)
      const { signing } = readKeyset(`1:${key.toString('base64url')}`)
      const extracted = createHmac('sha256', Buffer.alloc(32)).update(key).digest()
      const expanded = createHmac('sha256', extracted).update(`latchkey/${purpose}\u0001`).digest()
      expect(mac(signing.for[purpose], MESSAGE)).toEqual(createHmac('sha256', expanded).update(MESSAGE).digest())
    },
  )

  test('do not depend on the key’s id or on other keys', () => {
    const alone = readKeyset(`1:${KEY}`).signing
    const second = readKeyset(`${createKey(1)},2:${KEY}`).byId.get(2)
    expect(second?.for['device-code']).toEqual(alone.for['device-code'])
  })
})

test('a key that is dropped is in the set no longer; the others stay', () => {
  const keyset = readKeyset(`2:${KEY},1:${createKey(1).slice(2)}`)
  dropKey(keyset, 1)
  expect([...keyset.byId.keys()]).toEqual([2])
  dropKey(keyset, 9)
  expect([...keyset.byId.keys()]).toEqual([2])
})

test('a created key can be read, has its number, and is another one each time', () => {
  expect(readKeyset(createKey(42)).signing.id).toBe(42)
  expect(createKey(1)).not.toBe(createKey(1))
})
