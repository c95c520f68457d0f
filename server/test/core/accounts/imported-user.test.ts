/** Users in a file to import: its columns, and what each of them may contain. */
import { describe, expect, test } from 'vitest'
import { problemOfColumns, readCsvUser, readJsonUser } from '../../../src/core/accounts/imported-user.ts'

const COLUMNS = ['account', 'email', 'name', 'roles', 'external_id', 'password_hash']
const CELLS = ['acme', 'ann@acme.example', 'Ann', 'till;admin', 'crm:7', '$2b$10$abc']

const ANN = {
  line: 4,
  account: 'acme',
  email: 'ann@acme.example',
  name: 'Ann',
  roles: ['till', 'admin'],
  externalId: 'crm:7',
  passwordHash: '$2b$10$abc',
}

const MEMBERS = {
  account: 'acme',
  email: 'ann@acme.example',
  name: 'Ann',
  roles: ['till', 'admin'],
  external_id: 'crm:7',
  password_hash: '$2b$10$abc',
}

const readText = (text: string) => readJsonUser({ line: 4, cells: [text] })
const readMembers = (given: Readonly<Record<string, unknown>>) => readText(JSON.stringify({ ...MEMBERS, ...given }))
const refusedFor = (words: string) => ({ refused: { line: 4, reason: expect.stringContaining(words) } })

describe('the first line of a CSV file', () => {
  test.each([[COLUMNS], [['roles', 'account', 'email']]])('may be %j', (columns) => {
    expect(problemOfColumns(columns)).toBeNull()
  })

  test.each([
    [['account', 'email', 'roles', 'phone', 'age'], 'no column "phone", "age". Columns: account, email, name, roles,'],
    [['account', 'email', 'roles', 'Name'], 'no column "Name"'],
    [['account', 'email', 'roles', 'email'], 'twice'],
    [['email', 'name'], 'does not name the column "account", "roles"'],
    [['account', 'roles'], 'does not name the column "email"'],
    [[], 'does not name the column "account", "email", "roles"'],
  ])('cannot be %j: %s', (columns, words) => {
    expect(problemOfColumns(columns)).toContain(words)
  })
})

describe('a line of a CSV file', () => {
  test('is a user', () => {
    expect(readCsvUser(COLUMNS, { line: 4, cells: CELLS })).toEqual({ user: ANN })
  })

  test('has its cells in the order of the first line; what has no column is absent', () => {
    const columns = ['roles', 'email', 'account']
    expect(readCsvUser(columns, { line: 4, cells: ['till', 'ann@acme.example', 'acme'] })).toEqual({
      user: { ...ANN, roles: ['till'], name: null, externalId: null, passwordHash: null },
    })
  })

  test.each([
    ['that is too long', COLUMNS, null, 'too long'],
    ['with a cell too few', COLUMNS, CELLS.slice(1), '5 cells instead of 6'],
    ['with a cell too many', COLUMNS, [...CELLS, ''], '7 cells instead of 6'],
    ['without roles', ['account', 'email'], ['acme', 'ann@acme.example'], 'names no role'],
  ])('%s is refused', (_what, columns, cells, words) => {
    expect(readCsvUser(columns, { line: 4, cells })).toEqual(refusedFor(words))
  })

  test('that is too long may lack a quotation mark', () => {
    expect(readCsvUser(COLUMNS, { line: 4, cells: null })).toEqual(refusedFor('quotation mark'))
  })
})

describe('a line of JSON', () => {
  test('is a user', () => {
    expect(readMembers({})).toEqual({ user: ANN })
  })

  test('may have null, or nothing, for what is absent', () => {
    const absent = { name: null, externalId: null, passwordHash: null }
    const { account, email, roles } = MEMBERS
    expect(readMembers({ name: null, external_id: null, password_hash: null })).toEqual({ user: { ...ANN, ...absent } })
    expect(readText(JSON.stringify({ account, email, roles }))).toEqual({ user: { ...ANN, ...absent } })
  })

  test.each(['', 'ann', '{', 'null', '4', '"ann"', '[]', '[{}]'])('that is %j is refused: it is no object', (text) => {
    expect(readText(text)).toEqual(refusedFor('not a JSON object'))
  })

  test('that is too long is refused', () => {
    expect(readJsonUser({ line: 4, cells: null })).toEqual(refusedFor('too long'))
  })

  test.each([
    ['a member that no column has', { phone: '1' }, 'no member "phone"'],
    ['a name that is a number', { name: 4 }, 'member "name" is not a text'],
    ['a name that is an array', { name: ['Ann'] }, 'member "name" is not a text'],
    ['roles in one text', { roles: 'till' }, 'member "roles" is not an array of texts'],
    ['one role that is a number', { roles: ['till', 4] }, 'member "roles" is not an array of texts'],
    ['no roles', { roles: null }, 'names no role'],
    ['no account', { account: null }, 'names no account'],
    ['no e-mail address', { email: null }, '"" is not an e-mail address'],
  ])('with %s is refused', (_what, given, words) => {
    expect(readMembers(given)).toEqual(refusedFor(words))
  })
})

describe('a user', () => {
  test('is read without padding, with the e-mail address in canonical spelling and each role once', () => {
    const padded = {
      account: ' acme ',
      email: ' Ann@ACME.example ',
      name: ' Ann ',
      roles: [' till', 'admin ', '', ' ', 'till'],
      external_id: ' crm:7 ',
      password_hash: ' $2b$10$abc ',
    }
    expect(readMembers(padded)).toEqual({ user: ANN })
  })

  test('with blanks for name, external id and password has none of them', () => {
    const absent = { name: null, externalId: null, passwordHash: null }
    expect(readMembers({ name: ' ', external_id: '', password_hash: ' ' })).toEqual({ user: { ...ANN, ...absent } })
  })

  test('may have a name and an external id of 200 characters', () => {
    const long = 'x'.repeat(200)
    expect(readMembers({ name: long, external_id: long })).toEqual({ user: { ...ANN, name: long, externalId: long } })
  })

  test.each([
    ['a NUL character in the name', { name: 'A\0nn' }, 'NUL'],
    ['a NUL character in one role', { roles: ['till', 'ad\0min'] }, 'NUL'],
    ['a NUL character in the password', { password_hash: '$2b$\0' }, 'NUL'],
    ['a blank account', { account: ' ' }, 'names no account'],
    ['no e-mail address', { email: 'ann' }, '"ann" is not an e-mail address'],
    ['an empty list of roles', { roles: [] }, 'names no role'],
    ['blank roles', { roles: [' ', ''] }, 'names no role'],
    ['a name of 201 characters', { name: 'x'.repeat(201) }, 'name has at most 200'],
    ['a line break in the name', { name: 'An\nn' }, 'name has at most 200'],
    ['an external id of 201 characters', { external_id: 'x'.repeat(201) }, 'external id has 1 to 200'],
    ['an external id with an escape sequence', { external_id: 'crm:7\u001b[2J' }, 'control character'],
  ])('with %s is refused', (_what, given, words) => {
    expect(readMembers(given)).toEqual(refusedFor(words))
  })
})
