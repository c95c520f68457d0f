/** Locations of addresses, from real database files. docs/configuration.md, "GEOIP_CITY_FILE" and "GEOIP_ASN_FILE". */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { removeFolder } from '../../tools/remove-folder.ts'
import { openGeoIp } from '../src/geoip.ts'
import { writeMmdb } from './rig/corpora/mmdb.ts'

const folder = mkdtempSync(join(tmpdir(), 'places-'))
afterAll(() => removeFolder(folder))
const file = (name: string) => join(folder, name)

const germany = { iso_code: 'DE', names: { en: 'Germany', de: 'Deutschland', es: 'Alemania' } }
const hamburg = { city: { names: { en: 'Hamburg', de: 'Hansestadt Hamburg' } }, country: germany }

const cities = writeMmdb(file('cities.mmdb'), [
  ['203.0.113.0/24', hamburg],
  ['203.0.113.128/25', { country: { iso_code: 'US', names: { en: 'United States' } } }],
  ['198.51.100.0/24', { country: germany }],
  [
    '2001:db8::/32',
    { city: { names: { en: 'Lima' } }, country: { iso_code: 'PE', names: { en: 'Peru', de: 'Peru' } } },
  ],
  ['192.0.2.0/24', { registered_country: germany }],
  ['10.0.0.0/8', hamburg],
  ['127.0.0.0/8', hamburg],
  ['172.16.0.0/12', hamburg],
  ['192.168.0.0/16', hamburg],
  ['fd00::/8', hamburg],
  ['fe80::/16', hamburg],
])
const networks = writeMmdb(
  file('networks.mmdb'),
  [['203.0.113.0/24', { autonomous_system_number: 64_496, autonomous_system_organization: 'Example Telecom' }]],
  { type: 'GeoLite2-ASN' },
)

describe('with both databases', async () => {
  const { find } = await openGeoIp(cities, networks)

  test('an address has a country, a place in the reader’s language, and a network', () => {
    const found = find('203.0.113.7')
    expect(found).toMatchObject({ country: 'DE', network: 'Example Telecom' })
    expect(found.placeName('en')).toBe('Hamburg, Germany')
    expect(found.placeName('de')).toBe('Hansestadt Hamburg, Deutschland')
  })

  test('a name that is missing in a language is given in English', () => {
    expect(find('203.0.113.7').placeName('es')).toBe('Hamburg, Alemania')
    expect(find('203.0.113.7').placeName('ar')).toBe('Hamburg, Germany')
  })

  test('without a city the place is the country; the most specific network counts', () => {
    expect(find('198.51.100.7').placeName('de')).toBe('Deutschland')
    expect(find('198.51.100.7').network).toBeNull()
    expect(find('203.0.113.200')).toMatchObject({ country: 'US', network: 'Example Telecom' })
  })

  test('IPv6 and IPv4-mapped IPv6 are found', () => {
    expect(find('2001:db8:1::1').placeName('en')).toBe('Lima, Peru')
    expect(find('::ffff:203.0.113.7').country).toBe('DE')
  })

  test('the registered country of a network is not its location', () => {
    expect(find('192.0.2.7').country).toBeNull()
    expect(find('192.0.2.7').placeName('en')).toBeNull()
  })

  test.each([null, '', 'garbage', '203.0.113', '203.0.113.7.evil.example', '8.8.8.8', '2001:db9::1'])(
    '%j is nowhere',
    (address) => {
      expect(find(address)).toMatchObject({ country: null, network: null })
      expect(find(address).placeName('en')).toBeNull()
    },
  )

  test.each(['10.1.2.3', '127.0.0.1', '172.31.0.1', '192.168.1.1', 'fd00::1', 'fe80::1', '::1', '::ffff:127.0.0.1'])(
    '%s is private: whatever a database says, it is nowhere',
    (address) => {
      expect(find(address).country).toBeNull()
    },
  )
})

describe('files', () => {
  test('without files, no address has a location', async () => {
    const { find } = await openGeoIp(null, null)
    expect(find('203.0.113.7')).toMatchObject({ country: null, network: null })
    expect(find('203.0.113.7').placeName('en')).toBeNull()
  })

  test('each works without the other', async () => {
    expect((await openGeoIp(cities, null)).find('203.0.113.7')).toMatchObject({ country: 'DE', network: null })
    const { find } = await openGeoIp(null, networks)
    expect(find('203.0.113.7')).toMatchObject({ country: null, network: 'Example Telecom' })
  })

  test('a database of IPv4 only has no IPv6', async () => {
    const { find } = await openGeoIp(writeMmdb(file('v4.mmdb'), [['32.1.13.0/24', hamburg]], { ipVersion: 4 }), null)
    expect(find('32.1.13.1').country).toBe('DE')
    expect(find('2001:d00::1'), 'whose first bytes are 32.1.13').toMatchObject({ country: null })
  })

  test('a missing file is reported, with what to do', async () => {
    await expect(openGeoIp(file('none.mmdb'), null)).rejects.toThrow(
      `GEOIP_CITY_FILE cannot be read from ${file('none.mmdb')}: ENOENT. Name a .mmdb file, or leave GEOIP_CITY_FILE out.`,
    )
    await expect(openGeoIp(cities, folder)).rejects.toThrow(`GEOIP_ASN_FILE cannot be read from ${folder}: EISDIR.`)
  })

  test.each([
    ['empty', Buffer.alloc(0)],
    ['of words', Buffer.from('these are words, not a database '.repeat(100))],
    ['of zeros', Buffer.alloc(5_000)],
    ['still packed', gzipSync(readFileSync(cities))],
    ['cut off', readFileSync(cities).subarray(0, -100)],
    ['of something else', readFileSync(process.execPath).subarray(0, 100_000)],
  ])('a file %s is reported', async (name, bytes) => {
    writeFileSync(file(name), bytes)
    await expect(openGeoIp(file(name), null)).rejects.toThrow(
      /^GEOIP_CITY_FILE cannot be read from .*: it is no MaxMind database\./,
    )
  })

  test('a damaged record has no location, and nothing throws', async () => {
    const bytes = readFileSync(cities)
    const at = bytes.indexOf('Hamburg')
    bytes.fill(0, at - 40, at + 40)
    writeFileSync(file('damaged.mmdb'), bytes)
    const { find } = await openGeoIp(file('damaged.mmdb'), null)
    expect(find('203.0.113.7')).toMatchObject({ country: null, network: null })
    expect(find('2001:db8::1').country).toBe('PE')
  })
})
