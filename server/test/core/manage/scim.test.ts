/** What Latchkey reads of a user in SCIM, and how identity providers write it. RFC 7643, RFC 7644. */
import { describe, expect, test } from 'vitest'
import { readScimFilter, readScimPatch, readScimUser } from '../../../src/core/manage/scim.ts'

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User:'

describe('of a user is read', () => {
  test('the name to sign in with, the external id, the name and whether it is active', () => {
    const given = { userName: 'ada@acme.example', externalId: 'x1', displayName: 'Ada', active: true, title: 'Dr' }
    const read = { userName: 'ada@acme.example', externalId: 'x1', name: 'Ada', active: true }
    expect(readScimUser(given)).toStrictEqual(read)
  })

  test('nothing that is not mentioned', () => {
    expect(readScimUser({})).toStrictEqual({})
  })

  test('that the external id is removed', () => {
    expect(readScimUser({ externalId: null })).toStrictEqual({ externalId: null })
  })

  test.each([
    [true, true],
    [false, false],
    ['True', true],
    ['False', false],
    ['true', true],
    ['false', false],
  ])('active %j as %j', (active, read) => {
    expect(readScimUser({ active })).toStrictEqual({ active: read })
  })
})

describe('a user is malformed', () => {
  test.each([
    ['without attributes', null],
    ['as a text', 'ada'],
    ['as a list', [{ userName: 'ada' }]],
    ['as nothing', undefined],
    ['with a number to sign in with', { userName: 1 }],
    ['with nothing to sign in with', { userName: null }],
    ['with a number as external id', { externalId: 1 }],
    ['with neither true nor false as active', { active: 'yes' }],
    ['with nothing as active', { active: null }],
    ['with a number as active', { active: 1 }],
  ])('%s', (_how, given) => {
    expect(readScimUser(given)).toBeNull()
  })
})

describe('the name of a user is', () => {
  const parts = { formatted: 'Dr Ada Lovelace', givenName: 'Ada', familyName: 'Lovelace' }

  test.each<[string, unknown, string | undefined]>([
    ['the one to show', { displayName: 'Countess', name: parts }, 'Countess'],
    ['otherwise the whole one', { name: parts }, 'Dr Ada Lovelace'],
    ['also if the one to show is empty', { displayName: '', name: parts }, 'Dr Ada Lovelace'],
    ['also if the one to show is no text', { displayName: 1, name: parts }, 'Dr Ada Lovelace'],
    ['otherwise made of its parts', { name: { ...parts, formatted: '' } }, 'Ada Lovelace'],
    ['one part alone', { name: { givenName: 'Ada' } }, 'Ada'],
    ['one part, if the other is empty', { name: { givenName: '', familyName: 'Lovelace' } }, 'Lovelace'],
    ['one part, if the other is no text', { name: { givenName: 'Ada', familyName: 1 } }, 'Ada'],
    ['not mentioned, if nothing has a text', { displayName: '', name: { givenName: '' } }, undefined],
    ['not mentioned, if it is a text instead of parts', { name: 'Ada' }, undefined],
    ['not mentioned, if there are no parts', { name: null }, undefined],
  ])('%s', (_which, given, name) => {
    expect(readScimUser(given)).toStrictEqual(name === undefined ? {} : { name })
  })

  test('cut after 200 characters', () => {
    const nameOf = (length: number) => readScimUser({ displayName: 'x'.repeat(length) })?.name?.length
    expect([nameOf(199), nameOf(200), nameOf(201)]).toEqual([199, 200, 200])
  })
})

