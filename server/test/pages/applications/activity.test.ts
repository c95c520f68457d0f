/** The activity page of an application: the polling rate first, in one sentence. */
import { describe, expect, it } from 'vitest'
import { figuresOf } from '../../../src/core/reviews/suspension.ts'
import { type ApplicationActivityModel, applicationActivityPage } from '../../../src/pages/applications/activity.tsx'
import type { SuspensionModel } from '../../../src/pages/applications/suspension.tsx'
import { wordsFor } from '../../../src/pages/ui/words.ts'
import { MANY, makeEvidence, makeWindow } from '../../rig/evidence.ts'
import { defaultThresholds } from '../../rig/thresholds.ts'
import { textOf } from '../../rig/web.ts'
import { makeFrame } from '../make.ts'

function makeActivity(given: Partial<ApplicationActivityModel> = {}): ApplicationActivityModel {
  return {
    id: 'app_k3v9m2x7q4tz',
    name: 'Acme Signage',
    requests: [],
    funnel: { requested: 0, entered: 0, granted: 0, rejected: 0 },
    polling: { polls: 0, early: 0, factor: null },
    secretsInUrl: 0,
    suspension: makeSuspension(),
    ...given,
  }
}

function makeSuspension(given: Partial<SuspensionModel> = {}): SuspensionModel {
  return {
    figures: figuresOf(makeEvidence(), defaultThresholds),
    inARow: 0,
    overloaded: false,
    warned: null,
    suspended: false,
    suspensionEndsAt: null,
    appealedAt: null,
    pollIntervalSeconds: null,
    problem: null,
    words: '',
    maxWords: 2_000,
    ...given,
  }
}

const htmlOf = (given: Partial<ApplicationActivityModel>, frame = makeFrame()) =>
  applicationActivityPage(frame, makeActivity(given))
const read = (given: Partial<ApplicationActivityModel>) => textOf(htmlOf(given))

describe('polling', () => {
  it.each([
    [null, 0, 0, 'No polls in the last 24 hours.'],
    [1, 100, 0, 'Your devices poll at the allowed interval. 100 polls in the last 24 hours, 0 too early.'],
    [100 / 96, 100, 4, 'Your devices poll at the allowed interval. 100 polls in the last 24 hours, 4 too early.'],
    [1.05, 21, 1, 'Your devices poll 1.1 times as often as allowed.'],
    [1.8, 9_000, 4_000, 'Your devices poll 1.8 times as often as allowed. Wait interval seconds between polls.'],
    [1, 1, 0, '1 poll in the last 24 hours, 0 too early.'],
  ])('%d times as often, of %d polls %d too early: %s', (factor, polls, early, sentence) => {
    const text = read({ polling: { polls, early, factor } })
    expect(text).toContain(`Polling ${sentence}`.replace('Polling 1 poll', '1 poll'))
    expect(text.indexOf('Polling')).toBeLessThan(text.indexOf('Codes in the last 24 hours'))
  })

  it('states the consequence', () => {
    const text = read({ polling: { polls: 9, early: 4, factor: 1.8 } })
    expect(text).toContain('An application that keeps polling too fast may be suspended pending review.')
  })
})

describe('the funnel', () => {
  it('shows each step with its share, and the expired or pending rest', () => {
    const text = read({ funnel: { requested: 1_200, entered: 900, granted: 600, rejected: 60 } })
    expect(text).toContain(
      'Requested 1,200 100% Entered 900 75% Allowed 600 50% Rejected 60 5% Expired or pending 540 45%',
    )
  })

  it('has no negative number and no share above 100 %', () => {
    const text = read({ funnel: { requested: 2, entered: 3, granted: 3, rejected: 1 } })
    expect(text).toContain('Allowed 3 100% Rejected 1 50% Expired or pending 0 0%')
    expect(read({ funnel: { requested: 0, entered: 1, granted: 1, rejected: 0 } })).not.toMatch(/NaN|∞|Infinity/)
  })

  it('is a sentence without data', () => {
    expect(htmlOf({})).not.toContain('<table aria-labelledby="codes"')
    expect(read({})).toContain('No codes were requested in the last 24 hours.')
  })
})

it('warns of a secret in the URL only when there was one', () => {
  expect(read({})).not.toContain('sent in the URL')
  expect(read({ secretsInUrl: 1 })).toContain('The secret was sent in the URL once ')
  expect(read({ secretsInUrl: 12 })).toContain('The secret was sent in the URL 12 times ')
  expect(read({ secretsInUrl: 12 })).toContain('Send the secret in the body')
})

