/** AP-11: a value in any bytes is read exactly or refused, never repaired. */
import { randomInt } from 'node:crypto'
import { expect, it } from 'vitest'
import { Refusal } from '../../src/core/refusal.ts'
import { readParameters } from '../../src/http/parameters.ts'
import { figure, sized } from '../rig/size.ts'

const VALUES = sized(1_000_000, 20_000)

/** Good and bad UTF-8: overlong, surrogates, beyond Unicode, cut off, continuation alone, byte order marks, NUL. */
const PIECES = [
  ...[
    '41',
    '20',
    '2b',
    '25',
    '26',
    '3d',
    '00',
    '0d0a',
    '7f',
    'c3a9',
    'e282ac',
    'f09f9191',
    'efbbbf',
    'efbfbd',
    'f48fbfbf',
  ],
  ...[
    'c0af',
    'c080',
    'e08080',
    'eda080',
    'edbfbf',
    'f4908080',
    'f8888080',
    'c3',
    'e282',
    'f09f91',
    '80',
    'bf',
    'fe',
    'ff',
  ],
].map((hex) => Buffer.from(hex, 'hex'))

/** As bytes of a body: each one as it is, or encoded. */
const written = (value: Buffer, plain: boolean) =>
  Buffer.concat(
    Array.from(value, (byte) =>
      plain && byte > 0x7f ? Buffer.of(byte) : Buffer.from(`%${byte.toString(16).padStart(2, '0')}`),
    ),
  )

it(`AP-11: of ${figure(VALUES)} values in good and bad UTF-8, the good ones are read byte for byte and the others refused`, () => {
  const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let good = 0
  for (let count = 0; count < VALUES; count += 1) {
    // Every other one of good pieces only, or hardly any would be good.
    const kinds = count % 2 === 0 ? 15 : PIECES.length
    const value = Buffer.concat(Array.from({ length: 1 + randomInt(6) }, () => PIECES[randomInt(kinds)] ?? Buffer.of()))
    const bytes = Buffer.concat([Buffer.from('state='), written(value, randomInt(2) === 0)])
    const read = outcomeOf(() => readParameters('', { bytes, parts: null }).get('state'))
    const right = outcomeOf(() => strict.decode(value))
    if (right !== null) good += 1
    if (read !== right || (read !== null && !Buffer.from(read).equals(value))) {
      expect.fail(`${value.toString('hex')} was read as ${JSON.stringify(read)}`)
    }
  }
  expect(good).toBeGreaterThan(VALUES / 3)
  expect(good).toBeLessThan(VALUES)
})

function outcomeOf(read: () => string | undefined): string | null {
  try {
    return read() ?? null
  } catch (error) {
    if (error instanceof Refusal || error instanceof TypeError) return null
    throw error
  }
}
