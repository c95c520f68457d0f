/** What operators decide about applications: against what they saw, by two where it takes two, and undone to the last credential. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { changeSettings } from '../../src/flows/own-applications.ts'
import { resetUser } from '../../src/flows/reset-user.ts'
import {
  appeal,
  confirmDecision,
  type DecisionWish,
  decideReview,
  listReviews,
  type ReviewedApplication,
  readReviewedApplication,
  undoDecision,
} from '../../src/flows/reviews.ts'
import { reportCredential } from '../../src/flows/revoke-credential.ts'
import { askMe, type Connected, connect } from '../rig/connect.ts'
import { grantEvents, house } from '../rig/credentials.ts'
import { refresh } from '../rig/dialog.ts'
import { advance, connectAsRows, judgeNow, makeStrangers, type Stranger } from '../rig/fleet.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../rig/make.ts'
import { startTestService, type TestService } from '../rig/service.ts'

const HOUR = 3_600_000

let service: TestService
let operator: MadeUser
let second: MadeUser
let strangers: Stranger[]
let application: MadeApplication

beforeAll(async () => {
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators' }, { clock: true })
  const { db } = service.context
  await makeAccount(db, { slug: 'operators' })
  operator = await makeUser(db, 'operators')
  second = await makeUser(db, 'operators')
  strangers = await makeStrangers(service, 4)
})
afterAll(() => service.stop())

beforeEach(async () => {
  application = await makeApplication(service.context.db, service.config, service.account.slug)
  await advance(service, 1)
})

async function read(id = application.id): Promise<ReviewedApplication> {
  const found = await readReviewedApplication(service.context, id)
  if (!found) throw new Error('there is no such application')
  return found
}

async function wishFor(given: Partial<DecisionWish> = {}): Promise<DecisionWish> {
  const { review, seen } = await read()
  const reviewId = review && review.closedAt === null ? review.id : null
  const said = {
    decision: 'keep',
    reason: 'broken_firmware',
    words: 'It polls each second.',
    intervalSeconds: null,
  } as const
  return { applicationId: application.id, reviewId, seen, ...said, ...given }
}

async function decide(given: Partial<DecisionWish> = {}, by = operator): Promise<string> {
  const { outcome } = await decideReview(service.context, by.id, await wishFor(given))
  await service.context.applications.refresh()
  await service.context.standings.pull()
  return outcome
}

const undo = async (by = operator, id?: string) => {
  const decisionId = id ?? (await read()).decisions[0]?.id ?? ''
  const { outcome } = await undoDecision(service.context, by.id, decisionId)
  await service.context.applications.refresh()
  await service.context.standings.pull()
  return outcome
}

async function report(): Promise<void> {
  for (const { account, id } of strangers) {
    await service.database.query(
      "insert into audit_events (at, kind, account_id, user_id, application_id) values (now(), 'code.reported', $1, $2, $3)",
      [account.id, id, application.id],
    )
  }
  await judgeNow(service)
}

describe('a decision', () => {
  it('needs no review: an operator who decides without one opens one, and closes it', async () => {
    expect((await read()).review).toBeNull()
    expect(await decide()).toBe('decided')
    expect(await read()).toMatchObject({
      suspended: true,
      review: { why: 'operator', closedAt: expect.any(Number), suspensionEndsAt: null },
      decisions: [{ decision: 'keep', by: operator.email, confirmedBy: null, undoneBy: null, needsSecond: false }],
    })
    expect(await decide({ decision: 'reinstate', reason: 'mistaken' })).toBe('decided')
    expect((await read()).suspended).toBe(false)
    expect(
      (await listReviews(service.context, 'closed')).filter((each) => each.applicationId === application.id),
    ).toHaveLength(2)
  })

  it('brings back the interval of everybody else, unless a longer one was decided', async () => {
    const intervalOf = async () => (await service.device('oauth', application).request()).body.interval
    expect(await decide({ decision: 'reinstate_slower', intervalSeconds: 300 })).toBe('decided')
    expect(await intervalOf()).toBe(300)
    expect((await read()).pollIntervalSeconds).toBe(300)
    expect(await decide({ decision: 'reinstate' })).toBe('decided')
    expect(await intervalOf()).toBe(5)
  })

  it.each([
    ['no words', { words: ' \n ' }],
    ['too many words', { words: 'x'.repeat(2001) }],
    ['no interval', { decision: 'reinstate_slower', intervalSeconds: null }],
    ['the interval that it has', { decision: 'reinstate_slower', intervalSeconds: 5 }],
    ['half a second more', { decision: 'reinstate_slower', intervalSeconds: 5.5 }],
    ['an interval of more than five minutes', { decision: 'reinstate_slower', intervalSeconds: 301 }],
  ] as const)('is unfit with %s', async (_, given) => {
    expect(await decide(given)).toBe('unfit')
    expect((await read()).decisions).toEqual([])
  })

  it('is about an application, and its own review', async () => {
    expect(await decide({ applicationId: 'app_000000000000' })).toBe('not_found')
    expect(await decide({ reviewId: 'rev_000000000000' })).toBe('not_found')
    await report()
    const foreign = (await read()).review?.id ?? ''
    application = await makeApplication(service.context.db, service.config, service.account.slug)
    expect(await decide({ reviewId: foreign })).toBe('not_found')
    expect(await readReviewedApplication(service.context, 'app_000000000000')).toBeNull()
  })

  it('is for operators: administrators of the one account, and nobody else', async () => {
    const clerk = await makeUser(service.context.db, 'operators', { holds: [] })
    for (const by of [service.user, clerk]) {
      expect(await decide({}, by)).toBe('forbidden')
      expect((await confirmDecision(service.context, by.id, 'dec_000000000000')).outcome).toBe('forbidden')
      expect(await undo(by, 'dec_000000000000')).toBe('forbidden')
    }
    const nobodys = { ...service.context, config: { ...service.config, operatorAccount: null } }
    expect(await decideReview(nobodys, operator.id, await wishFor())).toEqual({ outcome: 'forbidden' })
    expect((await read()).suspended).toBe(false)
  })

  it('tells the owner what was decided and why, and not by whom', async () => {
    await decide()
    const [mail] = await service.database.query<{ detail: object; user_id: string }>(
      "select detail, user_id from mails where kind = 'application_review' and detail->>'applicationId' = $1",
      [application.id],
    )
    expect(mail).toMatchObject({
      user_id: service.user.id,
      detail: { what: 'kept', reason: 'broken_firmware', words: 'It polls each second.', suspended: true },
    })
    expect(JSON.stringify(mail)).not.toContain(operator.email)
    expect(JSON.stringify(mail)).not.toContain(operator.id)
    const own = await service.database.query<{ kind: string; user_id: string | null }>(
      "select kind, user_id from audit_events where application_id = $1 and account_id = $2 and kind <> 'application.created'",
      [application.id, service.account.id],
    )
    expect(own).toEqual([{ kind: 'application.suspended', user_id: null }])
  })
})

describe('AD-08: what is decided is what was seen', () => {
  it('not after the owner appealed', async () => {
    await decide()
    const wish = await wishFor({ decision: 'keep_and_revoke' })
    await appeal(service.context, service.user.id, application.id, 'Please look again.')
    expect(await decideReview(service.context, operator.id, wish)).toEqual({ outcome: 'stale' })
    expect((await read()).decisions).toHaveLength(1)
  })

  it('not after the application became another one', async () => {
    const wish = await wishFor({ decision: 'reinstate' })
    const settings = { allowedScopes: ['orders:read'], defaultScopes: [], requiredScopes: [] }
    const changed = { name: 'Bank of Northwind', deviceFlow: true, redirectUris: [], testMode: false, ...settings }
    expect(await changeSettings(service.context, service.user.id, application.id, changed)).toEqual({
      outcome: 'saved',
    })
    expect(await decideReview(service.context, operator.id, wish)).toEqual({ outcome: 'stale' })
  })

  it('not after another operator decided: of many at once, one does', async () => {
    const wish = await wishFor()
    const outcomes = await Promise.all(
      [operator, second, operator, second].map(({ id }) => decideReview(service.context, id, wish)),
    )
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['decided', 'stale', 'stale', 'stale'])
    expect((await read()).decisions).toHaveLength(1)
  })

  it('not after a review was opened, but well after it was judged once more', async () => {
    const before = await wishFor()
    await report()
    expect(await decideReview(service.context, operator.id, before)).toEqual({ outcome: 'stale' })
    const wish = await wishFor()
    await judgeNow(service)
    expect(await decideReview(service.context, operator.id, wish)).toEqual({ outcome: 'decided' })
  })
})

describe('AD-09: two operators', () => {
  /** Suspended because people complained. */
  async function suspendedForReports(): Promise<void> {
    await report()
    expect(await decide({ reason: 'phishing', words: 'People were deceived.' })).toBe('decided')
  }
  const waiting = async () =>
    (await read()).decisions.find(({ needsSecond, confirmedAt }) => needsSecond && confirmedAt === null)
  const confirm = async (by: MadeUser) =>
    (await confirmDecision(service.context, by.id, (await waiting())?.id ?? '')).outcome

  it('are needed to bring back what people complained about', async () => {
    await suspendedForReports()
    expect(await decide({ decision: 'reinstate', reason: 'mistaken' })).toBe('waits_for_second')
    expect(await read()).toMatchObject({
      suspended: true,
      review: { why: 'reports', waitsForSecond: true, closedAt: null },
    })
    expect(await confirm(operator)).toBe('same_operator')
    expect(await confirm(second)).toBe('decided')
    const { suspended, decisions, timeline } = await read()
    expect(suspended).toBe(false)
    expect(decisions[0]).toMatchObject({
      by: operator.email,
      confirmedBy: second.email,
      confirmedAt: expect.any(Number),
    })
    expect(timeline.slice(0, 3).map(({ kind, by }) => [kind, by])).toEqual([
      ['review.decided', second.email],
      ['application.restored', null],
      ['review.proposed', operator.email],
    ])
    expect((await confirmDecision(service.context, second.id, decisions[0]?.id ?? '')).outcome).toBe('not_found')
  })

  it('also after it was looked at again in between', async () => {
    await suspendedForReports()
    expect(await decide({ decision: 'keep' })).toBe('decided')
    expect(await decide({ decision: 'reinstate_slower', intervalSeconds: 60 }, second)).toBe('waits_for_second')
    await appeal(service.context, service.user.id, application.id, 'It was somebody else.')
    expect((await read()).review).toMatchObject({ why: 'reports' })
    expect(await decide({ decision: 'reinstate' }, second)).toBe('waits_for_second')
  })

  it('decide on the same: what changed in between has to be decided anew', async () => {
    await suspendedForReports()
    await decide({ decision: 'reinstate' })
    const proposed = (await waiting())?.id ?? ''
    await appeal(service.context, service.user.id, application.id, 'It was us, and we are sorry.')
    expect(await confirm(second)).toBe('stale')
    expect(await decide({ decision: 'keep' }, second)).toBe('decided')
    const { decisions, suspended } = await read()
    expect(suspended).toBe(true)
    expect(decisions.find(({ id }) => id === proposed)).toMatchObject({ undoneBy: second.email, confirmedAt: null })
    expect((await confirmDecision(service.context, second.id, proposed)).outcome).toBe('not_found')
  })

  it('one can take back what waits', async () => {
    await suspendedForReports()
    await decide({ decision: 'reinstate' })
    const proposed = (await waiting())?.id ?? ''
    expect(await undo(operator, proposed)).toBe('undone')
    expect(await read()).toMatchObject({ suspended: true, review: { waitsForSecond: false } })
    expect(await confirm(second)).toBe('not_found')
  })

  it('cannot be got around by undoing the suspension, but everybody can take their own word back', async () => {
    await suspendedForReports()
    expect(await undo(second)).toBe('forbidden')
    expect((await read()).suspended).toBe(true)
    expect(await undo(operator)).toBe('undone')
    expect((await read()).suspended).toBe(false)
  })

  it('are needed to end the access of very many people, and of no fewer', async () => {
    await connectAsRows(
      service,
      application,
      Array.from({ length: 999 }, () => strangers[0] as Stranger),
      0,
    )
    expect(await decide({ decision: 'keep_and_revoke' })).toBe('decided')
    expect(await undo()).toBe('undone')
    await connectAsRows(service, application, strangers.slice(0, 1), 0)
    expect(await decide({ decision: 'keep_and_revoke' })).toBe('waits_for_second')
    expect(await read()).toMatchObject({ suspended: false, grants: 1000 })
    expect(await confirm(second)).toBe('decided')
    expect(await read()).toMatchObject({ suspended: true, grants: 0, decisions: [{ revoked: 1000 }, {}] })
  })
})

