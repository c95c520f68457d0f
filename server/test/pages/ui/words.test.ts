/** Messages of the four languages, and how a language is chosen. */
import { readFileSync } from 'node:fs'
import { IntlMessageFormat } from 'intl-messageformat'
import { describe, expect, test } from 'vitest'
import { chooseLanguage, languages, wordsFor } from '../../../src/pages/ui/words.ts'

const read = (language: string): Record<string, string> =>
  JSON.parse(readFileSync(new URL(`../../../src/pages/messages/${language}.json`, import.meta.url), 'utf8'))
const english = read('en')

/** The values and elements that a message takes, by name. */
function namesIn(text: string): string[] {
  const names = new Set<string>()
  const walk = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    if ('type' in part && 'value' in part && part.type !== 0) names.add(String(part.value))
    Object.values(part).forEach(walk)
  }
  walk(new IntlMessageFormat(text, 'en').getAst())
  return [...names].sort()
}

describe.each(languages)('$name', ({ code }) => {
  const messages = read(code)

  test('has exactly the messages of English, in the same order', () => {
    expect(Object.keys(messages)).toEqual(Object.keys(english))
  })

  test('takes the same values in each', () => {
    const differ = Object.keys(english).filter(
      (key) => String(namesIn(messages[key] ?? '')) !== String(namesIn(english[key] ?? '')),
    )
    expect(differ).toEqual([])
  })
})

test.each([
  ['de', 'es', 'de'],
  [null, 'es-MX, en;q=0.8', 'es'],
  [null, 'en;q=0.5, ar-EG;q=0.9', 'ar'],
  [null, 'fr, de;q=0', 'en'],
  [null, 'fr-CA, ja', 'en'],
  ['xx', null, 'en'],
  ['constructor', '*', 'en'],
] as const)('chosen %j, the browser asks for %j: %s', (chosen, accepted, language) => {
  expect(chooseLanguage(chosen, accepted)).toBe(language)
})

test('a name of the other direction, or with overrides, does not change the direction of the text around it', () => {
  expect(wordsFor('en').t('sign_in.heading', { name: 'Acme' })).toBe('Sign in to Acme')
  expect(wordsFor('en').t('sign_in.heading', { name: 'أكمي' })).toBe('Sign in to \u2068أكمي\u2069')
  expect(wordsFor('en').t('sign_in.heading', { name: '\u202eemcA' })).toBe('Sign in to \u2068\u202eemcA\u2069')
  expect(wordsFor('ar').t('sign_in.heading', { name: 'Acme' })).toContain('\u2068Acme\u2069')
})
