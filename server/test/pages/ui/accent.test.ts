/** Contrast of the accent colour that an account chooses. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { accentFor, contrastRatio } from '../../../src/pages/ui/accent.ts'

const stylesheet = readFileSync(new URL('../../../assets/latchkey.css', import.meta.url), 'utf8')

function property(name: string): { readonly light: string; readonly dark: string } {
  const [, light = '', dark = ''] = new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`).exec(stylesheet) ?? []
  return { light, dark }
}

const channel = fc.integer({ min: 0, max: 255 }).map((value) => value.toString(16).padStart(2, '0'))
const colours = fc.tuple(channel, channel, channel).map((channels) => `#${channels.join('')}`)

test('an accent has a contrast of 4.5 and more on every background, and so has the text on it', () => {
  const others = ['canvas', 'surface', 'on-accent'].map(property)
  expect(others.flatMap(Object.values)).not.toContain('')
  fc.assert(
    fc.property(colours, (colour) => {
      const accent = accentFor(colour)
      for (const other of others) {
        expect(contrastRatio(accent?.light ?? '', other.light)).toBeGreaterThanOrEqual(4.5)
        expect(contrastRatio(accent?.dark ?? '', other.dark)).toBeGreaterThanOrEqual(4.5)
      }
    }),
    { numRuns: 500, examples: [['#ffffff'], ['#000000'], ['#ffd200'], ['#7f7f7f']] },
  )
})

test('every text of the stylesheet has a contrast of 4.5 and more on its backgrounds', () => {
  const pairs = [
    ...['ink', 'ink-soft', 'accent', 'danger', 'success', 'warning'].flatMap((text) =>
      ['canvas', 'surface', 'sunken'].map((ground) => [text, ground] as const),
    ),
    ['success', 'success-ground'],
    ['warning', 'warning-ground'],
    ['danger', 'danger-ground'],
    ['on-accent', 'danger'],
  ] as const
  const faint = pairs.filter(([text, ground]) =>
    (['light', 'dark'] as const).some((theme) => contrastRatio(property(text)[theme], property(ground)[theme]) < 4.5),
  )
  expect(faint).toEqual([])
})

test('an invalid colour gives no accent', () => {
  expect([null, '', '#FFF', '#12345', 'red', '#12345g', '#123456;'].map(accentFor)).toEqual(Array(7).fill(null))
})