describe('ending every access', () => {
  const ask = async ({ credential }: Connected) => (await askMe(service, credential)).status

  it('ends it everywhere, and undoing it brings back those credentials, and no others', async () => {
    const token = await connect(service, { application })
    const key = await connect(service, { application, variant: 'key' })
    const removed = await connect(service, { application })
    const remembered = [await ask(token), await ask(key), await ask(removed)]
    expect(remembered).toEqual([200, 200, 200])
    await service.database.query(
      "update grants set revoked_at = now(), revoked_why = 'removed_by_user' where id = $1",
      [removed.grantId],
    )

    expect(await decide({ decision: 'keep_and_revoke' })).toBe('decided')
    expect((await read()).decisions[0]).toMatchObject({ revoked: 2 })
    expect([await ask(token), await ask(key)]).toEqual([401, 401])
    expect((await refresh(service, application, token.refreshToken)).status).toBe(400)

    expect(await undo()).toBe('undone')
    expect([await ask(token), await ask(key), await ask(removed)]).toEqual([200, 200, 401])
    expect((await refresh(service, application, token.refreshToken)).status).toBe(200)
    expect((await read()).suspended).toBe(false)
    expect(await grantEvents(service, token.grantId)).toEqual([
      { kind: 'grant.revoked', detail: { why: expect.stringMatching(/^review:dec_/) } },
      { kind: 'grant.restored', detail: { why: expect.stringMatching(/^review:dec_/) } },
    ])
  })

  it('is for good where somebody else ended it meanwhile: a new password, a reported credential, the application itself', async () => {
    const clerk = await makeUser(service.context.db, service.account.slug)
    const [reset, reported, returned, kept] = [
      await connect(service, { application, user: clerk }),
      await connect(service, { application }),
      await connect(service, { application, variant: 'key' }),
      await connect(service, { application, variant: 'key', user: clerk }),
    ]
    expect(await decide({ decision: 'keep_and_revoke' })).toBe('decided')
    await service.context.db.transaction((tx) => resetUser(tx, clerk.id))
    const found = await house(service, application, '/auth/key/revoke', { access_key: returned.credential })
    expect(found.status).toBe(200)
    expect(await reportCredential(service.context, reported.credential)).toBe(false)
    expect(await undo()).toBe('undone')
    expect([await ask(reset), await ask(reported), await ask(returned), await ask(kept)]).toEqual([401, 401, 401, 200])
  })
})

