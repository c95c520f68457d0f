/** Addresses in canonical form, and their networks. */
import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { networkOf, readAddress } from '../../src/core/network.ts'

describe('an address', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:C000:0207', '192.0.2.7'],
    ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
    ['::ffff:0.0.0.0', '0.0.0.0'],
    ['2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['::1', '::1'],
    ['::', '::'],
    ['fe80::1%eth0', 'fe80::1'],
    ['64:ff9b::192.0.2.7', '64:ff9b::c000:207'],
    ['64:ff9b::ffff:c000:207', '64:ff9b::ffff:c000:207'],
    ['::ffff:c000:207:1', '::ffff:c000:207:1'],
    ['fe80::1%eth0.1:a-b_c', 'fe80::1'],
  ])('%s is read as %s', (text, address) => {
    expect(readAddress(text)).toBe(address)
  })

  test.each([
    '',
    ' ',
    '192.0.2',
    '192.0.2.7.',
    '192.0.2.256',
    '192.0.02.7',
    '192.0.2.7.1',
    '0x7f.1',
    '2130706433',
    ':',
    ':::',
    '1::2::3',
    '::g',
    '[::1]',
    '::1]',
    '::1]:80/[',
    '::1]/1',
    'fe80::1%',
    'fe80::1%eth 0',
    'fe80::1% eth0',
    'fe80::1%eth0 ',
    'fe80::1%eth0%eth1',
    '192.0.2.7%eth0',
    'localhost',
    '192.0.2.7 ',
    '192.0.2.7\n',
    '١٩٢.٠.٢.٧',
    'unknown',
    '_hidden',
  ])('%j is invalid', (text) => {
    expect(readAddress(text)).toBeNull()
    expect(networkOf(text)).toBeNull()
  })

  test('every address that Node accepts is parsed, and the result is an address', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const address = readAddress(text)
        expect(address).not.toBeNull()
        expect(isIP(address ?? '')).not.toBe(0)
        expect(readAddress(address ?? '')).toBe(address)
      }),
    )
    const alike = fc.string({ unit: fc.constantFrom(...'0123459af:.%'), maxLength: 40 })
    fc.assert(
      fc.property(
        fc.oneof(
          alike,
          fc.string(),
          fc.ipV6().chain((text) => fc.constant(`${text}%x`)),
        ),
        (text) => {
          expect(readAddress(text) === null).toBe(isIP(text) === 0)
        },
      ),
      { numRuns: 2_000 },
    )
  })
})

describe('its network', () => {
  test.each([
    ['192.0.2.7', '192.0.2.0/24'],
    ['::ffff:192.0.2.7', '192.0.2.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:db8::6', '2001:db8::/48'],
    ['2001:db8:1::', '2001:db8:1::/48'],
    ['::1', '::/48'],
    ['::', '::/48'],
    ['1::', '1::/48'],
    ['::2:3:4:5:6:7', '0:0:2::/48'],
    ['fe80::1%eth0', 'fe80::/48'],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })

  test('of null is null', () => {
    expect(networkOf(null)).toBeNull()
  })
})
