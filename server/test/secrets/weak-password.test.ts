/** Passwords that an attacker tries first are refused. ASVS 5, 6.2.4 and 6.2.11. */
import { randomInt } from 'node:crypto'
import { dictionary } from '@zxcvbn-ts/language-common'
import { describe, expect, test } from 'vitest'
import { MIN_CHARACTERS } from '../../src/core/sign-in/password.ts'
import { loadCommonPasswords } from '../../src/secrets/weak-password.ts'

const isCommonPassword = await loadCommonPasswords()
const context = ['ann.lee@acme.example', 'acme', 'Acme Trading', 'Latchkey', 'svc.test']

describe('refused', () => {
  test.each([
    ['one character', 'aaaaaaaaaaaa aaaaaaaaaaa1 🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑🔑'],
    [
      'a sequence',
      'abcdefghijkl ABCDEFGHIJKLMNOP lkjihgfedcba 123456789012 098765432109 uvwxyzabcdef 123456789abc abc123abc123',
    ],
    [
      'a keyboard run',
      'qwertyuiop12 qwertzuiop12 azertyuiop12 1q2w3e4r5t6y 1qaz2wsx3edc qwerasdfzxcv 147258369147 qweasdzxc123',
    ],
    [
      'a listed password with digits and signs',
      'password2024 Password2025! welcome2024! football12345 2024-iloveyou letmein12345',
    ],
    ['a listed password in look-alike characters', 'p@ssw0rd1234 Pa$$word2026 passw0rd!!!! F00tball2024'],
    ['two listed passwords', 'dragonmonkey sunshine-princess monkey.dragon1'],
    ['a listed password several times', 'adminadminadmin passwordpassword rootrootroot'],
    ['a number', '１２３４５６７８９０１２ 31.12.1999-24.12 495117202612'],
    [
      'a number of any length, also after one letter',
      '830592714063859 8305-9271-4063-8591 k495117202612 x31.12.1999-24',
    ],
    ['short keyboard runs', 'rtyfghvbn456 edc-tgb-ujm-456 qwefgh-456-zxc-rty'],
    ['repeated characters', 'wwwjjjqqqvvv 🔑🔑🔑jjj🔑🔑🔑jjj'],
    ['a listed password many times', 'adminadminadminadminadmin rootrootrootrootrootrootroot'],
    ['a listed password behind other digits', '8362057193-dragon 93718264-monkey'],
    ['the account and the user', 'acmeacmeacme Acme-Acme-Acme ann.leeann.lee ann.lee@acme.example trading-acme-2026'],
    ['the service', 'latchkey2026! Latchkey-Acme'],
    ['famous ones', 'correcthorsebatterystaple a1b2c3d4e5f6'],
  ])('%s', (_kind, passwords) => {
    for (const password of passwords.split(' '))
      expect([password, isCommonPassword(password, context)]).toEqual([password, true])
  })

  test('each of the 3,000 most common passwords, made long enough by digits', () => {
    const extended = dictionary['passwords-common']
      .slice(0, 3000)
      .map((stem) => `${stem}20261234567`.slice(0, Math.max(stem.length, MIN_CHARACTERS)))
    expect(extended.filter((password) => !isCommonPassword(password, []))).toEqual([])
  })
})

describe('refused because of what the account is called', () => {
  test.each([
    ['three letters', 'zqv-zqv-zqv', 'zqv.test'],
    ['letters in capitals and full width', 'ＨＡＬＶＯＲＳＥＮ-2026', 'Halvorsen'],
    ['the local part of an e-mail address', 'q!zvw-q!zvw-2026', 'q!zvw@halvorsen.example'],
    ['look-alike characters', 'h@lv0r5en-2026', 'Halvorsen'],
  ])('%s', (_what, password, name) => {
    expect(isCommonPassword(password, [name])).toBe(true)
    expect(isCommonPassword(password, [])).toBe(false)
  })

  test('also if a longer name begins within another word', () => {
    expect(isCommonPassword('gonzalezacme', ['acme', 'zacme'])).toBe(true)
  })
})

describe('accepted', () => {
  test.each([
    'correct horse battery',
    'acme is where ann.lee works',
    'kT9-vvq2-Zmd',
    '!"§$%&/()=?*',
    'kT9-vvq2-Zm47',
    '7kT9-vvq2-Zmd',
    'dragon-monkey-horse',
    'seven green bottles',
  ])('%s', (password) => {
    expect(isCommonPassword(password, context)).toBe(false)
  })

  test('what another account is called', () => {
    expect(isCommonPassword('halvorsen-2026', ['bob@halvorsen.example'])).toBe(true)
    expect(isCommonPassword('halvorsen-2026', context)).toBe(false)
  })

  test('a password that contains an account name of two letters', () => {
    expect(isCommonPassword('xq-xq-xq-xq-xq', ['xq'])).toBe(false)
  })

  const among = (texts: readonly string[]) => texts[randomInt(texts.length)] ?? ''

  test('random passwords, and passphrases of four words: all but one in a thousand', () => {
    const letters = Array.from('abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789')
    const random = Array.from({ length: 2000 }, () => Array.from({ length: 14 }, () => among(letters)).join(''))
    const phrases = Array.from({ length: 2000 }, () =>
      Array.from({ length: 4 }, () => among(dictionary['diceware-common'])).join(' '),
    )
    expect(
      [...random, ...phrases].filter((password) => isCommonPassword(password, context)).length,
    ).toBeLessThanOrEqual(4)
  })
})
