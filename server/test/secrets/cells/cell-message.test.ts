/** MACs of messages between cells. */
import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  signCellRequest,
  signCellResponse,
  verifyCellRequest,
  verifyCellResponse,
} from '../../../src/secrets/cells/cell-message.ts'
import { createKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'

const [keys, others] = [parseKeyset(createKey(1)) as Keyset, parseKeyset(createKey(1)) as Keyset]
const message = { cell: 3, path: '/cells/look', body: '{"a":1}' }
const NOW = 1_800_000_000_000

it('a request is accepted by the cell it was made for, as it was made, for half a minute', () => {
  const proof = signCellRequest(keys, message, NOW)
  expect(verifyCellRequest(keys, message, proof, NOW + 30_000)).toBe(true)
  expect(verifyCellRequest(keys, message, proof, NOW - 30_000)).toBe(true)
  expect(verifyCellRequest(keys, message, proof, NOW + 30_001)).toBe(false)
  expect(verifyCellRequest(keys, { ...message, cell: 4 }, proof, NOW)).toBe(false)
  expect(verifyCellRequest(keys, { ...message, path: '/cells/close' }, proof, NOW)).toBe(false)
  expect(verifyCellRequest(keys, { ...message, body: '{"a":2}' }, proof, NOW)).toBe(false)
  expect(verifyCellRequest(others, message, proof, NOW)).toBe(false)
  expect(verifyCellRequest(keys, message, '', NOW)).toBe(false)
  expect(verifyCellRequest(keys, message, proof.replace(String(NOW), String(NOW + 1)), NOW)).toBe(false)
})

it('a response is accepted for its own request only', () => {
  const [proof, other] = [signCellRequest(keys, message, NOW), signCellRequest(keys, message, NOW + 1)]
  const signed = signCellResponse(keys, proof, '{}')
  expect(verifyCellResponse(keys, proof, '{}', signed)).toBe(true)
  expect(verifyCellResponse(keys, other, '{}', signed)).toBe(false)
  expect(verifyCellResponse(keys, proof, '{"a":1}', signed)).toBe(false)
  expect(verifyCellResponse(others, proof, '{}', signed)).toBe(false)
})

describe('the proof of a request', () => {
  const keysOfThree = parseKeyset(`${createKey(7)},${createKey(42)},${createKey(255)}`) as Keyset
  const proof = signCellRequest(keysOfThree, message, NOW + 0.4)

  it('is the id of the key that signs, the time in whole milliseconds, and 43 characters', () => {
    expect(proof).toMatch(/^7\.1800000000000\.[A-Za-z0-9_-]{43}$/)
  })

  it('is accepted under every key that is in the set', () => {
    for (const signing of keysOfThree.byId.values()) {
      const made = signCellRequest({ ...keysOfThree, signing }, message, NOW)
      expect(verifyCellRequest(keysOfThree, message, made, NOW)).toBe(true)
      expect(verifyCellRequest(keys, message, made, NOW)).toBe(false)
    }
  })

  it('is as short in its early days, and refused 30 seconds and a millisecond before its time', () => {
    expect(verifyCellRequest(keys, message, signCellRequest(keys, message, 5), 5)).toBe(true)
    expect(verifyCellRequest(keys, message, signCellRequest(keys, message, NOW), NOW - 30_001)).toBe(false)
  })

  it('has one spelling', () => {
    const [id = '', time = '', code = ''] = proof.split('.')
    const spellings = [
      ` ${proof}`,
      `${proof}A`,
      `${proof}=`,
      `${proof}\n`,
      `x${proof}`,
      `000${proof}`,
      `${id}.${time}`,
      `${id}..${code}`,
      `.${time}.${code}`,
      `${id}.${time}.${code.slice(1)}`,
      `${id}.${time}.5${time}.${code}`,
      `${id}.-${time}.${code}`,
      `${id}.${time}.${code.slice(0, -1)}+`,
      `${id}:${time}:${code}`,
    ]
    for (const other of spellings) expect(verifyCellRequest(keysOfThree, message, other, NOW)).toBe(false)
  })
})

describe('the proof of a response', () => {
  const request = signCellRequest(keys, message, NOW)

  it('is the id of the key that signs, and 43 characters', () => {
    const key = parseKeyset(createKey(255)) as Keyset
    const signed = signCellResponse(key, request, '{}')
    expect(signed).toMatch(/^255\.[A-Za-z0-9_-]{43}$/)
    expect(verifyCellResponse(key, request, '{}', signed)).toBe(true)
  })

  it('is refused when its key is unknown, and altered', () => {
    const signed = signCellResponse(keys, request, '{}')
    const [id = '', code = ''] = signed.split('.')
    const spellings = [
      '',
      `2.${code}`,
      `x${signed}`,
      `000${signed}`,
      `${signed}A`,
      `${signed}\n`,
      `${id}.`,
      `.${code}`,
      `${id}.${code.slice(1)}`,
      `${id}.${code.slice(0, -1)}*`,
      `${id}:${code}`,
    ]
    for (const other of spellings) expect(verifyCellResponse(keys, request, '{}', other)).toBe(false)
  })

  it('cannot be used as that of a request, nor the other way round', () => {
    const code = request.split('.')[2] ?? ''
    expect(verifyCellResponse(keys, request, message.body, `1.${code}`)).toBe(false)
    const signed = signCellResponse(keys, request, message.body).split('.')[1] ?? ''
    expect(verifyCellRequest(keys, message, `1.${NOW}.${signed}`, NOW)).toBe(false)
  })
})

it('both proofs are HMACs over lines and the hash of the body: cells of two versions read each other’s', () => {
  const key = 'q'.repeat(43)
  const own = parseKeyset(`9:${key}`) as Keyset
  const subKey = hkdfSync('sha256', Buffer.from(key, 'base64url'), Buffer.alloc(0), 'latchkey/cell-message', 32)
  const codeOf = (...lines: readonly string[]) =>
    createHmac('sha256', Buffer.from(subKey)).update(lines.join('\n')).digest('base64url')
  const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
  const request = signCellRequest(own, message, NOW)
  expect(request).toBe(`9.${NOW}.${codeOf('request', 'POST', '3', '/cells/look', `${NOW}`, hashOf('{"a":1}'))}`)
  expect(signCellResponse(own, request, '{}')).toBe(`9.${codeOf('response', request, hashOf('{}'))}`)
})
