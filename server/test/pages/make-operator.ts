/** Builders for the tests of the operators' pages. */
import { type OperatorChangeLine, operatorChanges } from '../../src/core/operator/operator-change.ts'
import { confirmationProblems } from '../../src/core/operator/second-operator.ts'
import type { QueueLine, RequestLine, VettingRequest } from '../../src/core/reviews/queue.ts'
import type { DecisionLine, ReviewLine, ReviewView, Series } from '../../src/core/reviews/review.ts'
import type { Window } from '../../src/core/reviews/suspension.ts'
import { type OperatorsModel, operatorsPage } from '../../src/pages/operator/operators.tsx'
import { type OperatorOverviewModel, operatorOverviewPage } from '../../src/pages/operator/overview.tsx'
import { type OperatorScopesModel, operatorScopesPage } from '../../src/pages/operator/scopes.tsx'
import { operatorApplicationPage } from '../../src/pages/reviews/application.tsx'
import type { DecisionForm, OperatorApplicationModel, RequestModel } from '../../src/pages/reviews/application-model.ts'
import { type OperatorReviewsModel, operatorReviewsPage } from '../../src/pages/reviews/reviews.tsx'
import type { Frame } from '../../src/pages/ui/frame.ts'
import { defaultThresholds } from '../rig/thresholds.ts'

import { everyListPage } from './make-operator-lists.ts'

const ID = 'app_k3v9m2x7q4tz'
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
export const NOW = Date.UTC(2026, 10, 15, 14, 30)

export function makeListedReview(given: Partial<ReviewLine> = {}): ReviewLine & { readonly kind: 'suspension' } {
  return {
    kind: 'suspension',
    id: 'rev_k3v9m2x7q4tz',
    applicationId: ID,
    application: 'Acme Signage',
    account: 'acme',
    reason: 'polling',
    verdict: 'suspend',
    harm: 192,
    openedAt: NOW - 3 * 60 * MINUTE,
    closedAt: null,
    suspended: true,
    suspensionEndsAt: NOW + 21 * 60 * MINUTE,
    waitingSince: NOW - 2 * 60 * MINUTE,
    appealedAt: NOW - 20 * MINUTE,
    waitsForSecond: false,
    people: 31,
    factor: 6.2,
    ...given,
  }
}

/** One line of each kind of request. */
export function makeRequestLines(name = 'Acme Signage', closedAt: number | null = null): readonly RequestLine[] {
  const about = { applicationId: ID, application: name, account: name, openedAt: NOW - 2 * DAY, closedAt }
  return [
    { ...about, id: `vetting-${ID}`, kind: 'vetting', suspended: false, outsideGrants: 42 },
    { ...about, id: `profile-${ID}`, kind: 'profile', suspended: true, name, logo: true },
  ]
}

export function makeReviews(lines: readonly QueueLine[], filter: 'open' | 'closed' = 'open'): OperatorReviewsModel {
  const wish = { search: '', sort: 'harm', descending: true, after: null } as const
  return { filter, kind: null, wish, queue: { lines, after: lines.at(-1)?.id ?? null }, now: NOW }
}

export function makeVetting(given: Partial<VettingRequest> = {}): VettingRequest {
  return {
    ...{ kind: 'vetting', by: 'ann@acme.example', since: NOW, approved: false, outsideGrants: 42 },
    ...{ scopes: ['orders:read'], redirectUris: ['https://acme.example/callback'] },
    ...given,
  }
}

export function makeProfile(name = 'Acme Displays'): Extract<RequestModel, { kind: 'profile' }> {
  return {
    ...{ kind: 'profile', by: 'ann@acme.example', since: NOW - 3 * 60 * MINUTE, version: 2 },
    publisher: { status: 'verified', name: 'acme.example' },
    ...{ nameNow: 'Acme Signage', logoVersionNow: null, logoNow: null },
    ...{ name, logoVersion: '0123456789ab', logo: '/logo' },
  }
}

function makeWindow(place: number): Window {
  const counts = { grantedAccounts: 240, ignoringAccounts: 28 + place, ignoringNetworks: 12 + place }
  return {
    ...counts,
    startsAt: NOW - (3 - place) * 10 * MINUTE,
    overloaded: false,
    anyAccount: { ...counts, ignoringAccounts: counts.ignoringAccounts + 4 },
  }
}

export function makeSeenReview(given: Partial<ReviewView> = {}): ReviewView {
  return {
    ...makeListedReview(),
    thresholds: defaultThresholds,
    warnedAt: NOW - 2 * DAY,
    appeal: 'We have shipped version 4.3, which waits.\nPlease look again.',
    evidence: {
      windows: [0, 1, 2].map(makeWindow),
      touched: 31,
      factor: 6.2,
      reports: 1,
      funnel: { requested: 1_200, entered: 640, granted: 610 },
      warnedAt: NOW - 2 * DAY,
      now: NOW,
    },
    ...given,
  }
}

