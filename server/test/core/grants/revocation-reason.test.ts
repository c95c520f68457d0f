/** Reasons are a closed list: code and document name the same ones; closed-lists.test.ts compares the table. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isRevocationReason, revocationReasons } from '../../../src/core/grants/revocation-reason.ts'
import { suspensionReasons } from '../../../src/core/reviews/review.ts'

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')

const documented = (opening: string) => {
  const paragraph =
    read('docs/interface/webhooks.md')
      .split('\n\n')
      .find((each) => each.startsWith(opening)) ?? ''
  const list = paragraph.slice(opening.length).split(/\. (?=[A-Z`])/)[0] ?? ''
  return Array.from(list.matchAll(/`(\w+)`/g), ([, name = '']) => name).sort()
}

test('a grant is revoked for the reasons that docs/interface/webhooks.md lists', () => {
  expect(documented('`reason` of `grant.revoked`:')).toEqual([...revocationReasons].sort())
})

test('an application is warned, suspended and restored for the reasons that docs/interface/webhooks.md lists', () => {
  expect(documented('`reason` of the three events about the application:')).toEqual([...suspensionReasons].sort())
})

test('a reason is one of the list, and nothing that a newer version may write', () => {
  expect(revocationReasons.filter((reason) => !isRevocationReason(reason))).toEqual([])
  for (const other of ['', 'a_later_reason', 'toString', 'KEY_RETIRED', null, undefined, 0]) {
    expect(isRevocationReason(other)).toBe(false)
  }
})
