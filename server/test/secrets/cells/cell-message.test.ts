/** MACs of messages between cells, and the bucket of a slug. */
import { expect, it } from 'vitest'
import { bucketOfSlug, ownBucket } from '../../../src/secrets/bucket.ts'
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

it('the bucket of a slug is its CRC-32 modulo 4096, and that of a cell begins with f', () => {
  // CRC-32 of "123456789" is cbf43926, the check value of the algorithm.
  expect(bucketOfSlug('123456789')).toBe(0xcbf43926 % 4096)
  expect([ownBucket(null), ownBucket(99)]).toEqual([0, 0xf063])
})
