/** What an account may be called: slug, name and external id. */
import { describe, expect, test } from 'vitest'
import { isExternalId, isSlug, problemOfAccount } from '../../../src/core/accounts/account.ts'

describe('an external id', () => {
  test.each(['7', 'crm:4711', 'Kunde Nr. 4', 'ünïcode', '\u{1f600}', 'x'.repeat(200)])('may be %j', (id) => {
    expect(isExternalId(id)).toBe(true)
  })

  test.each([
    ['nothing', ''],
    ['longer than 200 characters', 'x'.repeat(201)],
    ['a control character', '\n'],
    ['anything after a control character', '\n7'],
    ['anything before a control character', '7\u0000'],
    ['half of a surrogate pair', '\ud800'],
    ['a character that does not exist', '7\u{fdd0}'],
  ])('cannot be %s', (_what, id) => {
    expect(isExternalId(id)).toBe(false)
  })
})

const NO_HOST_NAMES = [
  '',
  'Acme',
  '-acme',
  'acme-',
  '-',
  'ac.me',
  'ac_me',
  'acmé',
  ' acme',
  'acme\n',
  '.acme',
  'xn--acme',
  'a'.repeat(64),
]

const RESERVED = ['www', 'api', 'auth', 'mail', 'admin', 'static', 'status', 'localhost']

describe('a slug', () => {
  test.each(['a', '4', 'acme', 'acme-tv-4', 'a--b', 'acme-xn--a', 'wwww', 'a'.repeat(63)])('may be %j', (slug) => {
    expect(isSlug(slug)).toBe(true)
  })

  test.each([...NO_HOST_NAMES, ...RESERVED])('cannot be %j', (slug) => {
    expect(isSlug(slug)).toBe(false)
  })
})

describe('an account', () => {
  const good = { slug: 'acme', name: 'Acme', externalId: 'crm:4711' }

  test.each([good.externalId, null])('with a slug, a name and the external id %j has no problem', (externalId) => {
    expect(problemOfAccount({ ...good, externalId })).toBeNull()
  })

  test.each(NO_HOST_NAMES)('cannot have the slug %j, which is no host name', (slug) => {
    const problem = problemOfAccount({ ...good, slug })
    expect(problem?.field).toBe('slug')
    expect(problem?.message).toContain(`"${slug}" cannot be a host name`)
  })

  test.each(RESERVED)('cannot have the slug %s: it is reserved', (slug) => {
    const problem = problemOfAccount({ ...good, slug })
    expect(problem?.field).toBe('slug')
    expect(problem?.message).toContain(`"${slug}" is reserved`)
  })

  test.each([
    ['name', 'no name at all', { name: ' ' }, '1 to 100 characters'],
    ['name', 'a name with a line break', { name: 'Ac\nme' }, 'Line breaks'],
    ['name', 'a web address in its name', { name: 'acme.example' }, 'no web address'],
    ['externalId', 'an empty external id', { externalId: '' }, '1 to 200 characters'],
  ] as const)('the field %s is named for %s', (field, _what, given, words) => {
    const problem = problemOfAccount({ ...good, ...given })
    expect(problem?.field).toBe(field)
    expect(problem?.message).toContain(words)
  })
})
