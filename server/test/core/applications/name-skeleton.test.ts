/** AD-10: names that users confuse with another, and similar ones that they do not. */
import { describe, expect, test } from 'vitest'
import { isApplicationName } from '../../../src/core/applications/application.ts'
import { looksLike, nameSkeleton } from '../../../src/core/applications/name-skeleton.ts'
import { honestNeighbours, lookAlikes } from '../../attacks/applications/look-alikes.ts'

const NAME = 'Acme Television'

describe('AD-10', () => {
  test.each(lookAlikes)('%s looks like Acme Television', (name) => {
    expect(name).not.toBe(NAME)
    expect(looksLike(name, NAME)).toBe(true)
    expect(looksLike(NAME, name)).toBe(true)
  })

  test.each(honestNeighbours)('%s is another name', (name) => {
    expect(looksLike(name, NAME)).toBe(false)
    expect(looksLike(NAME, name)).toBe(false)
  })

  test('most look-alikes are otherwise valid names: no other rule refuses them', () => {
    expect(lookAlikes.filter(isApplicationName).length).toBeGreaterThan(40)
    expect(honestNeighbours.filter(isApplicationName)).toEqual(honestNeighbours)
  })
})

describe('names that are not Latin', () => {
  test.each([
    ['Яндекс', 'ЯНДЕКС'],
    ['Ηλιος', 'ΗΛΙΟΣ'],
    ['Привет', 'привет'],
    ['हिन्दी', 'हिन्दी'],
    ['電視', '電視'],
  ])('%s is %s', (name, same) => {
    expect(looksLike(name, same)).toBe(true)
  })

  test.each([
    ['電視', '電話'],
    ['Почта', 'Карта'],
    ['تلفاز', 'هاتف'],
    ['Ηλιος', 'Πλιος'],
  ])('%s is not %s', (name, other) => {
    expect(looksLike(name, other)).toBe(false)
  })
})

describe('letters that look like Latin ones', () => {
  test.each([
    ['ŦOP', 'TOP', 'a capital whose small letter does'],
    ['\uab83estin', 'Westin', 'a small letter whose capital does'],
    ['ΗAL', 'HAL', 'a capital that does, unlike its small letter'],
    ['ηow', 'now', 'a small letter that does, unlike its capital'],
    ['VVindow', 'Window', 'two letters that look like one'],
    ['Modern', 'Modem', 'two letters that look like one'],
    ['Acme™', 'Acme', 'a sign that is no part of the name'],
    ['Acme℠', 'Acme', 'a sign that is no part of the name'],
  ])('%s looks like %s: %s', (name, other) => {
    expect(looksLike(name, other)).toBe(true)
  })

  test.each([
    ['ηow', 'how'],
    ['Atm', 'A™'],
  ])('%s does not look like %s', (name, other) => {
    expect(looksLike(name, other)).toBe(false)
  })
})

test('the skeleton of a skeleton is itself', () => {
  for (const name of [...lookAlikes, ...honestNeighbours]) {
    expect(nameSkeleton(nameSkeleton(name))).toBe(nameSkeleton(name))
    expect(nameSkeleton(name)).toMatch(/^[\p{L}\p{N}]+$/u)
  }
})

test('a long name is processed quickly', () => {
  const start = performance.now()
  for (let round = 0; round < 20; round += 1) nameSkeleton('ﷺ'.repeat(100))
  expect(performance.now() - start).toBeLessThan(2_000)
})
