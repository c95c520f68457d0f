/** Where a code was requested from, compared with the user's place. */
import { expect, test } from 'vitest'
import { type Client, compareOrigin } from '../../../src/core/device/origin.ts'

const at = (address: string | null, country: string | null = null, asn: number | null = null): Client => ({
  address,
  country,
  asn,
})

test.each([
  ['one country, whatever the networks', at('198.51.100.7', 'DE', 1), at('203.0.113.9', 'DE', 2), 'same'],
  ['two countries', at('198.51.100.7', 'DE', 1), at('198.51.100.8', 'US', 1), 'other_country'],
  ['one country unknown, one autonomous system', at('198.51.100.7', 'DE', 1), at('203.0.113.9', null, 1), 'same'],
  ['two autonomous systems', at('198.51.100.7', null, 1), at('198.51.100.8', null, 2), 'other_network'],
  ['one autonomous system over both address families', at('198.51.100.7', null, 1), at('2001:db8::1', null, 1), 'same'],
  ['one /24', at('198.51.100.7'), at('198.51.100.200'), 'same'],
  ['two /24', at('198.51.100.7'), at('198.51.101.7'), 'other_network'],
  ['one /48', at('2001:db8:1:2::1'), at('2001:db8:1:ffff::9'), 'same'],
  ['two /48', at('2001:db8:1::1'), at('2001:db8:2::1'), 'other_network'],
  ['IPv4 and IPv6', at('198.51.100.7'), at('2001:db8::1'), 'unknown'],
  ['one machine over both address families', at('127.0.0.1'), at('::1'), 'same'],
  ['countries known, one of them only', at(null, 'DE'), at(null), 'unknown'],
  ['autonomous systems known, one of them only', at(null, null, 1), at(null), 'unknown'],
  ['two addresses that are not known', at(null), at(null), 'unknown'],
  ['two loopback addresses', at('127.0.0.1'), at('127.9.0.1'), 'same'],
  ['this machine and another', at('127.0.0.1'), at('198.51.100.7'), 'other_network'],
  ['this machine and an address that is not known', at('127.0.0.1'), at(null), 'unknown'],
  ['this machine and an address that contains 127.', at('::1'), at('10.0.127.1'), 'unknown'],
  ['this machine and an address that ends like ::1', at('127.0.0.1'), at('2001:db8::1'), 'unknown'],
  ['this machine and an address that begins like ::1', at('127.0.0.1'), at('::1:2'), 'unknown'],
  ['this machine and an address that begins with 127', at('::1'), at('12.7.0.1'), 'unknown'],
  ['an address that is not known', at(null), at('198.51.100.7'), 'unknown'],
] as const)('%s', (_, requester, user, origin) => {
  expect(compareOrigin(requester, user)).toBe(origin)
  expect(compareOrigin(user, requester)).toBe(origin)
})
