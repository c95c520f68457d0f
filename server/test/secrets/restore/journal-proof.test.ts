/** Proofs of the lines of the revocation journal. docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md. */
import { describe, expect, it } from 'vitest'
import { createKey, dropKey, type Keyset, parseKeyset } from '../../../src/secrets/keyset.ts'
import { createJournalChain, NO_LINE, verifyJournalLine } from '../../../src/secrets/restore/journal-proof.ts'

const keysOf = (...texts: string[]) => parseKeyset(texts.join(',')) as Keyset
const [KEY, OTHER] = [createKey(1), createKey(2)]
const keys = keysOf(KEY)

const proven = (count = 3) => {
  const prove = createJournalChain(keys)
  return Array.from({ length: count }, (_, at) => prove(`{"kind":"access_token","grant":"grt_${at}"}`))
}

it('is JSON, with the place of the line in the chain of its process', () => {
  const [first, second, third] = proven().map((line) => verifyJournalLine(keys, line))
  expect(JSON.parse(proven()[0] ?? '')).toMatchObject({ kind: 'access_token', grant: 'grt_0' })
  expect(first).toMatchObject({
    text: '{"kind":"access_token","grant":"grt_0"}',
    keyId: 1,
    number: 1,
    previous: NO_LINE,
  })
  expect(second).toMatchObject({ number: 2, writer: first?.writer, previous: first?.proof })
  expect(third).toMatchObject({ number: 3, writer: first?.writer, previous: second?.proof })
  expect(verifyJournalLine(keys, proven()[0] ?? '')?.writer).not.toBe(first?.writer)
})

it('has any length', () => {
  const long = `{"kind":"role.changed","left":[${'"scope:a",'.repeat(10_000)}"scope:b"]}`
  expect(verifyJournalLine(keys, createJournalChain(keys)(long))?.text).toBe(long)
})

describe('a line has no valid proof', () => {
  const line = proven()[1] ?? ''

  it('if a character of it was altered', () => {
    for (let at = 0; at < line.length; at += 1) {
      const altered = `${line.slice(0, at)}${line[at] === '1' ? '2' : '1'}${line.slice(at + 1)}`
      expect(verifyJournalLine(keys, altered), altered).toBeNull()
    }
  })

  it.each([
    ['is written by hand', '{"kind":"account.closed","event":1,"at":"2026-11-19 21:30:00+00","account":"acc_1"}'],
    ['has the proof of another line', `{"kind":"account.closed"${/,"proof".*/.exec(line)?.[0]}`],
    ['is cut off', line.slice(0, -1)],
    ['has something after it', `${line} `],
    ['is empty', ''],
  ])('if it %s', (_, text) => {
    expect(verifyJournalLine(keys, text)).toBeNull()
  })

  it('if its key is not among the keys, is another one of this number, or was retired', () => {
    expect(verifyJournalLine(keysOf(OTHER), line)).toBeNull()
    expect(verifyJournalLine(keysOf(createKey(1)), line)).toBeNull()
    const rotated = keysOf(OTHER, KEY)
    expect(verifyJournalLine(rotated, line)?.keyId).toBe(1)
    dropKey(rotated, 1)
    expect(verifyJournalLine(rotated, line)).toBeNull()
  })
})
