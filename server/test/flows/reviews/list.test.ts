/** Decisions of operators: bound to what they saw, and by two operators where required. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { changeSettings } from '../../../src/flows/applications/own.ts'
import { appeal } from '../../../src/flows/reviews/appeal.ts'
import { confirmDecision, decideReview, withdrawDecision } from '../../../src/flows/reviews/decide.ts'
import { listReviews, readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { makeSettings } from '../../rig/application-settings.ts'
import { type MadeUser, makeUser } from '../../rig/make.ts'
import { Deciding } from '../../rig/scenes/deciding.ts'
import { connectAsRows, judgeNow, type Stranger } from '../../rig/scenes/fleet.ts'

const HOUR = 3_600_000

let world: Deciding
let service: Deciding['service']
beforeAll(async () => {
  world = await Deciding.start()
  service = world.service
})
afterAll(() => service.stop())
beforeEach(() => world.takeAnother())

describe('a decision', () => {
  it('without a review opens and closes one', async () => {
    expect((await world.read()).review).toBeNull()
    expect(await world.decide()).toBe('decided')
    expect(await world.read()).toMatchObject({
      suspended: true,
      review: { reason: 'operator', closedAt: expect.any(Number), suspensionEndsAt: null },
      decisions: [
        { decision: 'keep', by: world.operator.email, confirmedBy: null, withdrawnBy: null, needsSecond: false },
      ],
    })
    expect(await world.decide({ decision: 'reinstate', reason: 'mistaken' })).toBe('decided')
    expect((await world.read()).suspended).toBe(false)
    expect(
      (await listReviews(service.context, 'closed')).lines.filter(
        (each) => each.applicationId === world.application.id,
      ),
    ).toHaveLength(2)
  })

  it('restores the usual poll interval, unless a longer one was decided', async () => {
    const intervalOf = async () => (await service.device('oauth', world.application).request()).body.interval
    expect(await world.decide({ decision: 'reinstate_slower', intervalSeconds: 300 })).toBe('decided')
    expect(await intervalOf()).toBe(300)
    expect((await world.read()).pollIntervalSeconds).toBe(300)
    expect(await world.decide({ decision: 'reinstate' })).toBe('decided')
    expect(await intervalOf()).toBe(5)
  })

  it.each([
    ['no words', { words: ' \n ' }],
    ['too many words', { words: 'x'.repeat(2001) }],
    ['no interval', { decision: 'reinstate_slower', intervalSeconds: null }],
    ['the interval that it has', { decision: 'reinstate_slower', intervalSeconds: 5 }],
    ['half a world.second more', { decision: 'reinstate_slower', intervalSeconds: 5.5 }],
    ['an interval of more than five minutes', { decision: 'reinstate_slower', intervalSeconds: 301 }],
  ] as const)('is unfit with %s', async (_, given) => {
    expect(await world.decide(given)).toBe('unfit')
    expect((await world.read()).decisions).toEqual([])
  })

  it('is bound to an application and its own review', async () => {
    expect(await world.decide({ applicationId: 'app_000000000000' })).toBe('not_found')
    await world.report()
    const { seen } = await world.read()
    await world.takeAnother()
    expect(await world.decide({ seen })).toBe('stale')
    expect(await readReviewedApplication(service.context, 'app_000000000000')).toBeNull()
  })

  it('is allowed to administrators of the operators’ account only', async () => {
    const clerk = await makeUser(service.context.db, 'operators', { holds: [] })
    for (const by of [service.user, clerk]) {
      expect(await world.decide({}, by)).toBe('forbidden')
      expect((await confirmDecision(service.context, by.id, 'dec_000000000000')).outcome).toBe('forbidden')
      expect((await withdrawDecision(service.context, by.id, 'dec_000000000000')).outcome).toBe('forbidden')
    }
    const nobodys = { ...service.context, config: { ...service.config, operatorAccount: null } }
    expect(await decideReview(nobodys, world.operator.id, await world.wish())).toEqual({ outcome: 'forbidden' })
    expect((await world.read()).suspended).toBe(false)
  })

  it('notifies the owner of the decision and its reason, not of the operator', async () => {
    await world.decide()
    const [mail] = await service.database.query<{ detail: object; user_id: string }>(
      "select detail, user_id from mails where kind = 'application_review' and detail->>'applicationId' = $1",
      [world.application.id],
    )
    expect(mail).toMatchObject({
      user_id: service.user.id,
      detail: { what: 'kept', reason: 'broken_firmware', words: 'It polls each second.', suspended: true },
    })
    expect(JSON.stringify(mail)).not.toContain(world.operator.email)
    expect(JSON.stringify(mail)).not.toContain(world.operator.id)
    const own = await service.database.query<{ kind: string; user_id: string | null }>(
      "select kind, user_id from audit_events where application_id = $1 and account_id = $2 and kind <> 'application.created'",
      [world.application.id, service.account.id],
    )
    expect(own).toEqual([{ kind: 'application.suspended', user_id: null }])
  })
})

describe('AD-08: a decision is stale', () => {
  it('after the application changed', async () => {
    const wish = await world.wish({ decision: 'reinstate' })
    const changed = makeSettings({ name: 'Bank of Northwind' })
    expect(await changeSettings(service.context, service.user.id, world.application.id, changed)).toEqual({
      outcome: 'saved',
    })
    expect(await decideReview(service.context, world.operator.id, wish)).toEqual({ outcome: 'stale' })
  })

  it('after another operator decided: of many at the same moment, one succeeds', async () => {
    const wish = await world.wish()
    const outcomes = await Promise.all(
      [world.operator, world.second, world.operator, world.second].map(({ id }) =>
        decideReview(service.context, id, wish),
      ),
    )
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['decided', 'stale', 'stale', 'stale'])
    expect((await world.read()).decisions).toHaveLength(1)
  })

  it('after a review was opened, but not after it was judged again', async () => {
    const before = await world.wish()
    await world.report()
    expect(await decideReview(service.context, world.operator.id, before)).toEqual({ outcome: 'stale' })
    const wish = await world.wish()
    await judgeNow(service)
    expect(await decideReview(service.context, world.operator.id, wish)).toEqual({ outcome: 'decided' })
  })
})

describe('AD-09: two operators', () => {
  /** Suspended because of reports. */
  async function suspendedForReports(): Promise<void> {
    await world.report()
    expect(await world.decide({ reason: 'phishing', words: 'People were deceived.' })).toBe('decided')
  }
  const waiting = async () =>
    (await world.read()).decisions.find(({ needsSecond, confirmedAt }) => needsSecond && confirmedAt === null)
  const confirm = async (by: MadeUser) =>
    (await confirmDecision(service.context, by.id, (await waiting())?.id ?? '')).outcome

  it('are both told of the proposal and of the confirmation, by mail', async () => {
    await suspendedForReports()
    await service.database.query('delete from mails')
    await world.decide({ decision: 'reinstate', reason: 'mistaken' })
    const mails = () =>
      service.database.query(
        "select user_id as to, detail->>'by' as by, detail->>'confirmedBy' as second from mails where kind = 'second_decision' order by id",
      )
    const to = [world.operator.id, world.second.id].sort()
    const proposed = to.map((id) => ({ to: id, by: world.operator.email, second: null }))
    expect((await mails()).filter((mail) => to.includes(String(mail.to)))).toEqual(proposed)
    expect(await confirm(world.second)).toBe('decided')
    expect((await mails()).filter((mail) => to.includes(String(mail.to)))).toEqual([
      ...proposed,
      ...to.map((id) => ({ to: id, by: world.operator.email, second: world.second.email })),
    ])
  })

  it('also after it was judged again in between', async () => {
    await suspendedForReports()
    expect(await world.decide({ decision: 'keep' })).toBe('decided')
    expect(await world.decide({ decision: 'reinstate_slower', intervalSeconds: 60 }, world.second)).toBe(
      'waits_for_second',
    )
    await appeal(service.context, service.user.id, world.application.id, 'It was somebody else.')
    expect((await world.read()).review).toMatchObject({ reason: 'reports' })
    expect(await world.decide({ decision: 'reinstate' }, world.second)).toBe('waits_for_second')
  })

  it('decide on the same facts: after a change it has to be decided again', async () => {
    await suspendedForReports()
    await world.decide({ decision: 'reinstate' })
    const proposed = (await waiting())?.id ?? ''
    await appeal(service.context, service.user.id, world.application.id, 'It was us, and we are sorry.')
    expect(await confirm(world.second)).toBe('stale')
    expect(await world.decide({ decision: 'keep' }, world.second)).toBe('decided')
    const { decisions, suspended } = await world.read()
    expect(suspended).toBe(true)
    expect(decisions.find(({ id }) => id === proposed)).toMatchObject({
      withdrawnBy: world.second.email,
      confirmedAt: null,
    })
    expect((await confirmDecision(service.context, world.second.id, proposed)).outcome).toBe('not_found')
  })

  it('may withdraw a pending decision', async () => {
    await suspendedForReports()
    await world.decide({ decision: 'reinstate' })
    const proposed = (await waiting())?.id ?? ''
    expect(await withdrawDecision(service.context, world.operator.id, proposed)).toEqual({ outcome: 'withdrawn' })
    expect(await withdrawDecision(service.context, world.operator.id, proposed)).toEqual({ outcome: 'not_found' })
    expect(await world.read()).toMatchObject({ suspended: true, review: { waitsForSecond: false } })
    expect(await confirm(world.second)).toBe('not_found')
  })

  it('are needed to revoke the grants of very many users, and not of fewer', async () => {
    await connectAsRows(
      service,
      world.application,
      Array.from({ length: 999 }, () => world.strangers[0] as Stranger),
      0,
    )
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('decided')
    expect(await world.decide({ decision: 'reinstate_and_restore' })).toBe('decided')
    await connectAsRows(service, world.application, world.strangers.slice(0, 1), 0)
    expect(await world.decide({ decision: 'keep_and_revoke' })).toBe('waits_for_second')
    expect(await world.read()).toMatchObject({ suspended: false, grants: 1000 })
    expect(await confirm(world.second)).toBe('decided')
    expect(await world.read()).toMatchObject({
      suspended: true,
      grants: 0,
      decisions: [{ grants: 1000 }, { grants: 999 }, { grants: 999 }],
    })
  })
})

