/** Recovery codes: ten different ones, read in any spelling, and kept as digests of one user under one key. */
import { describe, expect, it } from 'vitest'
import { createKey } from '../../src/secrets/keyset.ts'
import { createRecoveryCodes, digestRecoveryCode, recoveryCodeDigests } from '../../src/secrets/recovery-code.ts'
import { makeConfig } from '../rig/make.ts'

const USER = 'usr_000000000000'
const { keys } = makeConfig({
  LATCHKEY_KEYS: `${createKey(2)} ${createKey(1)}`,
  DATABASE_URL: 'postgres://localhost/none',
})

const matches = (code: string, typed: string, user = USER) =>
  recoveryCodeDigests(keys, user, typed).some((digest) => digest.equals(digestRecoveryCode(keys, USER, code)))

describe('recovery codes', () => {
  it('are ten, all different, of 50 random bits', () => {
    const codes = createRecoveryCodes()
    expect(new Set(codes).size).toBe(10)
    for (const code of codes) expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}$/)
  })

  it.each(['k3v9m-01x70', 'K3V9M 01X70', ' k3v9m01x70 ', 'k3v9m–o1x7o', 'k3v9m-0lx70', 'k3v9m-0ix70', 'k٣v٩m-٠١x٧٠'])(
    'are read in the spelling %s',
    (typed) => {
      expect(matches('k3v9m-01x70', typed)).toBe(true)
    },
  )

  it.each(['k3v9m-01x71', 'K3V9M-01X07'])('are not read from another code: %s', (typed) => {
    expect(recoveryCodeDigests(keys, USER, typed)).toHaveLength(2)
    expect(matches('k3v9m-01x70', typed)).toBe(false)
  })

  it.each([
    'k3v9m-01x7',
    'k3v9m-01x700',
    '0k3v9m-01x70',
    '',
    '123456',
    'k3v9m-01x7u',
    'k3v9m_01x70',
    'k3v9m-01x7é',
    'x'.repeat(10_000),
  ])('are not looked for when the text does not have their form: %#', (typed) => {
    expect(recoveryCodeDigests(keys, USER, typed)).toEqual([])
  })

  it('are read without the invisible characters that copying adds', () => {
    expect(matches('k3v9m-01x70', '\u200ek3v9m\u200b-\u206001x70\ufeff')).toBe(true)
  })

  it('of one user are not those of another', () => {
    expect(matches('k3v9m-01x70', 'k3v9m-01x70', 'usr_000000000001')).toBe(false)
  })

  it('are looked for under every key', () => {
    expect(recoveryCodeDigests(keys, USER, 'k3v9m-01x70')).toHaveLength(2)
  })
})
