/** Builders for the tests of the audit log's page. */

import type { AuditEntry } from '../../src/core/audit/entry.ts'
import { type AuditModel, auditPage } from '../../src/pages/audit/audit.tsx'
import type { Frame } from '../../src/pages/ui/frame.ts'

const AT = Date.UTC(2026, 10, 15, 14, 32)

export const NO_FILTERS = {
  kind: '',
  person: '',
  application: '',
  request: '',
  from: '',
  until: '',
  account: null,
} as const

export function makeEntry(given: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: 4711,
    at: AT,
    kind: 'grant.created',
    who: { is: 'person', name: 'maria@northwind.example' },
    person: 'maria@northwind.example',
    application: 'Acme Signage',
    applicationId: 'app_k3v9m2x7q4tz',
    account: null,
    grantId: 'grt_4m8x2k7q9t3v6w1y5z0a',
    deviceCodeId: null,
    detail: { scopes: ['calendars', 'screens'], flow: 'device' },
    requestId: '5f0c9a7be1d24836',
    position: 4709,
    ...given,
  }
}

export function makeAudit(given: Partial<AuditModel> = {}): AuditModel {
  return {
    base: '/account/audit',
    weekFrom: '2026-11-09',
    filters: NO_FILTERS,
    problems: [],
    entries: [makeEntry()],
    continued: null,
    after: null,
    sealed: { position: 4709, at: AT },
    max: 50_000,
    ...given,
  }
}

/** `name` is used wherever a user chose the text. */
export function everyAuditPage(frame: Frame, name: string): Record<string, string> {
  const entries = [
    makeEntry({
      id: 3,
      person: name,
      application: name,
      who: { is: 'person', name },
      detail: { reason: name, [name]: name },
    }),
    makeEntry({
      id: 2,
      kind: name,
      who: { is: 'somebody' },
      position: null,
      detail: { changed: { [name]: [name, null] } },
    }),
    makeEntry({
      id: 1,
      kind: 'grant.revoked',
      who: { is: 'application', name },
      detail: { reason: 'never_collected' },
    }),
  ]
  const filters = {
    kind: 'access',
    person: name,
    application: name,
    request: name,
    from: '2026-11-01',
    until: '2026-11-15',
  }
  return {
    audit: auditPage(frame, makeAudit({ entries, after: 1 })),
    auditFound: auditPage(
      frame,
      makeAudit({ entries, filters: { ...filters, account: null }, continued: '9', after: 1 }),
    ),
    auditNone: auditPage(frame, makeAudit({ entries: [], filters: { ...NO_FILTERS, person: name }, sealed: null })),
    auditProblem: auditPage(
      frame,
      makeAudit({ entries: [], sealed: null, problems: ['from'], filters: { ...NO_FILTERS, from: name } }),
    ),
    auditOfOperator: auditPage(
      frame,
      makeAudit({
        base: '/operator/audit',
        entries: entries.map((entry) => ({ ...entry, account: name })),
        filters: { ...filters, account: name },
      }),
    ),
  }
}
