/** What a process knows about a promoted PostgreSQL from the commits that it saw confirmed. */
import { expect, test } from 'vitest'
import { type FoundCommit, isPromotionOf, judgeCommits, withTimeline } from '../../../src/core/restore/evidence.ts'

const KEPT: FoundCommit = { timeline: '0000000F', recorded: true, beyond: false, status: 'committed' }

const judge = (...commits: readonly Partial<FoundCommit>[]) =>
  judgeCommits(
    '00000010',
    true,
    commits.map((commit) => ({ ...KEPT, ...commit })),
  )

test('a commit is there if its transaction is committed, and began before the promotion', () => {
  expect(judge({})).toBe('complete')
  expect(judge({ beyond: true })).toBe('lost')
  expect(judge({ status: 'aborted' })).toBe('lost')
  expect(judge({ beyond: true, status: null })).toBe('lost')
  for (const status of [null, 'in progress']) expect(judge({ status })).toBe('unknown')
})

test('only the timeline right after tells where the one of the commit was left', () => {
  for (const beyond of [true, false]) {
    for (const timeline of ['0000000E', '00000011', 'nonsense']) expect(judge({ timeline, beyond })).toBe('unknown')
    expect(judge({ recorded: false, beyond })).toBe('unknown')
    expect(judgeCommits('00000010', false, [{ ...KEPT, beyond }])).toBe('unknown')
  }
})

test('every commit has to be there, and one that is lost is enough', () => {
  expect(judge()).toBe('complete')
  expect(judge({}, {})).toBe('complete')
  expect(judge({}, { status: null })).toBe('unknown')
  expect(judge({ status: null }, {}, { status: 'aborted' })).toBe('lost')
})

test('a promotion keeps system and database, and counts the timeline by one', () => {
  const before = '7301/00000001/16384'
  expect(withTimeline(before, '0000000A')).toBe('7301/0000000A/16384')
  expect(isPromotionOf(before, '7301/00000002/16384')).toBe(true)
  for (const other of [before, '7301/00000003/16384', '7302/00000002/16384', '7301/00000002/16385'])
    expect(isPromotionOf(before, other)).toBe(false)
})
