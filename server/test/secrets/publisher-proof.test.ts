/** The DNS record that verifies a publisher's domain: for one application and one domain. */
import { describe, expect, test } from 'vitest'
import { createKey, type Keyset, parseKeyset } from '../../src/secrets/keyset.ts'
import { isPublisherRecord, publisherRecord } from '../../src/secrets/publisher-proof.ts'

const [OLD, NEW, OTHER] = [createKey(1), createKey(2), createKey(1)]

function readKeyset(...entries: string[]): Keyset {
  const keyset = parseKeyset(entries.join(','))
  if ('problem' in keyset) throw new Error(keyset.problem)
  return keyset
}

const keys = readKeyset(OLD)
const APP = 'app_k3v9m2x7q4tz'
const record = publisherRecord(keys, APP, 'acme.example')

describe('the record', () => {
  test('is the same each time, short, and of plain characters', () => {
    expect(record).toBe(publisherRecord(keys, APP, 'acme.example'))
    expect(record).toMatch(/^latchkey-publisher=[0-9a-f]{32}$/)
  })

  test('verifies this domain for this application', () => {
    expect(isPublisherRecord(keys, APP, 'acme.example', record)).toBe(true)
  })

  test('does not verify another application, another domain, or a subdomain', () => {
    expect(isPublisherRecord(keys, 'app_000000000000', 'acme.example', record)).toBe(false)
    for (const domain of ['evil.example', 'www.acme.example', 'example', 'acme.example.evil.example', '']) {
      expect(isPublisherRecord(keys, APP, domain, record)).toBe(false)
    }
  })

  test('depends on the boundary between application and domain', () => {
    const shifted = publisherRecord(keys, `${APP}","a`, 'cme.example')
    expect(isPublisherRecord(keys, APP, 'acme.example', shifted)).toBe(false)
  })

  test('may be in upper case, with spaces around it', () => {
    expect(isPublisherRecord(keys, APP, 'acme.example', ` ${record.toUpperCase()} `)).toBe(true)
  })

  test.each([
    '',
    'latchkey-publisher=',
    record.slice(0, -1),
    `${record}0`,
    `x${record}`,
    record.replace('=', '= '),
    record.slice('latchkey-publisher='.length),
    `${record};${record}`,
    'x'.repeat(65_000),
  ])('is compared whole: %#', (text) => {
    expect(isPublisherRecord(keys, APP, 'acme.example', text)).toBe(false)
  })
})

describe('keys', () => {
  test('a record stays valid while its key is in the key set, at any position', () => {
    expect(isPublisherRecord(readKeyset(NEW, OLD), APP, 'acme.example', record)).toBe(true)
    expect(publisherRecord(readKeyset(NEW, OLD), APP, 'acme.example')).not.toBe(record)
  })

  test('a record is invalid without its key, or with another key of the same id', () => {
    expect(isPublisherRecord(readKeyset(NEW), APP, 'acme.example', record)).toBe(false)
    expect(isPublisherRecord(readKeyset(OTHER), APP, 'acme.example', record)).toBe(false)
  })
})
