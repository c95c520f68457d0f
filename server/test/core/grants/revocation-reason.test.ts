/** Reasons are a closed list: code and document name the same ones; closed-lists.test.ts compares the table. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { revocationReasons } from '../../../src/core/grants/revocation-reason.ts'
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
