/** Each problem of an application's settings has a sentence that says what to change. */
import { expect, test } from 'vitest'
import type { SettingsProblem } from '../../../src/core/applications/settings.ts'
import { explainSettings } from '../../../src/core/applications/settings-in-words.ts'
import type { RedirectProblem } from '../../../src/core/dialog/redirect-uri.ts'

const names = ['orders:read', 'orders:write']

test.each<[SettingsProblem, string]>([
  [{ field: 'name', problem: 'malformed' }, '1 to 100 characters'],
  [{ field: 'name', problem: 'taken' }, 'Choose another'],
  [{ field: 'scopes', problem: 'unknown', names }, 'Not in the scope catalogue: orders:read, orders:write.'],
  [{ field: 'scopes', problem: 'not_by_device', names }, 'No typed code may lead to orders:read, orders:write,'],
  [{ field: 'scopes', problem: 'not_allowed', names }, 'must be allowed ones; orders:read, orders:write is not.'],
  [{ field: 'redirects', problem: 'too_many', uri: '' }, 'at most 10 redirect addresses'],
])('%j: %s', (problem, words) => {
  expect(explainSettings(problem)).toContain(words)
})

test.each<[RedirectProblem, string]>([
  ['too_long', 'too long'],
  ['not_an_address', 'not a whole address'],
  ['scheme', 'start with https://'],
  ['userinfo', 'a name or a password'],
  ['fragment', 'no #'],
  ['wildcard', 'no *'],
  ['host', 'its host'],
  ['not_canonical', 'written in another way'],
  ['characters', 'percent-encoded'],
  ['query', 'its query'],
])('a redirect address with the problem %s is quoted, with the reason: %s', (problem, words) => {
  const sentence = explainSettings({ field: 'redirects', problem, uri: 'x:y' })
  expect(sentence).toMatch(/^"x:y" cannot be a redirect address: \S/)
  expect(sentence).toContain(words)
})
