/** The operators' tables and search for tests of pages: with lines, and without. */
import type { ApplicationLine } from '../../src/core/operator/listed.ts'
import { operatorAccountPage } from '../../src/pages/operator/account.tsx'
import { operatorAccountsPage } from '../../src/pages/operator/accounts.tsx'
import { operatorApplicationsPage } from '../../src/pages/operator/applications.tsx'
import { operatorGrantsPage } from '../../src/pages/operator/grants.tsx'
import { operatorPersonPage } from '../../src/pages/operator/person.tsx'
import { operatorSearchPage } from '../../src/pages/operator/search.tsx'
import type { Frame } from '../../src/pages/ui/frame.ts'
import { makeEntry } from './make-audit.ts'

const BY_NAME = { search: '', sort: 'name', descending: false, after: null } as const
const ID = 'app_k3v9m2x7q4tz'
const NOW = Date.UTC(2026, 10, 15, 14, 30)

export function everyListPage(
  at: (path: string) => Frame,
  text: string,
  listed: ApplicationLine,
): Readonly<Record<string, string>> {
  const account = { slug: 'acme', name: text, createdAt: NOW, people: 3, applications: 1, grants: 2 }
  const person = { id: 'usr_k3v9m2x7q4tz', email: text, account: 'acme', createdAt: NOW, disabled: true }
  const grant = {
    ...{ id: 'grt_4m8x2k7q9t3v6w1y5z0a', userId: person.id, email: text, account: 'acme', applicationId: ID },
    ...{ application: text, connectedAt: NOW, lastUsedOn: null, endedAt: null, reason: null },
  }
  return {
    operatorAccounts: operatorAccountsPage(at('/operator/accounts'), {
      wish: { ...BY_NAME, search: text },
      accounts: { lines: [account], after: 'acme' },
    }),
    operatorAccountsNone: operatorAccountsPage(at('/operator/accounts'), {
      wish: BY_NAME,
      accounts: { lines: [], after: null },
    }),
    operatorAccount: operatorAccountPage(at('/operator/account'), {
      ...account,
      host: 'acme.service.example',
      administrators: [{ email: text, disabled: true }],
      wish: BY_NAME,
      applications: { lines: [listed], after: null },
    }),
    operatorApplications: operatorApplicationsPage(at('/operator/applications'), {
      wish: { ...BY_NAME, search: text, after: 'app_other' },
      suspended: true,
      applications: { lines: [listed], after: ID },
    }),
    operatorGrants: operatorGrantsPage(at('/operator/grants'), {
      of: { kind: 'application', id: ID, name: text },
      wish: { search: text, sort: 'connected', descending: true, after: null },
      live: false,
      grants: { lines: [grant, { ...grant, id: 'grt_other', endedAt: NOW, reason: 'user_reset' }], after: null },
    }),
    operatorPerson: operatorPersonPage(at('/operator/person'), {
      ...person,
      wish: { search: '', sort: 'connected', descending: false, after: null },
      grants: { lines: [grant], after: grant.id },
      notice: 'ended',
    }),
    operatorSearch: operatorSearchPage(at('/operator/search'), {
      text,
      accounts: [account],
      people: [person],
      applications: [listed],
      grants: [grant],
      events: [makeEntry({ account: text })],
    }),
    operatorSearchNone: operatorSearchPage(at('/operator/search'), {
      ...{ text, accounts: [], people: [], applications: [], grants: [], events: [] },
    }),
  }
}
