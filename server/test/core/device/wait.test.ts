/** `Prefer: wait` (RFC 7240). */
import { expect, test } from 'vitest'
import { readWait } from '../../../src/core/device/wait.ts'

test.each([
  ['wait=10', 10],
  ['wait=25', 25],
  ['wait=26', 25],
  ['wait=999999999', 25],
  ['Wait = 10', 10],
  ['wait="10"', 10],
  ['respond-async, wait=10', 10],
  ['wait=10; foo=bar', 10],
  ['wait=10, wait=20', 10],
  ['wait=1', 1],
  ['wait=24', 24],
  ['respond-async,  wait  =  "10"  ; foo=bar', 10],
  ['foo="a=b", wait=10', 10],
])('%s waits %d seconds at most', (prefer, seconds) => {
  expect(readWait(prefer)).toBe(seconds)
})

test.each([
  null,
  '',
  'wait',
  'wait=',
  'wait=0',
  'wait=-1',
  'wait=1.5',
  'wait=soon',
  'waiting=10',
  'foo=bar',
  'wait=9999999999',
  'wait=x10',
  'wait=10x',
  'wait=1 0',
  'wait=""',
  'wait=00',
  'wait=0, wait=10',
  'wait=soon, wait=10',
  'foo; wait=10',
])('%s does not wait', (prefer) => {
  expect(readWait(prefer)).toBeNull()
})