describe('undoing', () => {
  it('is possible for three days', async () => {
    await decide()
    const [decision] = (await read()).decisions
    await advance(service, 72 * HOUR - 60_000)
    expect((await read()).decisions[0]?.undoable).toBe(true)
    await advance(service, 60_000)
    expect((await read()).decisions[0]?.undoable).toBe(false)
    expect(await undo(operator, decision?.id)).toBe('too_late')
    expect((await read()).suspended).toBe(true)
  })

  it('is for the last decision only, and once', async () => {
    await decide()
    const first = (await read()).decisions[0]?.id ?? ''
    await decide({ decision: 'reinstate' })
    const last = (await read()).decisions[0]?.id ?? ''
    expect((await read()).decisions.map(({ undoable }) => undoable)).toEqual([true, false])
    expect(await undo(operator, first)).toBe('too_late')
    const both = await Promise.all([operator, second].map(({ id }) => undoDecision(service.context, id, last)))
    expect(both.map(({ outcome }) => outcome).sort()).toEqual(['not_found', 'undone'])
    expect((await read()).suspended).toBe(true)
    expect(await undo(operator, first)).toBe('undone')
    expect(await undo(operator, 'dec_000000000000')).toBe('not_found')
  })

  it('opens the review again, unless something has come up meanwhile', async () => {
    await report()
    const about = (await read()).review?.id
    await decide({ decision: 'reinstate' })
    const decided = (await read()).decisions[0]?.id ?? ''
    expect(await undo()).toBe('undone')
    expect((await read()).review).toMatchObject({ id: about, closedAt: null })
    await decide({ decision: 'reinstate' })
    await advance(service, 60_000)
    await report()
    expect((await read()).review).toMatchObject({ closedAt: null })
    expect((await read()).review?.id).not.toBe(about)
    expect(await undo(operator, decided)).toBe('not_found')
    expect(await undo(operator, (await read()).decisions[0]?.id)).toBe('undone')
    const open = await listReviews(service.context, 'open')
    expect(open.filter(({ applicationId }) => applicationId === application.id)).toHaveLength(1)
  })
})