function makeSeries(given: Partial<Series> = {}): Series {
  return {
    minutes: Array.from({ length: 36 }, (_, place) => {
      const polls = 400 + 40 * place
      return { at: NOW - (36 - place) * 5 * MINUTE, polls, early: polls - 300, allowed: 320 }
    }),
    days: Array.from({ length: 30 }, (_, place) => ({
      day: Date.UTC(2026, 9, 17) + place * DAY,
      requested: 40 + place,
      entered: 22,
      granted: 20,
      rejected: 1,
      polls: 900,
      early: 12 * place,
      newUsers: place % 7,
      networks: 5 + (place % 9),
      countries: 1 + (place % 3),
    })),
    ...given,
  }
}

export function makeDecision(given: Partial<DecisionLine> = {}): DecisionLine {
  return {
    id: 'dec_k3v9m2x7q4tz',
    at: NOW - 30 * MINUTE,
    by: 'olga@operators.example',
    decision: 'reinstate_slower',
    reason: 'broken_firmware',
    words: 'Please wait ten seconds between polls.',
    intervalSeconds: 10,
    needsSecond: false,
    confirmedBy: null,
    confirmedAt: null,
    withdrawnBy: null,
    withdrawnAt: null,
    grants: 0,
    ...given,
  }
}

export function makeForm(given: Partial<DecisionForm> = {}): DecisionForm {
  return {
    seen: '7',
    decision: null,
    reason: null,
    words: '',
    intervalSeconds: '',
    problem: null,
    ...given,
  }
}

export function makeOperatorApplication(given: Partial<OperatorApplicationModel> = {}): OperatorApplicationModel {
  return {
    id: ID,
    name: 'Acme Signage',
    account: { slug: 'acme', name: 'Acme' },
    createdAt: NOW - 200 * DAY,
    publisher: { status: 'verified', name: 'acme.example' },
    suspended: true,
    deviceFlow: true,
    public: false,
    pollIntervalSeconds: 5,
    usualIntervalSeconds: 5,
    grants: 1_234,
    restorable: 0,
    review: makeSeenReview(),
    decisions: [],
    timeline: [{ at: NOW, kind: 'application.suspended', by: null, detail: {} }],
    series: makeSeries(),
    reportsByAccounts: 2,
    form: makeForm(),
    requests: [],
    answerForm: null,
    confirmationProblem: null,
    notice: null,
    problem: null,
    ...given,
  }
}

export function makeOverview(given: Partial<OperatorOverviewModel> = {}): OperatorOverviewModel {
  const task = { everyMs: 1_000, succeededAgoMs: 400, failedAgoMs: null, failure: null, overdue: false }
  return {
    now: NOW,
    postgres: {
      version: '16.3',
      roundTripMs: 1,
      clockAheadMs: 12,
      schema: { newest: '0001_schema.sql', missing: [], unknown: [] },
    },
    gate: { shared: true, answers: true },
    mail: { server: true, waiting: 0, oldest: null, givenUp: 0 },
    tasks: [{ ...task, name: 'pulling applications' }],
    live: { waitingDevices: 1_204, pollsPerSecond: 241.3, outcomes: { granted: 310, rejected: 12, expired: 80 } },
    queue: [makeListedReview()],
    waiting: 1,
    attention: {
      restore: null,
      decisions: 1,
      operatorChanges: 1,
      suspended: 4,
      failingWebhooks: { count: 1, applications: [{ id: ID, name: 'Acme Signage' }] },
    },
    waitingSuspensions: { count: 1, oldest: NOW - 2 * 60 * MINUTE },
    ...given,
  }
}

export function makeScopes(given: Partial<OperatorScopesModel> = {}): OperatorScopesModel {
  return {
    scopes: [
      { name: 'orders:read', title: 'See orders', dangerous: false, deviceFlow: true, applications: 7 },
      { name: 'payments:write', title: 'Pay invoices', dangerous: true, deviceFlow: false, applications: 0 },
    ],
    typed: { name: '', title: '', dangerous: false, code: true },
    notice: null,
    problem: null,
    ...given,
  }
}

function makeOperators(given: Partial<OperatorsModel> & { email?: string } = {}): OperatorsModel {
  const { email = 'ida@operators.example', ...rest } = given
  const change = { change: 'create', email, by: 'olga@operators.example', own: false, problem: null } as const
  const times = { proposedAt: NOW - 3 * 60 * MINUTE, expiresAt: NOW + 6 * DAY }
  const changes: OperatorChangeLine[] = operatorChanges.map((kind, place) => {
    return { ...change, ...times, id: `opc_${place}`, change: kind }
  })
  for (const problem of confirmationProblems) {
    changes.push({ ...change, ...times, id: `opc_${problem}`, own: problem === 'own', problem })
  }
  return { changes, notice: null, problem: null, ...rest }
}

