/** The corpus of hostile redirect URIs is complete, and none of them can be registered. */
import { describe, expect, test } from 'vitest'
import { redirectProblem } from '../../src/core/dialog/redirect-uri.ts'
import { hostileRegistrations, redirectCorpus, registered, schemeSpellings } from '../attacks/dialog/redirect-corpus.ts'

describe('DG-01 the corpus of redirect addresses', () => {
  test('has at least 400 lines, no two alike', () => {
    expect(redirectCorpus.length).toBeGreaterThanOrEqual(400)
    expect(new Set(redirectCorpus.map(({ uri }) => uri)).size).toBe(redirectCorpus.length)
  })

  test('has no line that is registered, and each can be sent as it is', () => {
    expect(redirectCorpus.filter(({ uri }) => registered.includes(uri))).toEqual([])
    expect(
      redirectCorpus.filter(({ uri }) => uri === '' || decodeURIComponent(encodeURIComponent(uri)) !== uri),
    ).toEqual([])
  })

  test('is aimed at addresses that may be registered', () => {
    expect(registered.map(redirectProblem)).toEqual([null, null, null])
  })
})

describe('redirect URIs that cannot be registered', () => {
  test('DG-05 include at least 60 spellings of a wrong scheme', () => {
    expect(new Set(schemeSpellings).size).toBe(schemeSpellings.length)
    expect(schemeSpellings.length).toBeGreaterThanOrEqual(60)
  })

  const byWhy = Map.groupBy(hostileRegistrations, ({ reason }) => reason)

  test.each([...byWhy])('%s', (_reason, lines) => {
    expect(lines.filter(({ uri }) => redirectProblem(uri) === null)).toEqual([])
  })
})
