/** The operators' pages: problems, automatic steps and decisions at a glance. */

import { describe, expect, it } from 'vitest'
import { confirmationProblems } from '../../src/core/operator/second-operator.ts'
import { operatorOverviewPage } from '../../src/pages/operator/overview.tsx'
import { operatorScopesPage } from '../../src/pages/operator/scopes.tsx'
import { operatorApplicationPage } from '../../src/pages/reviews/application.tsx'
import type { RequestModel } from '../../src/pages/reviews/application-model.ts'
import { operatorReviewsPage } from '../../src/pages/reviews/reviews.tsx'
import { wordsFor } from '../../src/pages/ui/words.ts'
import { textOf } from '../rig/web.ts'
import { makeFrame } from './make.ts'
import {
  makeDecision,
  makeForm,
  makeListedReview,
  makeOperatorApplication,
  makeOverview,
  makeProfile,
  makeRequestLines,
  makeReviews,
  makeScopes,
  makeSeenReview,
  makeVetting,
  NOW,
} from './make-operator.ts'

const frame = makeFrame({ user: { email: 'olga@operators.example', administrator: true, operator: true } })
const HOUR = 3_600_000

describe('the overview', () => {
  const read = (given: Parameters<typeof makeOverview>[0] = {}) =>
    textOf(operatorOverviewPage(frame, makeOverview(given)))
  const postgres = makeOverview().postgres
  const { schema } = postgres

  it('reports a healthy service', () => {
    expect(read()).toContain('All systems operational.')
    expect(read()).not.toMatch(/needs? attention/)
  })

  it('reports a restore that nobody has finished, and then not a healthy service', () => {
    const { attention } = makeOverview()
    const text = read({
      attention: { ...attention, restore: { since: NOW, journalled: true, lostGrants: 2, toAccept: 3 } },
    })
    expect(text).toContain('PostgreSQL was restored.')
    expect(text).toContain('3 matters have to be accepted')
    expect(text).toContain('2 granted accesses were lost.')
    expect(text).not.toContain('All systems operational.')
  })

  it('shows a clock that is a little behind without a sign', () => {
    expect(read({ postgres: { ...postgres, clockAheadMs: -12 } })).toContain(' 0 s ahead of PostgreSQL')
  })

  it.each([
    ['Redis does not respond.', { gate: { shared: true, answers: false } }],
    [
      'Migrations missing in the database: 0002_next.sql',
      { postgres: { ...postgres, schema: { ...schema, missing: ['0002_next.sql'] } } },
    ],
    [
      'newer migrations than this process knows: 0003_later.sql',
      { postgres: { ...postgres, schema: { ...schema, unknown: ['0003_later.sql'] } } },
    ],
    ['differ by 7 seconds', { postgres: { ...postgres, clockAheadMs: -7_100 } }],
    [
      '3 e-mails are queued, and no mail server is configured',
      { mail: { server: false, waiting: 3, oldest: NOW, givenUp: 0 } },
    ],
    [
      '3 e-mails are queued, the oldest for more than',
      { mail: { server: true, waiting: 3, oldest: NOW - HOUR, givenUp: 0 } },
    ],
    ['1 e-mail could not be delivered', { mail: { server: true, waiting: 0, oldest: null, givenUp: 1 } }],
    [
      'Overdue tasks in this process: sweeping',
      {
        tasks: [
          {
            ...{ name: 'sweeping', everyMs: 300_000, succeededAgoMs: null },
            ...{ failedAgoMs: 90_000, failure: 'no space left', overdue: true },
          },
        ],
      },
    ],
  ])('shows a problem first: %s', (sentence, given) => {
    const text = read(given)
    expect(text).toContain(sentence)
    expect(text.indexOf('1 problem needs attention')).toBeLessThan(text.indexOf('Live '))
    expect(text).not.toContain('All systems operational.')
  })

  it('accepts a missing Redis that is not configured, and mails queued a moment ago', () => {
    expect(read({ gate: { shared: false, answers: true } })).toContain('All systems operational.')
    const mail = { server: true, waiting: 12, oldest: NOW - 60_000, givenUp: 0 }
    expect(read({ mail })).toContain('All systems operational.')
  })

  it('counts suspensions that wait for a review, and reports a problem when one waits for more than a day', () => {
    const day = 86_400_000
    const waiting = (ageMs: number) => read({ waitingSuspensions: { count: 2, oldest: NOW - ageMs } })
    expect(waiting(day)).toContain('Suspensions awaiting review 2')
    expect(waiting(day)).toContain('All systems operational.')
    expect(waiting(day + 1)).toContain('2 suspended applications have been waiting for a decision for more than a day.')
    expect(read({ waitingSuspensions: { count: 0, oldest: null } })).toContain('All systems operational.')
  })

  it('shows the figures, and marks those that were not counted completely', () => {
    expect(read()).toContain('Devices waiting 1,204 Polls per second 241.3')
    const live = { ...makeOverview().live, outcomes: null }
    expect(read({ live })).toContain('Codes allowed, last hour too many to count')
  })
})

