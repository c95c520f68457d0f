/** Names of accounts and roles, titles of scopes, and e-mail addresses of users. */
import { describe, expect, test } from 'vitest'
import { isAccountName, isName } from '../../../src/core/applications/name.ts'
import { readEmail } from '../../../src/core/sign-in/email.ts'

describe('a name', () => {
  test.each(['Acme', 'See orders', 'مدير', 'می‌خواهم', '👩‍⚕️ nurse', 'A'.repeat(100)])('may be %j', (name) => {
    expect(isName(name)).toBe(true)
  })

  test.each([
    '',
    ' \u00a0',
    'A'.repeat(101),
    'a\nb',
    'a\u0000b',
    '\u202edrib',
    'a\u2066b',
    'a\u2028b',
    'a\ud800',
    '\u001b[2J',
  ])('cannot be %j', (name) => {
    expect(isName(name)).toBe(false)
  })
})

describe('the name of an account', () => {
  test.each([
    'Acme',
    'Acme Ltd.',
    'Dr. Smith & Co.',
    'J. R. Hobbs',
    'U.S.A. Imports',
    'Team: Orders',
    'Release 2.0',
    'Müller.',
  ])('may be %j', (name) => {
    expect(isAccountName(name)).toBe(true)
  })

  test.each([
    'URGENT: your bank account is locked, unlock at https://evil.example/unlock now',
    'Unlock at evil.example',
    'Open WWW.evil',
    'unlock:/evil',
    'evil\uff0eexample',
    'evil\u3002example',
    'evil\uff61example',
    'bücher.рф',
    'evil.xn--p1ai',
    'mail help@evil.example',
    'a\nb',
  ])('cannot be %j', (name) => {
    expect(isAccountName(name)).toBe(false)
  })
})

describe('an e-mail address', () => {
  test.each([
    ['ann@acme.example', 'ann@acme.example'],
    [' Ann@ACME.example\n', 'ann@acme.example'],
    ['ümit@acme.example', 'ümit@acme.example'],
    [`${'a'.repeat(241)}@acme.example`, `${'a'.repeat(241)}@acme.example`],
  ])('%j is normalised to %j', (typed, email) => {
    expect(readEmail(typed)).toBe(email)
  })

  test.each([
    '',
    'ann',
    '@acme.example',
    'ann@',
    'ann@a@b',
    'an n@acme.example',
    'ann@acme.example\r\nBcc: all@acme.example',
    'ann\u0000@acme.example',
    'ann\u200b@acme.example',
    'bob@acme.example,',
    'bob@acme.example, eve@evil.example',
    'bob@acme.example;',
    'mailto:bob@acme.example',
    '<bob@acme.example>',
    '"bob"@acme.example',
    'bob(office)@acme.example',
    'bob\\@acme.example',
    'bob@[192.0.2.1]',
    `${'a'.repeat(242)}@acme.example`,
  ])('%j is invalid', (typed) => {
    expect(readEmail(typed)).toBeNull()
  })
})
