/** The record by which a publisher shows that a domain is theirs: for one application and one domain, and for no other. */
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

  test('proves this domain for this application', () => {
    expect(isPublisherRecord(keys, APP, 'acme.example', record)).toBe(true)
  })

  test('proves nothing for another application, another domain, or one within the other', () => {
    expect(isPublisherRecord(keys, 'app_000000000000', 'acme.example', record)).toBe(false)
    for (const domain of ['evil.example', 'www.acme.example', 'example', 'acme.example.evil.example', '']) {
      expect(isPublisherRecord(keys, APP, domain, record)).toBe(false)
    }
  })

  test('cannot be moved by cutting the application and the domain in another place', () => {
    const shifted = publisherRecord(keys, `${APP}","a`, 'cme.example')
    expect(isPublisherRecord(keys, APP, 'acme.example', shifted)).toBe(false)
  })

  test('may be written in capitals, and with spaces around it', () => {
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
  test('a record goes on proving while its key is among them, wherever it stands', () => {
    expect(isPublisherRecord(readKeyset(NEW, OLD), APP, 'acme.example', record)).toBe(true)
    expect(publisherRecord(readKeyset(NEW, OLD), APP, 'acme.example')).not.toBe(record)
  })

  test('and proves nothing without it, or under another key of the same number', () => {
    expect(isPublisherRecord(readKeyset(NEW), APP, 'acme.example', record)).toBe(false)
    expect(isPublisherRecord(readKeyset(OTHER), APP, 'acme.example', record)).toBe(false)
  })
})