describe('the queue', () => {
  const read = (given: Parameters<typeof makeListedReview>[0]) =>
    textOf(operatorReviewsPage(frame, makeReviews([makeListedReview(given)])))

  it.each([
    [{}, 'Devices of 31 accounts ignore slow_down; the application polls 6.2 times as often as allowed.'],
    [{ people: 1, factor: null }, 'Devices of 1 account ignore slow_down.'],
    [{ reason: 'reports', people: 4 }, 'Reported by users of 4 accounts.'],
    [{ reason: 'operator', people: 0 }, 'Opened by an operator.'],
    [{ reason: 'early_polls', people: 0 }, 'anybody who has the application’s secret can cause it.'],
  ] as const)('says in one sentence why: %o', (given, sentence) => {
    expect(read(given)).toContain(sentence)
  })

  it('has badges for suspended, appealed, and waiting for a second operator', () => {
    const text = read({ waitsForSecond: true })
    for (const badge of ['Suspended', 'Appeal', 'Awaiting second operator']) expect(text).toContain(badge)
    for (const next of ['3 hours ago', '2 hours ago', 'Reinstated automatically: 16 Nov']) {
      expect(text).toContain(next)
    }
    const running = read({ suspended: false, appealedAt: null, suspensionEndsAt: null, waitingSince: null })
    expect(running).toContain('To suspend')
    expect(running).not.toContain('2 hours ago')
  })
})

