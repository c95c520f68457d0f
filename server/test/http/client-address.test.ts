/** The client address of a request, and which proxies are trusted. docs/configuration.md, "TRUST_PROXY". */
import { describe, expect, test } from 'vitest'
import { createAddressReader } from '../../src/http/client-address.ts'

const STRANGER = '203.0.113.9'
const CLIENT = '198.51.100.7'

describe('without proxies', () => {
  const addressOf = createAddressReader([])

  test('the peer’s address counts, whatever its headers say', () => {
    expect(addressOf(STRANGER, null)).toBe(STRANGER)
    expect(addressOf(STRANGER, CLIENT)).toBe(STRANGER)
    expect(addressOf('127.0.0.1', CLIENT)).toBe('127.0.0.1')
    expect(addressOf('::ffff:203.0.113.9', CLIENT)).toBe(STRANGER)
  })

  test('a peer without an address has none', () => {
    expect(addressOf(undefined, CLIENT)).toBeNull()
    expect(addressOf('', CLIENT)).toBeNull()
  })
})

describe('behind proxies', () => {
  const addressOf = createAddressReader(['10.0.0.0/8', '192.0.2.1', 'fd00::/8', '::ffff:172.16.0.0/108'])

  test.each([
    ['a proxy’s word is believed', '10.0.0.1', CLIENT, CLIENT],
    ['a single address is a proxy as well', '192.0.2.1', CLIENT, CLIENT],
    ['its neighbour is none', '192.0.2.2', CLIENT, '192.0.2.2'],
    ['a stranger’s word is not', STRANGER, CLIENT, STRANGER],
    ['IPv6 proxies count', 'fd00::1', CLIENT, CLIENT],
    ['a proxy that arrives dressed as IPv6 counts', '::ffff:10.0.0.1', CLIENT, CLIENT],
    ['a network that is written dressed as IPv6 counts', '172.31.0.1', CLIENT, CLIENT],
    ['and ends where it ends', '172.32.0.1', CLIENT, '172.32.0.1'],
    ['a chain of proxies is followed to the first stranger', '10.0.0.1', `${CLIENT}, 10.0.0.3,10.0.0.2`, CLIENT],
    ['what that stranger claims is not believed', '10.0.0.1', `1.2.3.4, ${CLIENT}`, CLIENT],
    ['not even that it is a proxy of ours', '10.0.0.1', `1.2.3.4, 10.0.0.9, ${CLIENT}`, CLIENT],
    ['where all are proxies, the farthest counts', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['a port is not part of an address', '10.0.0.1', `${CLIENT}:4711`, CLIENT],
    ['nor are brackets', '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['a client dressed as IPv6 is itself', '10.0.0.1', '::ffff:198.51.100.7', CLIENT],
    ['garbage ends the walk at the last good one', '10.0.0.1', `${CLIENT}, <script>, 10.0.0.2`, '10.0.0.2'],
    ['garbage alone leaves the proxy', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['an empty header as well', '10.0.0.1', '', '10.0.0.1'],
    ['and so does none', '10.0.0.1', null, '10.0.0.1'],
    ['an empty place is garbage', '10.0.0.1', `${CLIENT}, `, '10.0.0.1'],
  ])('%s', (_name, remote, forwardedFor, expected) => {
    expect(addressOf(remote, forwardedFor)).toBe(expected)
  })
})

test('an invalid network is refused at start-up', () => {
  expect(() => createAddressReader(['proxy.internal'])).toThrow('"proxy.internal" is not a network')
})
