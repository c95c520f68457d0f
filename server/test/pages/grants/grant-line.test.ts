/** A connected application in a list: how long its access lasts. */

import { renderToString } from 'preact-render-to-string'
import { expect, test } from 'vitest'
import { GrantFacts, type GrantLine } from '../../../src/pages/grants/grant-line.tsx'
import { languages, wordsFor } from '../../../src/pages/ui/words.ts'
import { textOf } from '../../rig/web.ts'
import { makeGrant } from '../make.ts'

const read = (given: Partial<GrantLine>, words = wordsFor('en')) =>
  textOf(renderToString(GrantFacts({ words, grant: { ...makeGrant('Acme Signage'), ...given } })))

test('a token set ends when it is removed, when it is unused for long, and at the latest after its lifetime', () => {
  expect(read({ variant: 'token_set', unusedDays: 60, maxDays: 365 })).toContain(
    'Duration Until removed, after 60 days without use, at the latest 365 days after connecting',
  )
  for (const { code } of languages) {
    expect(read({ variant: 'token_set', unusedDays: 61, maxDays: 367 }, wordsFor(code))).toMatch(/61.*367/)
  }
})

test('an access key ends only when it is removed', () => {
  expect(read({ variant: 'access_key' })).toMatch(/Duration Until removed$/)
})