describe('a patch', () => {
  const patch = (...Operations: readonly unknown[]) => readScimPatch({ Operations })

  test.each([null, [], 'Operations', {}, { Operations: {} }, { Operations: null }])('is malformed as %j', (given) => {
    expect(readScimPatch(given)).toBeNull()
  })

  test('without operations sets nothing', () => {
    expect(patch()).toEqual({})
  })

  test.each([
    ['nothing', null],
    ['a list', []],
    ['without what to do', { value: { active: true } }],
    ['with a number as what to do', { op: 1, value: { active: true } }],
    ['with something else to do', { op: 'move', path: 'active', value: true }],
    ['with a value that is no object, and no path', { op: 'replace', value: true }],
    ['with neither value nor path', { op: 'add' }],
    ['that removes nothing in particular', { op: 'remove' }],
    ['that removes a value without a path', { op: 'remove', value: { externalId: 'x1' } }],
    ['with a path that is no text', { op: 'replace', path: ['active'], value: true }],
  ])('is malformed with an operation %s', (_which, operation) => {
    expect(patch(operation)).toBeNull()
    expect(patch({ op: 'add', path: 'active', value: true }, operation)).toBeNull()
  })

  test('sets the attributes of a value', () => {
    expect(patch({ op: 'add', value: { userName: 'ada' } })).toEqual({ userName: 'ada' })
    expect(patch({ op: 'Replace', value: { active: 'False' } })).toEqual({ active: 'False' })
  })

  test.each([
    ['userName', 'userName'],
    ['externalId', 'externalId'],
    ['displayName', 'displayName'],
    ['active', 'active'],
    ['USERNAME', 'userName'],
    [`${USER}externalId`, 'externalId'],
    [`${USER.toUpperCase()}displayname`, 'displayName'],
  ])('with the path %s sets %s', (path, attribute) => {
    expect(patch({ op: 'add', path, value: 'x' })).toEqual({ [attribute]: 'x' })
    expect(patch({ op: 'REPLACE', path, value: 'x' })).toEqual({ [attribute]: 'x' })
  })

  test.each(['name.formatted', 'Name.Formatted', `${USER}name.formatted`])('with the path %s sets a name', (path) => {
    const set = patch({ op: 'replace', path, value: 'Ada' })
    expect(set).toEqual({ name: { formatted: 'Ada' } })
    expect(readScimUser(set)).toEqual({ name: 'Ada' })
    expect(patch({ op: 'remove', path })).toEqual({})
  })

  test.each(['title', 'name.givenName', `user${USER}Name`, 'emails[type eq "work"].value'])(
    'with the path %s, which is not kept, sets nothing',
    (path) => {
      expect(patch({ op: 'replace', path, value: 'x' })).toEqual({})
      expect(patch({ op: 'remove', path })).toEqual({})
    },
  )

  test('removes an external id, and no other attribute', () => {
    expect(patch({ op: 'Remove', path: 'externalId' })).toEqual({ externalId: null })
    expect(patch({ op: 'remove', path: 'userName' })).toEqual({})
    expect(patch({ op: 'remove', path: 'active' })).toEqual({})
  })

  test('sets what its operations set together, the last one of an attribute', () => {
    const set = patch(
      { op: 'replace', path: 'active', value: true },
      { op: 'replace', path: 'userName', value: 'ada' },
      { op: 'replace', value: { active: false } },
    )
    expect(set).toEqual({ userName: 'ada', active: false })
  })
})

describe('a filter', () => {
  test.each([
    ['userName eq "ada@acme.example"', { userName: 'ada@acme.example' }],
    ['username EQ "ada@acme.example"', { userName: 'ada@acme.example' }],
    ['externalId eq "x1"', { externalId: 'x1' }],
    ['EXTERNALID Eq "x1"', { externalId: 'x1' }],
    ['  externalId\t  eq   "x1"  ', { externalId: 'x1' }],
    ['externalId eq ""', { externalId: '' }],
    ['externalId eq "a\\"b \\\\ \\u00e9"', { externalId: 'a"b \\ é' }],
  ])('%s is read', (text, filter) => {
    expect(readScimFilter(text)).toEqual(filter)
  })

  test.each([
    '',
    'active eq "true"',
    'userName',
    'userName eq',
    'userName eq ada',
    'userName eq 1',
    'userName eq true',
    'userName ne "ada"',
    'userName eq "ada',
    'userName eq "a"b"',
    'userName eq "a\\"',
    'userName eq "\\x"',
    'userName eq "a" or active eq "true"',
    'not userName eq "ada"',
    'name.userName eq "ada"',
    'userNameeq "ada"',
    'userName eq"ada"',
  ])('%j is none that is known', (text) => {
    expect(readScimFilter(text)).toBeNull()
  })
})