describe('a request of developers', () => {
  const read = (...requests: readonly RequestModel[]) =>
    textOf(operatorApplicationPage(frame, makeOperatorApplication({ suspended: false, review: null, requests })))

  it('is in the queue in one sentence', () => {
    const text = textOf(operatorReviewsPage(frame, makeReviews(makeRequestLines('Acme'))))
    expect(text).toContain('Connected by users of other accounts without an approval: 42 of at most 100.')
    expect(text).toContain('New name: Acme, with a new logo.')
    for (const badge of ['New application', 'New name or logo', 'Suspended']) expect(text).toContain(badge)
    const closed = textOf(operatorReviewsPage(frame, makeReviews(makeRequestLines('Acme', NOW), 'closed')))
    for (const badge of ['Approved', 'Declined']) expect(closed).toContain(badge)
  })

  it('comes first on the page of the application, with what to look at', () => {
    const text = read(makeVetting(), makeProfile('Acme Displays'))
    expect(text).toMatch(
      /Back to reviews New application .* orders:read .*\/callback .*New name or logo .*Acme Displays/,
    )
    expect(text).not.toContain('No open review')
    expect(text.match(/Approve /g)).toHaveLength(4)
  })

  it('that was approved can be declined only, which withdraws the approval', () => {
    const text = read(makeVetting({ approved: true }))
    expect(text).toContain('Withdraw approval')
    expect(text).not.toContain('42 of 100')
    expect(text).toContain('No open review')
  })

  it('is answered only after a recent sign-in', () => {
    const given = { suspended: false, review: null, form: null, requests: [makeVetting()] }
    const text = operatorApplicationPage(frame, makeOperatorApplication(given))
    expect(text).not.toContain('/operator/application/answer')
    expect(text.match(/href="\/confirm\?next=/g)).toHaveLength(2)
  })
})

describe('an application', () => {
  const page = (given: Parameters<typeof makeOperatorApplication>[0] = {}, words = frame.words) =>
    operatorApplicationPage({ ...frame, words }, makeOperatorApplication(given))
  const suspension = (given: Parameters<typeof makeOperatorApplication>[0] = {}) =>
    textOf(/<section class="notice suspension.*?<\/section>/s.exec(page(given))?.[0] ?? '')

  it('shows the problem, its state and the next automatic step first', () => {
    expect(suspension()).toMatch(
      /^Devices of 31 accounts .* 6\.2 times as often as allowed\. They use 14 networks\. Suspended: .* Without a decision, it is reinstated automatically: 16 November 2026 at 11:30 UTC/,
    )
  })

  it('says of early polls alone that nothing happens by itself, and what an operator can do', () => {
    const state = {
      reason: 'early_polls',
      verdict: 'review',
      suspended: false,
      warnedAt: null,
      appealedAt: null,
    } as const
    const review = makeSeenReview({ ...state, waitingSince: null, suspensionEndsAt: null })
    const text = suspension({ suspended: false, review })
    expect(text).toMatch(
      /^Polls far more often than allowed\. .* anybody .* can cause it\. Not suspended\. Nothing happens by itself\./,
    )
    expect(text).toContain('contact the developer, suspend the application, or close the review')
  })

  const running = {
    suspended: false,
    review: makeSeenReview({ suspended: false, verdict: 'warn', suspensionEndsAt: null }),
  }
  it.each([
    ['warned', running, /Not suspended\. Without improvement, the rule suspends it 24 hours after the warning/],
    [
      'called for a person',
      { suspended: false, review: makeSeenReview({ verdict: 'review', warnedAt: null, suspended: false }) },
      /No automatic action is scheduled\. The review is waiting for your decision\./,
    ],
    [
      'waiting for a second operator',
      { decisions: [makeDecision({ needsSecond: true })] },
      /olga@operators\.example proposed: Reinstate with a longer interval\. A second operator must confirm it\. View decisions$/,
    ],
    [
      'kept suspended',
      { review: makeSeenReview({ closedAt: NOW }) },
      /No open review Suspended: .* It stays suspended until/,
    ],
    ['without a review', { review: null, suspended: false }, /^No open review Not suspended\. Go to/],
  ] as const)('says what comes next when it is %s', (_what, given, sentence) => {
    expect(suspension(given)).toMatch(sentence)
  })

  it('offers the decisions that fit its state', () => {
    const offered = (given: Parameters<typeof makeOperatorApplication>[0]) =>
      Array.from(page(given).matchAll(/type="radio"[^>]*|value="(\w+)" type="radio"/g), ([, value]) => value)
    expect(offered({ restorable: 1 })).toContain('reinstate_and_restore')
    expect(offered({})).toEqual(['reinstate', 'reinstate_slower', 'keep'])
    expect(offered(running)).toEqual(['reinstate', 'reinstate_slower', 'keep'])
    expect(offered({ suspended: false, review: null })).toEqual(['keep', 'reinstate_slower'])
    const slow = { suspended: false, review: null, pollIntervalSeconds: 10 }
    expect(offered(slow)).toEqual(['keep', 'reinstate_slower', 'reinstate'])
    expect(page(slow)).toContain('Restore the default interval')
    expect(page({ suspended: false, review: null })).toContain('Suspend')
    expect(page()).toContain('Keep suspended')
  })

  it('has no form before a recent sign-in', () => {
    const text = page({ form: null })
    expect(text).not.toContain('/operator/application/decide')
    expect(text).toContain(
      `href="/confirm?next=${encodeURIComponent('/operator/application?application=app_k3v9m2x7q4tz')}"`,
    )
  })

  it('shows submitted values again, and opens the confirmation if that was refused', () => {
    const text = page({
      form: makeForm({ decision: 'keep_and_revoke', reason: 'phishing', words: 'Stop it', problem: 'words' }),
    })
    expect(text).toContain('<details class="are-you-sure" open>')
    expect(text).toContain('href="#all-words"')
    expect(text.match(/>Stop it<\/textarea>/g)).toHaveLength(1)
    expect(page()).toContain('<details class="are-you-sure">')
  })

  it('offers confirmation to operators who may confirm, and tells the others why not', () => {
    const waiting = makeDecision({ needsSecond: true })
    for (const problem of confirmationProblems) {
      const text = page({ decisions: [waiting], confirmationProblem: problem })
      expect(text).not.toContain('/operator/application/confirm')
      expect(text).toContain(frame.words.t(`second_operator.${problem}`, { by: waiting.by }))
    }
    expect(page({ decisions: [waiting] })).toContain('/operator/application/confirm')
    const over = { ...waiting, confirmedBy: 'omar@operators.example', confirmedAt: NOW }
    expect(page({ decisions: [over] })).not.toMatch(/application\/(confirm|withdraw)/)
  })

  it('shows every figure beside its threshold, and marks those that do not count', () => {
    const review = makeSeenReview()
    const [first, ...rest] = review.evidence.windows
    const windows = first ? [{ ...first, overloaded: true }, ...rest] : []
    const text = textOf(page({ review: { ...review, evidence: { ...review.evidence, windows } } }))
    expect(text).toContain('14:00 Service overloaded, not counted 28 (32) 12% 12')
    expect(text).toContain('Threshold (3 windows in a row) 25 5% 10')
    expect(text).toContain('Accounts that reported it, last 24 hours 1 3')
  })

  it('marks figures of a closed review', () => {
    expect(textOf(page())).not.toContain('Figures of the last review')
    const closed = textOf(page({ review: makeSeenReview({ closedAt: NOW }) }))
    expect(closed).toContain('Figures of the last review, closed: 15 November 2026')
  })

  it('has five charts, each with its table, and a sentence without data', () => {
    const text = page()
    expect(text.match(/<figure class="chart/g)).toHaveLength(5)
    expect(text.match(/<svg class="picture/g)).toHaveLength(5)
    expect(text.match(/Show as table/g)).toHaveLength(5)
    const empty = page({ series: { minutes: [], days: [] } })
    expect(empty.match(/<figure class="chart/g)).toHaveLength(5)
    expect(empty).not.toContain('<svg class="picture')
    expect(textOf(empty)).toContain('No polls in the last 3 hours.')
  })

  it('names the actor of each event, except for reports', () => {
    const at = NOW
    const text = textOf(
      page({
        timeline: [
          { at, kind: 'code.reported', by: null, detail: {} },
          {
            at,
            kind: 'application.warned',
            by: null,
            detail: { reason: 'polls_too_fast', review: 'rev_1' },
          },
          { at, kind: 'application.suspended', by: null, detail: { reason: 'asked to' } },
          { at, kind: 'application.restored', by: null, detail: { decision: 'dec_1' } },
          { at, kind: 'review.decided', by: 'omar@operators.example', detail: { decided: 'keep' } },
          { at, kind: 'application.of_tomorrow', by: null, detail: {} },
        ],
      }),
    )
    expect(text).toContain('they did not start 15 November 2026 at 14:30 UTC Warned the developers of Acme Signage')
    expect(text).toContain('at 14:30 UTC · By the suspension rule · Polls too fast review: rev_1')
    expect(text).toContain('at 14:30 UTC · From the command line reason: asked to')
    expect(text).toContain('at 14:30 UTC decision: dec_1')
    expect(text).toContain('By omar@operators.example decided: keep')
    expect(text).toContain('application.of_tomorrow')
  })
})

describe('the scope catalogue', () => {
  it('allows to change titles only, and says why', () => {
    const text = operatorScopesPage(frame, makeScopes())
    expect(textOf(text)).toContain('cannot be changed, because users have already agreed to them')
    expect(text.match(/action="\/operator\/scopes\/title"/g)).toHaveLength(2)
    expect(textOf(text)).toContain('High risk Dialog only payments:write · used by no application')
  })
})

it('past times are shown in the largest unit with at least two', () => {
  const { ago } = wordsFor('en')
  expect([0, 59_000, 119_000, 120_000, 119 * 60_000, 2 * HOUR, 47 * HOUR, 48 * HOUR].map(ago)).toEqual([
    '0 seconds ago',
    '59 seconds ago',
    '119 seconds ago',
    '2 minutes ago',
    '119 minutes ago',
    '2 hours ago',
    '47 hours ago',
    '2 days ago',
  ])
})
