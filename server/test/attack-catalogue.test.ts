/** The catalogue of attacks: each has a test with its id in the title, but for those that are known to have none yet. */
import { expect, test } from 'vitest'
import { ATTACKS, WITHOUT_TEST } from './attacks/catalogue.ts'
import { attacksByFile } from './attacks/titles.ts'

const tested = new Set([...attacksByFile().values()].flatMap((ids) => [...ids]))

test('every attack has a test, but for those that are listed as having none', () => {
  expect(Object.keys(ATTACKS).filter((id) => !tested.has(id))).toEqual(WITHOUT_TEST)
})
