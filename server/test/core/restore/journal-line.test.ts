/** Lines of the revocation journal, as they are read. docs/decisions/0058-what-was-ended-stays-ended-after-a-restore.md. */
import { describe, expect, it, test } from 'vitest'
import { isEventLine, type JournalLine, journalledKinds, parseLine } from '../../../src/core/restore/journal-line.ts'

const EVENT: JournalLine = { kind: 'grant.revoked', event: 7, at: '2026-11-17 10:00:00.000001+00', grant: 'grt_1' }
const GENERATIONS: readonly JournalLine[] = [
  { kind: 'refresh_token', grant: 'grt_1', generation: 2, issuedAt: 1_000, key: 1 },
  { kind: 'access_key', grant: 'grt_1', generation: 2, issuedAt: 1_000, key: 1 },
]
const USE: JournalLine = { kind: 'access_token', grant: 'grt_1', generation: 2 }

describe('a line', () => {
  it.each([EVENT, ...GENERATIONS, USE])('is read as it was written: $kind', (line) => {
    expect(parseLine(JSON.stringify(line))).toEqual(line)
  })

  it.each(journalledKinds)('of every journalled event is read: %s', (kind) => {
    expect(parseLine(JSON.stringify({ ...EVENT, kind }))).toEqual({ ...EVENT, kind })
  })

  it.each([
    ['is empty', ''],
    ['was cut off within', '{"kind":"grant.revoked","gra'],
    ['was cut off before the last character', JSON.stringify(EVENT).slice(0, -1)],
    ['was cut off at the start', JSON.stringify(EVENT).slice(1)],
    ['follows one that was cut off', `{"kind":"grant.rev${JSON.stringify(EVENT)}`],
    ['does not begin with its object', ` ${JSON.stringify(EVENT)}`],
    ['is of a kind that a newer version writes', JSON.stringify({ ...EVENT, kind: 'comet' })],
    ['has no kind', '{}'],
    ['has a kind that is not a word', '{"kind":["grant.revoked"]}'],
    ['has an id that is no number', JSON.stringify({ ...EVENT, event: '7' })],
    ['has an id that is no whole number', JSON.stringify({ ...EVENT, event: 7.5 })],
    ['has no time', JSON.stringify({ ...EVENT, at: undefined })],
    ['has a generation that PostgreSQL cannot store', JSON.stringify({ ...USE, generation: 2 ** 31 })],
    ['has no generation', JSON.stringify({ ...USE, generation: 0 })],
    ['has a grant that PostgreSQL cannot store', JSON.stringify({ ...USE, grant: 'grt_\u0000' })],
    ['is not an object', '"grant.revoked"'],
    ['is null', 'null'],
    ['is not JSON', 'words'],
  ])('is ignored if it %s', (_, text) => {
    expect(parseLine(text)).toBeNull()
  })
})

test('a line is of an audit event if it has the id of one', () => {
  expect([EVENT, ...GENERATIONS, USE].map(isEventLine)).toEqual([true, false, false, false])
})
