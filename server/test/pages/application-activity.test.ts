/** What a developer reads about their application: first how it polls, in one sentence. */
import { describe, expect, it } from 'vitest'
import { type ApplicationActivityModel, applicationActivityPage } from '../../src/pages/application-activity.tsx'
import { wordsFor } from '../../src/pages/words.ts'
import { textOf } from '../rig/web.ts'
import { makeFrame } from './make.ts'

function makeActivity(given: Partial<ApplicationActivityModel> = {}): ApplicationActivityModel {
  return {
    id: 'app_k3v9m2x7q4tz',
    name: 'Acme Signage',
    requests: [],
    funnel: { requested: 0, entered: 0, granted: 0, rejected: 0 },
    polling: { polls: 0, early: 0, factor: null },
    secretsInUrl: 0,
    ...given,
  }
}

const htmlOf = (given: Partial<ApplicationActivityModel>, frame = makeFrame()) =>
  applicationActivityPage(frame, makeActivity(given))
const read = (given: Partial<ApplicationActivityModel>) => textOf(htmlOf(given))

describe('polling', () => {
  it.each([
    [null, 0, 0, 'No polls in the last day.'],
    [1, 100, 0, 'Your devices poll as they should. 100 polls in the last day, 0 too early.'],
    [100 / 96, 100, 4, 'Your devices poll as they should. 100 polls in the last day, 4 too early.'],
    [1.05, 21, 1, 'Your devices poll 1.1 times as often as they may.'],
    [1.8, 9_000, 4_000, 'Your devices poll 1.8 times as often as they may. Wait interval seconds between polls.'],
    [1, 1, 0, '1 poll in the last day, 0 too early.'],
  ])('%d times as often, of %d polls %d too early: %s', (factor, polls, early, sentence) => {
    const text = read({ polling: { polls, early, factor } })
    expect(text).toContain(`Polling ${sentence}`.replace('Polling 1 poll', '1 poll'))
    expect(text.indexOf('Polling')).toBeLessThan(text.indexOf('Codes in the last day'))
  })

  it('says what comes of it', () => {
    const text = read({ polling: { polls: 9, early: 4, factor: 1.8 } })
    expect(text).toContain('An application that keeps on may be suspended pending review.')
  })
})

describe('the funnel', () => {
  it('shows each step with its share, and what ran out or still waits', () => {
    const text = read({ funnel: { requested: 1_200, entered: 900, granted: 600, rejected: 60 } })
    expect(text).toContain(
      'Asked for 1,200 100% Entered by somebody 900 75% Allowed 600 50% Rejected 60 5% Ran out, or still waiting 540 45%',
    )
  })

  it('has no number below nothing, and no share above all', () => {
    const text = read({ funnel: { requested: 2, entered: 3, granted: 3, rejected: 1 } })
    expect(text).toContain('Allowed 3 100% Rejected 1 50% Ran out, or still waiting 0 0%')
    expect(read({ funnel: { requested: 0, entered: 1, granted: 1, rejected: 0 } })).not.toMatch(/NaN|∞|Infinity/)
  })

  it('is a sentence when there is nothing to show', () => {
    expect(htmlOf({})).not.toContain('<table')
    expect(read({})).toContain('No codes were asked for in the last day.')
  })
})

it('warns of a secret in the address only when there was one', () => {
  expect(read({})).not.toContain('address')
  expect(read({ secretsInUrl: 1 })).toContain('the secret was in the address once,')
  expect(read({ secretsInUrl: 12 })).toContain('the secret was in the address 12 times,')
  expect(read({ secretsInUrl: 12 })).toContain('Send it in the body')
})

describe('a request', () => {
  const refused = {
    at: Date.parse('2026-03-01T12:00:00Z'),
    operation: '/1/auth/oauth/device/code',
    refusal: 'invalid_scope',
    message: 'The scope is unknown.',
    mend: 'Leave `scope` out.',
  }
  const answered = { ...refused, refusal: null, message: null, mend: null }

  it('is answered, or refused with the words of the answer and what to do, as English', () => {
    const html = htmlOf({ requests: [answered, refused] }, makeFrame({ words: wordsFor('ar') }))
    expect(html).toContain(
      '<p lang="en" dir="ltr"><code class="technical strong">invalid_scope</code> The scope is unknown. Leave <code class="technical">scope</code> out.</p>',
    )
    expect(html.match(/lang="en" dir="ltr"/g)).toHaveLength(1)
    expect(read({ requests: [answered] })).toContain('/1/auth/oauth/device/code Answered 1 March 2026')
    expect(read({ requests: [refused] })).toContain('/1/auth/oauth/device/code Refused invalid_scope')
  })

  it('cannot bring markup along', () => {
    const mark = '<img src=x>'
    const html = htmlOf({ name: mark, requests: [{ ...refused, operation: mark, message: mark, mend: mark }] })
    expect(html).not.toContain(mark)
  })
})