describe('a request', () => {
  const refused = {
    at: Date.parse('2026-03-01T12:00:00Z'),
    operation: '/1/auth/oauth/device/code',
    refusal: 'invalid_scope',
    message: 'The scope is unknown.',
    remedy: 'Leave `scope` out.',
  }
  const answered = { ...refused, refusal: null, message: null, remedy: null }

  it('is shown as answered, or with its error, message and remedy, in English', () => {
    const html = htmlOf({ requests: [answered, refused] }, makeFrame({ words: wordsFor('ar') }))
    expect(html).toContain(
      '<p lang="en" dir="ltr"><code class="technical strong">invalid_scope</code> The scope is unknown. Leave <code class="technical">scope</code> out.</p>',
    )
    expect(html.match(/lang="en" dir="ltr"/g)).toHaveLength(1)
    expect(read({ requests: [answered] })).toContain('/1/auth/oauth/device/code Succeeded 1 March 2026')
    expect(read({ requests: [refused] })).toContain('/1/auth/oauth/device/code Refused invalid_scope')
  })

  it('cannot contain markup', () => {
    const mark = '<img src=x>'
    const html = htmlOf({ name: mark, requests: [{ ...refused, operation: mark, message: mark, remedy: mark }] })
    expect(html).not.toContain(mark)
  })
})

describe('suspension', () => {
  const when = Date.UTC(2026, 2, 1, 12, 0)
  const readSuspension = (given: Partial<SuspensionModel>) => read({ suspension: makeSuspension(given) })

  it('shows the figures of the rule beside its thresholds', () => {
    const evidence = makeEvidence({ windows: [makeWindow(), makeWindow(), makeWindow(MANY)] })
    const text = readSuspension({ figures: figuresOf(evidence, defaultThresholds), inARow: 1 })
    expect(text).toContain(
      'A period has 10 minutes. Only accounts of other users count whose device received slow_down at least 20 times',
    )
    expect(text).toContain('ignore slow_down 30 25')
    expect(text).toContain('Share of all accounts that connected 30% 5%')
    expect(text).toContain('Networks of these devices 30 10')
    expect(text).toContain('Consecutive periods above all thresholds 1 3')
    expect(text).not.toContain('Warning: this application polls too fast')
  })

  it('says that early polls of an overload are not counted', () => {
    expect(readSuspension({ overloaded: true })).toContain('The service was overloaded recently')
    expect(readSuspension({})).not.toContain('overloaded')
  })

  it('is announced by a warning, with the remaining time', () => {
    const text = readSuspension({ warned: { at: when, until: when + 86_400_000 } })
    expect(text).toContain('we sent you a warning on 1 March 2026 at 12:00 UTC')
    expect(text).toContain('may be suspended from 2 March 2026 at 12:00 UTC.')
  })

  it('can be appealed against, once', () => {
    const suspended = { suspended: true, suspensionEndsAt: when }
    const form = htmlOf({ suspension: makeSuspension(suspended) })
    expect(textOf(form)).toContain(
      'Without a decision, the suspension ends automatically on 1 March 2026 at 12:00 UTC.',
    )
    const untilReview = textOf(htmlOf({ suspension: makeSuspension({ ...suspended, suspensionEndsAt: null }) }))
    expect(untilReview).toContain('no new access until it is reviewed')
    expect(untilReview).not.toContain('automatically')
    expect(form).toContain('action="/developer/application/appeal"')
    const appealed = htmlOf({ suspension: makeSuspension({ ...suspended, appealedAt: when }) })
    expect(appealed).not.toContain('<textarea')
    expect(textOf(appealed)).toContain('You appealed on 1 March 2026 at 12:00 UTC.')
    expect(htmlOf({})).not.toContain('<textarea')
  })

  it('shows the text of a refused appeal again, as text', () => {
    const problem = { suspended: true, problem: 'words', words: '<b>sorry</b>' } as const
    const html = htmlOf({ suspension: makeSuspension(problem) })
    expect(html).toContain('&lt;b>sorry')
    expect(textOf(html)).toContain('Enter a message of 1 to 2,000 characters.')
    expect(html).toContain('href="#words"')
  })

  it('may leave a longer interval', () => {
    expect(readSuspension({ pollIntervalSeconds: 30 })).toContain(
      'After a review, new codes require 30 seconds between polls',
    )
    expect(readSuspension({})).not.toContain('After a review')
  })
})