describe('an appeal', () => {
  const appealAs = async (by: MadeUser, words = 'We have mended it.') =>
    (await appeal(service.context, by.id, application.id, words)).outcome

  it('is for administrators of the account, about a suspended application of theirs', async () => {
    expect(await appealAs(service.user)).toBe('not_suspended')
    await decide()
    const clerk = await makeUser(service.context.db, service.account.slug, { holds: [] })
    expect(await appealAs(clerk)).toBe('forbidden')
    expect(await appealAs(operator)).toBe('not_found')
    expect(await appealAs(service.user, '  ')).toBe('unfit')
    expect(await appealAs(service.user, 'x'.repeat(2001))).toBe('unfit')
    expect(await appealAs(service.user, 'x'.repeat(2000))).toBe('appealed')
  })

  it('opens a review where there is none, and changes nothing the second time', async () => {
    await decide()
    expect(await appealAs(service.user)).toBe('appealed')
    const { seen, review } = await read()
    expect(review).toMatchObject({ appeal: 'We have mended it.', closedAt: null })
    expect(await appealAs(service.user, 'And once more.')).toBe('appealed')
    expect(await read()).toMatchObject({ seen, review: { appeal: 'We have mended it.' } })
  })
})

describe('what operators read', () => {
  it('has a point for every five minutes and every day, with what happened in it', async () => {
    const device = service.device('oauth', application)
    const { device_code, user_code } = await device.code()
    for (let poll = 0; poll < 4; poll += 1) await device.poll(device_code)
    await service.grant(user_code)
    await judgeNow(service)
    const { series, grants } = await read()
    expect(grants).toBe(1)
    // It may be another five minutes, or another day, than it was a moment ago.
    const last = <Point extends object>(points: readonly Point[], name: keyof Point) =>
      points.slice(-2).reduce((sum, point) => sum + Number(point[name]), 0)
    expect(series.minutes).toHaveLength(36)
    const polled = (['polls', 'early', 'allowed'] as const).map((name) => last(series.minutes, name))
    expect(polled).toEqual([4, 3, 1])
    expect(series.days).toHaveLength(30)
    const names = ['requested', 'entered', 'granted', 'rejected', 'polls', 'early', 'newUsers', 'networks', 'countries']
    expect(names.map((name) => last(series.days, name as 'polls'))).toEqual([1, 1, 1, 0, 4, 3, 1, 1, 0])
    expect(series.days.at(-1)?.day).toBe((series.days.at(-2)?.day ?? 0) + 24 * HOUR)
  })
})
