/** Evidence as `core/` sees it, without storage: one builder per noun. */

import type { Evidence, Window, WindowCounts } from '../../src/core/reviews/suspension.ts'
import type { Observation } from '../model/evidence-windows.ts'
import { NOW } from './records.ts'

export const NOBODY: WindowCounts = { grantedAccounts: 0, ignoringAccounts: 0, ignoringNetworks: 0 }

/** Far beyond every default threshold. */
export const MANY: WindowCounts = { grantedAccounts: 100, ignoringAccounts: 30, ignoringNetworks: 30 }

/** Of established accounts, unless `anyAccount` says more. */
export function makeWindow(counts: WindowCounts = NOBODY, given: Partial<Window> = {}): Window {
  return { startsAt: NOW - 600_000, overloaded: false, ...counts, anyAccount: counts, ...given }
}

export function makeEvidence(given: Partial<Evidence> = {}): Evidence {
  return {
    windows: [makeWindow(), makeWindow(), makeWindow()],
    touched: 0,
    factor: 1,
    reports: 0,
    funnel: { requested: 0, entered: 0, granted: 0 },
    warnedAt: null,
    now: NOW,
    ...given,
  }
}

const YEAR_MS = 365 * 86_400_000

/** A code that a stranger granted a minute ago, polled as it should be. */
export function makeObservation(given: Partial<Observation> = {}): Observation {
  return {
    grantedAt: NOW - 60_000,
    accountId: 'acc_000000000001',
    accountCreatedAt: NOW - YEAR_MS,
    own: false,
    network: '192.0.2.0/24',
    earlyPolls: 0,
    ...given,
  }
}
