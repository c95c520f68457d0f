/** The audit log page: events in plain words, in every language, with search. */
import { describe, expect, test } from 'vitest'
import { auditDetails } from '../../../src/core/audit/detail.ts'
import { auditGroups, everyAuditKind, kindsIn } from '../../../src/core/audit/kind.ts'
import { revocationReasons } from '../../../src/core/grants/revocation-reason.ts'
import { suspensionReasons } from '../../../src/core/reviews/review.ts'
import { auditHref, auditPage } from '../../../src/pages/audit/audit.tsx'
import { languages, wordsFor } from '../../../src/pages/ui/words.ts'
import { textOf } from '../../rig/web.ts'
import { makeFrame } from '../make.ts'
import { makeAudit, makeEntry, NO_FILTERS } from '../make-audit.ts'

const NAMED = { person: 'maria@northwind.example', application: 'Acme Signage', role: 'Sales', scope: 'orders' }

const show = (given: Parameters<typeof makeAudit>[0], frame = makeFrame()) => auditPage(frame, makeAudit(given))

describe.each(languages)('$name', ({ code }) => {
  const words = wordsFor(code)

  test('has a sentence for every kind of event, none of them the same', () => {
    const sentences = everyAuditKind.map((kind) => words.t(`audit_kind.${kind}`, NAMED))
    expect(new Set(sentences).size).toBe(everyAuditKind.length)
    expect(sentences.filter((sentence) => /[{}]|undefined/.test(sentence))).toEqual([])
    for (const kind of everyAuditKind) {
      const html = show({ entries: [makeEntry({ kind, detail: NAMED })] }, makeFrame({ words }))
      expect(textOf(html)).toContain(words.t(`audit_kind.${kind}`, NAMED))
    }
  })

  test('has words for every detail shown to an account, and for every revocation reason', () => {
    for (const name of auditDetails) expect(words.t(`audit_detail.${name}`)).not.toBe('')
    for (const reason of revocationReasons) {
      const html = show({ entries: [makeEntry({ detail: { reason } })] }, makeFrame({ words }))
      expect(textOf(html)).toContain(words.t(`revocation_reason.${reason}`))
    }
    for (const reason of suspensionReasons) {
      const html = show({ entries: [makeEntry({ detail: { reason } })] }, makeFrame({ words }))
      expect(textOf(html)).toContain(words.t(`suspension_reason.${reason}`))
    }
  })
})

test('every kind is in one group of the filter', () => {
  expect(auditGroups.flatMap(kindsIn).sort()).toEqual([...everyAuditKind].sort())
})

test('an unknown kind is shown as stored', () => {
  const text = textOf(show({ entries: [makeEntry({ kind: 'moon.landed', detail: { rocket: { stages: 3 } } })] }))
  expect(text).toContain('moon.landed')
  expect(text).toContain('rocket {"stages":3}')
})

test('a filter is kept on the next page and in the export', () => {
  const filters = { ...NO_FILTERS, kind: 'people', person: 'ann+1@northwind.example' }
  const html = show({ filters, continued: '900', after: 850 })
  expect(html).toContain('href="/account/audit?kind=people&amp;person=ann%2B1%40northwind.example&amp;after=850"')
  const form = html.split('action="/account/audit/export"')[1]?.split('</form>')[0]
  expect(form).toContain('name="kind" value="people"')
  expect(form).toContain('name="person" value="ann+1@northwind.example"')
  expect(form).toContain('name="after" value="900"')
  expect(auditHref('/account/audit', NO_FILTERS, null)).toBe('/account/audit')
})

test('the account filter is shown to operators only', () => {
  expect(show({})).not.toContain('name="account"')
  const html = show({ base: '/operator/audit', filters: { ...NO_FILTERS, account: 'acme' } })
  expect(html).toContain('name="account"')
  expect(html).toContain('action="/operator/audit/export"')
})

test('an unsealed entry is marked', () => {
  expect(textOf(show({ entries: [makeEntry({ position: null })] }))).toContain('Seal Not yet')
  expect(textOf(show({}))).toContain('Seal Position 4,709')
  expect(textOf(show({}))).toContain('Sealed up to 15 November 2026 at 14:32 UTC , position 4,709.')
})