/** `text` is used as the name of an application or account, and as text of fields. */
export function everyOperatorPage(given: Frame, text = 'Acme Signage'): Readonly<Record<string, string>> {
  const frame = given.user ? { ...given, user: { ...given.user, operator: true } } : given
  const at = (path: string) => ({ ...frame, path })
  const review = makeSeenReview({ application: text, account: text, appeal: text })
  const queue = [makeListedReview({ application: text, account: text }), ...makeRequestLines(text)]
  const requests = [makeVetting({ by: text, scopes: [text], redirectUris: [text] }), makeProfile(text)]
  const decision = makeDecision({ words: text, by: text })
  const waiting = { ...decision, id: 'dec_2', needsSecond: true }
  const withdrawn = {
    ...decision,
    id: 'dec_3',
    withdrawnBy: text,
    withdrawnAt: NOW,
    confirmedBy: text,
    confirmedAt: NOW,
    grants: 4,
  }
  const timeline = [
    { at: NOW, kind: 'application.suspended', by: null, detail: { reason: text } },
    { at: NOW, kind: text, by: text, detail: { [text]: text, deep: { not: text } } },
  ]
  const application = makeOperatorApplication({
    name: text,
    account: { slug: 'acme', name: text },
    publisher: { status: 'unverified', name: text },
    review,
    decisions: [decision, waiting, withdrawn],
    restorable: 12,
    timeline,
  })
  const quiet = { name: text, suspended: false, review: null }
  const wrong = (form: Partial<DecisionForm>) =>
    operatorApplicationPage(at('/operator/application'), { ...application, form: makeForm({ words: text, ...form }) })
  const task = { name: text, everyMs: 1_000, succeededAgoMs: null, failedAgoMs: 90_000, failure: text, overdue: true }
  const listed = { id: ID, name: text, account: 'acme', createdAt: NOW, suspended: true, grants: 2 }
  return {
    operator: operatorOverviewPage(at('/operator'), makeOverview({ tasks: [task], queue })),
    operatorWell: operatorOverviewPage(at('/operator'), makeOverview({ queue: [], waiting: 0 })),
    operatorReviews: operatorReviewsPage(at('/operator/reviews'), makeReviews(queue)),
    operatorReviewsClosed: operatorReviewsPage(
      at('/operator/reviews'),
      makeReviews(makeRequestLines(text, NOW), 'closed'),
    ),
    operatorReviewsNone: operatorReviewsPage(at('/operator/reviews'), makeReviews([], 'closed')),
    operatorApplication: operatorApplicationPage(at('/operator/application'), application),
    operatorApplicationQuiet: operatorApplicationPage(
      at('/operator/application'),
      makeOperatorApplication({
        name: text,
        suspended: false,
        review: null,
        form: null,
        series: { minutes: [], days: [] },
      }),
    ),
    operatorApplicationRequests: operatorApplicationPage(
      at('/operator/application'),
      makeOperatorApplication({ ...quiet, requests, notice: 'approved' }),
    ),
    operatorApplicationApproved: operatorApplicationPage(
      at('/operator/application'),
      makeOperatorApplication({ ...quiet, requests: [makeVetting({ approved: true, by: null })] }),
    ),
    operatorApplicationAnswer: operatorApplicationPage(
      at('/operator/application'),
      makeOperatorApplication({ ...quiet, requests, answerForm: { kind: 'profile', words: text, wrong: true } }),
    ),
    operatorApplicationStale: operatorApplicationPage(at('/operator/application'), {
      ...application,
      problem: 'stale',
    }),
    operatorApplicationDecision: wrong({ problem: 'decision' }),
    operatorApplicationInterval: wrong({ decision: 'reinstate_slower', intervalSeconds: text, problem: 'interval' }),
    operatorApplicationReason: wrong({ decision: 'keep', problem: 'reason' }),
    operatorApplicationEndAll: wrong({ decision: 'keep_and_revoke', problem: 'words' }),
    ...everyListPage(at, text, listed),
    operators: operatorsPage(at('/operator/operators'), makeOperators({ email: text, notice: 'confirmed' })),
    operatorsStale: operatorsPage(at('/operator/operators'), makeOperators({ problem: 'stale' })),
    operatorsNone: operatorsPage(at('/operator/operators'), { changes: [], notice: 'withdrawn', problem: null }),
    operatorScopes: operatorScopesPage(
      at('/operator/scopes'),
      makeScopes({
        scopes: makeScopes().scopes.map((scope) => ({ ...scope, title: text })),
        problem: { titled: 'orders:read', title: text },
      }),
    ),
    operatorScopesExists: operatorScopesPage(
      at('/operator/scopes'),
      makeScopes({ typed: { name: text, title: text, dangerous: true, code: false }, problem: 'exists' }),
    ),
  }
}