describe('an appeal', () => {
  const appealAs = async (by: MadeUser, words = 'We have fixed it.') =>
    (await appeal(service.context, by.id, world.application.id, words)).outcome

  it('is allowed to administrators of the owning account, for a suspended application', async () => {
    expect(await appealAs(service.user)).toBe('not_suspended')
    await world.decide()
    const clerk = await makeUser(service.context.db, service.account.slug, { holds: [] })
    expect(await appealAs(clerk)).toBe('forbidden')
    expect(await appealAs(world.operator)).toBe('not_found')
    expect(await appealAs(service.user, '  ')).toBe('unfit')
    expect(await appealAs(service.user, 'x'.repeat(2001))).toBe('unfit')
    expect(await appealAs(service.user, 'x'.repeat(2000))).toBe('appealed')
  })

  it('opens a review if there is none, and changes nothing the second time', async () => {
    await world.decide()
    expect(await appealAs(service.user)).toBe('appealed')
    const { seen, review } = await world.read()
    expect(review).toMatchObject({ appeal: 'We have fixed it.', closedAt: null })
    expect(await appealAs(service.user, 'And once more.')).toBe('appealed')
    expect(await world.read()).toMatchObject({ seen, review: { appeal: 'We have fixed it.' } })
  })
})

describe('the time series', () => {
  it('has a point for every five minutes and every day', async () => {
    const device = service.device('oauth', world.application)
    const { device_code, user_code } = await device.code()
    for (let poll = 0; poll < 4; poll += 1) await device.poll(device_code)
    await service.grant(user_code)
    await judgeNow(service)
    const { series, grants } = await world.read()
    expect(grants).toBe(1)
    // The current five minutes or day may have changed meanwhile.
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
