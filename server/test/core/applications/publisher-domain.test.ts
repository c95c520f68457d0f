/** Parsing a typed domain, and the state of a verification after another check. */
import { describe, expect, test } from 'vitest'
import { isPublisherName } from '../../../src/core/applications/application.ts'
import { readDomain, recheck, recordName } from '../../../src/core/applications/publisher-domain.ts'

const HOST = 'service.example.org'
const LABEL = 'a'.repeat(60)

describe('a domain', () => {
  test.each([
    ['acme.example', 'acme.example'],
    ['  acme.example ', 'acme.example'],
    ['ACME.Example', 'acme.example'],
    ['tv.acme.co.uk', 'tv.acme.co.uk'],
    ['Bücher.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['пример.испытание', 'xn--e1afmkfd.xn--80akhbyknj4f'],
    ['ａｃｍｅ.example', 'acme.example'],
    ['acme。example', 'acme.example'],
    ['notservice.example.org', 'notservice.example.org'],
    ['example.org', 'example.org'],
    ['4.acme.example', '4.acme.example'],
    ['acme.example2', 'acme.example2'],
    // With the label of the record 253 characters, as many as a DNS name may have.
    [`${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(52)}.example`, `${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(52)}.example`],
    [`${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(50)}.example`, `${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(50)}.example`],
  ])('%j is %s', (typed, domain) => {
    expect(readDomain(typed, HOST)).toEqual({ domain })
    expect(isPublisherName(domain)).toBe(true)
    expect(recordName(domain)).toBe(`_latchkey.${domain}`)
    expect(recordName(domain).length).toBeLessThanOrEqual(253)
  })

  test.each([
    ['', 'empty'],
    ['   ', 'empty'],
    ['https://acme.example', 'address'],
    ['https://acme.example:8443/about?x=1#y', 'address'],
    ['//acme.example', 'address'],
    ['acme.example/', 'address'],
    ['acme.example\\', 'address'],
    ['ann@acme.example', 'address'],
    ['acme.example?', 'address'],
    ['acme.example#top', 'address'],
    ['acme.example:443', 'port'],
    ['localhost:8080', 'port'],
    ['203.0.113.9', 'ip'],
    ['169.254.169.254', 'ip'],
    ['0x7f.1', 'ip'],
    ['2130706433', 'ip'],
    ['127.1', 'ip'],
    ['::1', 'ip'],
    ['[::1]', 'ip'],
    ['[2001:db8::1]:53', 'ip'],
    ['2001:db8::1', 'ip'],
    ['localhost', 'single'],
    ['acme', 'single'],
    ['com', 'single'],
    ['acme.example.', 'dot'],
    ['acme.', 'dot'],
    ['acme.example。', 'dot'],
    [`${LABEL}.${LABEL}.${LABEL}.${'b'.repeat(53)}.example`, 'too_long'],
    [`${LABEL}.${LABEL}.${LABEL}.${LABEL}.example`, 'too_long'],
    ['acme..example', 'not_a_domain'],
    ['.acme.example', 'not_a_domain'],
    ['acme[.example', 'not_a_domain'],
    ['acme example', 'not_a_domain'],
    ['acme.exam ple', 'not_a_domain'],
    ['acme%2eexample', 'not_a_domain'],
    ['-acme.example', 'not_a_domain'],
    ['acme-.example', 'not_a_domain'],
    ['*.acme.example', 'not_a_domain'],
    ['_latchkey.acme.example', 'not_a_domain'],
    ['acme.example,evil.example', 'not_a_domain'],
    ['acme.example\nevil.example', 'not_a_domain'],
    ['acme.example;evil.example', 'not_a_domain'],
    ['acme.123', 'not_a_domain'],
    ['256.256.256.256', 'not_a_domain'],
    [`${'a'.repeat(64)}.example`, 'not_a_domain'],
    ['<script>.example', 'not_a_domain'],
    [HOST, 'ours'],
    ['SERVICE.example.org', 'ours'],
    ['acme.service.example.org', 'ours'],
    ['deep.acme.service.example.org', 'ours'],
  ])('%j is invalid: %s', (typed, problem) => {
    expect(readDomain(typed, HOST)).toEqual({ problem })
  })
})

describe('another check of a verified domain', () => {
  const DAY = 86_400_000
  const now = 1_000 * DAY
  const proof = (seenDaysAgo: number, missingDays: number | null) => ({
    provenAt: now - seenDaysAgo * DAY,
    missingSince: missingDays === null ? null : now - missingDays * DAY,
  })

  test.each([
    ['there', proof(1, null), 'proven'],
    ['there', proof(6, 5), 'proven'],
    ['there', proof(400, 399), 'proven'],
    ['gone', proof(1, null), 'missed'],
    ['gone', proof(400, null), 'missed'],
    ['gone', proof(2, 1), 'still_missing'],
    ['gone', proof(8, 6.99), 'still_missing'],
    ['gone', proof(8, 7), 'lost'],
    ['gone', proof(8, 30), 'lost'],
    ['silent', proof(1, null), 'unknown'],
    ['silent', proof(29.9, 28), 'unknown'],
    ['silent', proof(30, null), 'lost'],
  ] as const)('%s, %o: %s', (record, before, after) => {
    expect(recheck(before, record, now)).toBe(after)
  })
})
