/** The suspension rule: observing, warning, suspending, appeals and reinstating. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readActivity } from '../../../src/flows/applications/activity.ts'
import { restoreApplication, suspendApplication } from '../../../src/flows/applications/manage.ts'
import { appeal } from '../../../src/flows/reviews/appeal.ts'
import { decideReview } from '../../../src/flows/reviews/decide.ts'
import { listReviews, readReviewedApplication, type SeenApplication } from '../../../src/flows/reviews/list.ts'
import { lockReviews } from '../../../src/store/reviews/reviews.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { type Mailbox, type ReceivedMail, startMailbox } from '../../rig/network/mailbox.ts'
import {
  advance,
  connectAsRows,
  judgeNow,
  makeStrangers,
  misbehave,
  nextWindow,
  type Stranger,
} from '../../rig/scenes/fleet.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { withThresholds } from '../../rig/thresholds.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
let service: TestService
/** With the default thresholds. */
let running: TestService
let mailbox: Mailbox
let operator: MadeUser
let strangers: Stranger[]
let application: MadeApplication & { readonly name: string }
beforeAll(async () => {
  mailbox = await startMailbox()
  running = await startTestService({ OPERATOR_ACCOUNT: 'operators', SMTP_URL: mailbox.url }, { clock: true })
  service = running
  await makeAccount(service.context.db, { slug: 'operators' })
  operator = await makeUser(service.context.db, 'operators')
  strangers = await makeStrangers(service, 40)
})
afterAll(async () => {
  await running.stop()
  await mailbox.stop()
})
/** An application and windows of its own for each test. */
beforeEach(async () => {
  service = running
  const name = `Signage ${Math.random().toString(36).slice(2, 8)}`
  application = { ...(await makeApplication(service.context.db, service.config, service.account.slug, { name })), name }
  await advance(service, HOUR)
})
async function read(): Promise<SeenApplication> {
  const found = await readReviewedApplication(service.context, application.id)
  if (!found) throw new Error('there is no such application')
  return found
}
const reviewOf = async () => (await read()).review
const misbehaving = (windows = 1) => misbehave(service, application, strangers, windows)
const eventsOf = async () => {
  const kinds = await service.database.query<{ kind: string }>(
    "select kind from audit_events where application_id = $1 and kind ~ '^(application|review)' order by id",
    [application.id],
  )
  return kinds.map(({ kind }) => kind)
}
/** All mails about it, in order. */
async function toldOf(): Promise<readonly ReceivedMail[]> {
  const unsent = 'select id from mails where sent_at is null'
  await expect.poll(() => service.database.query(unsent), { timeout: 30_000 }).toEqual([])
  const numberOf = ({ raw }: ReceivedMail) => Number(/^Message-ID: <mail-(\d+)@/im.exec(raw)?.[1])
  const news = mailbox.mails.filter(({ subject, text }) => `${subject} ${text}`.includes(application.name))
  return news.toSorted((one, other) => numberOf(one) - numberOf(other))
}
const mailsOf = async () => (await toldOf()).map(({ subject }) => subject.replace(application.name, '…'))
const requestCode = () => service.device('oauth', application).request()

/** Warned, and a day later suspended by the rule. */
async function suspended(): Promise<void> {
  await misbehaving()
  await advance(service, DAY)
  await misbehaving(3)
  expect(await reviewOf()).toMatchObject({ verdict: 'suspend', suspended: true })
}

const report = async (count: number) => {
  for (const { account, id } of strangers.slice(0, count)) {
    await service.database.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, user_id, application_id) values (now(), 'code.reported', 'service', 'test', 'job', $1, $2, $3)",
      [account.id, id, application.id],
    )
  }
  await judgeNow(service)
}

describe('the life of a review', () => {
  it('observes a few devices, and opens no review', async () => {
    await misbehave(service, application, strangers.slice(0, 24))
    expect(await reviewOf()).toBeNull()
    expect(await mailsOf()).toEqual([])
  })

  it('RL-04: warns the owner of many devices, with figures, and does nothing else', async () => {
    const colleague = await makeUser(service.context.db, service.account.slug)
    await misbehaving()
    expect(await reviewOf()).toMatchObject({ reason: 'polling', verdict: 'warn', suspended: false, people: 40 })
    expect(await mailsOf()).toEqual(['… polls too fast', '… polls too fast'])
    const mail = await mailbox.waitFor(({ to, text }) => to === colleague.email && text.includes(application.name))
    expect(mail.text).toContain('devices of 40 out of 40 accounts within 10 minutes, from 40 networks')
    expect(mail.text).toContain(`/developer/application/activity?application=${application.id}`)
    expect((await requestCode()).status).toBe(200)
    expect(await eventsOf()).toEqual(['application.created', 'application.judged', 'application.warned'])
    await service.database.query('update users set disabled_at = now() where id = $1', [colleague.id])
  })

  it('warns once within the day', async () => {
    await misbehaving(3)
    await judgeNow(service)
    await misbehaving(3)
    expect(await reviewOf()).toMatchObject({ verdict: 'warn', suspended: false })
    expect(await mailsOf()).toEqual(['… polls too fast'])
  })

  it('suspends a day later, until it is reviewed, and notifies the owner; then an appeal, a slower interval, and another suspension', async () => {
    await suspended()
    expect(await mailsOf()).toEqual(['… polls too fast', '… is suspended'])
    const refused = await requestCode()
    expect([refused.status, refused.body.error]).toEqual([403, 'application_suspended'])
    const before = await read()
    expect(before.review?.suspensionEndsAt).toBeNull()
    expect((await toldOf()).at(-1)?.text).toContain('It stays suspended until the operators of this service')

    expect(await appeal(service.context, service.user.id, application.id, ' Firmware 3 is out. ')).toEqual({
      outcome: 'appealed',
    })
    const { review, seen, pollIntervalSeconds } = await read()
    expect(review).toMatchObject({ appeal: 'Firmware 3 is out.', appealedAt: expect.any(Number) })
    expect(pollIntervalSeconds).toBe(5)
    const wish = { applicationId: application.id, decision: 'reinstate_slower' } as const
    const said = { reason: 'fixed', words: 'Thank you for the quick fix.', intervalSeconds: 30 } as const
    expect(await decideReview(service.context, operator.id, { ...wish, ...said, seen })).toEqual({ outcome: 'decided' })
    await service.context.applications.refresh()
    expect((await requestCode()).body.interval).toBe(30)
    expect(await reviewOf()).toMatchObject({ suspended: false, closedAt: expect.any(Number), suspensionEndsAt: null })
    expect((await mailsOf()).at(-1)).toBe('… is reinstated with a longer interval')
    const told = (await toldOf()).at(-1)?.text ?? ''
    expect(told).toContain('Message from the operators: Thank you for the quick fix.')
    expect(told).toContain('devices of 40 out of 40 accounts')
    expect(told).not.toContain(operator.email)

    const [decision] = (await read()).decisions
    expect(decision).toMatchObject({
      by: operator.email,
      decision: 'reinstate_slower',
      intervalSeconds: 30,
    })
    const again = {
      ...said,
      decision: 'keep',
      intervalSeconds: null,
      seen: (await read()).seen,
    } as const
    expect(await decideReview(service.context, operator.id, { ...wish, ...again })).toEqual({ outcome: 'decided' })
    await service.context.applications.refresh()
    expect((await requestCode()).status).toBe(403)
    expect(await read()).toMatchObject({ suspended: true, review: { suspensionEndsAt: null } })
    expect((await mailsOf()).at(-1)).toBe('… is suspended until further notice')
    expect(await eventsOf()).toEqual([
      ...['application.created', 'application.judged', 'application.warned', 'application.judged'],
      ...['application.suspended', 'application.appealed', 'application.restored', 'review.decided'],
      ...['application.suspended', 'review.decided'],
    ])
  })

  it('reinstates after the configured hours, and warns before the next suspension', async () => {
    service = withThresholds(running, { SUSPENSION_REINSTATE_HOURS: '24' })
    await suspended()
    const before = await reviewOf()
    expect((before?.suspensionEndsAt ?? 0) - (before?.evidence.now ?? 0)).toBe(DAY)
    expect((await toldOf()).at(-1)?.text).toContain('the suspension ends automatically.')
    await advance(service, DAY - HOUR)
    await judgeNow(service)
    expect(await reviewOf()).toMatchObject({ suspended: true })
    await advance(service, HOUR)
    await judgeNow(service)
    expect((await requestCode()).status).toBe(200)
    expect(await reviewOf()).toMatchObject({ suspended: false, closedAt: null, suspensionEndsAt: null, warnedAt: null })
    expect((await mailsOf()).at(-1)).toBe('… is no longer suspended')

    await misbehaving(3)
    expect(await reviewOf()).toMatchObject({ verdict: 'warn', suspended: false })
    expect((await mailsOf()).at(-1)).toBe('… polls too fast')
  })

  it('does not reinstate by itself what users reported meanwhile', async () => {
    service = withThresholds(running, { SUSPENSION_REINSTATE_HOURS: '24' })
    await suspended()
    await service.database.query("update reviews set reason = 'reports' where application_id = $1", [application.id])
    await advance(service, DAY + HOUR)
    await judgeNow(service)
    expect(await reviewOf()).toMatchObject({ suspended: true, reason: 'reports', closedAt: null })
    expect((await requestCode()).status).toBe(403)
    expect((await mailsOf()).at(-1)).toBe('… is suspended')
  })

  it('keeps the evidence of the suspension, although nothing is granted any more', async () => {
    await suspended()
    await advance(service, 2 * HOUR)
    await judgeNow(service)
    const review = await reviewOf()
    expect(review).toMatchObject({ verdict: 'suspend', people: 40 })
    expect(review?.evidence.windows.map(({ ignoringAccounts }) => ignoringAccounts)).toEqual([40, 40, 40])
  })

  it('closes a review after a week without new evidence', async () => {
    await misbehaving()
    await advance(service, 7 * DAY - HOUR)
    await judgeNow(service)
    expect(await reviewOf()).toMatchObject({ closedAt: null, verdict: 'fine' })
    await advance(service, HOUR)
    await judgeNow(service)
    expect(await reviewOf()).toMatchObject({ closedAt: expect.any(Number) })
    expect((await listReviews(service.context, 'open')).lines.map(({ applicationId }) => applicationId)).not.toContain(
      application.id,
    )
  })

  it('does not judge evidence again that an operator has decided on', async () => {
    await misbehaving(2)
    const { seen } = await read()
    const wish = { applicationId: application.id, seen, intervalSeconds: null }
    const said = { decision: 'reinstate', reason: 'mistaken', words: 'A test of theirs.' } as const
    await decideReview(service.context, operator.id, { ...wish, ...said })
    await judgeNow(service)
    expect((await listReviews(service.context, 'open')).lines).not.toContainEqual(
      expect.objectContaining({ applicationId: application.id }),
    )
    await advance(service, DAY)
    await misbehaving()
    expect(await reviewOf()).toMatchObject({ closedAt: null, verdict: 'warn' })
  })
})
describe('RL-07: minutes of overload', () => {
  it('do not count as evidence', async () => {
    await nextWindow(service)
    await service.database.query("insert into overloads values (date_trunc('minute', now()), 12)")
    await connectAsRows(service, application, strangers, 25)
    await nextWindow(service)
    await judgeNow(service)
    expect(await reviewOf()).toBeNull()
    const activity = await readActivity(service.context, service.account.id, application.id)
    expect(activity?.suspension).toMatchObject({ overloaded: true, inARow: 0 })
    await service.database.query('truncate overloads')
    await judgeNow(service)
    expect(await reviewOf()).toMatchObject({ verdict: 'warn' })
  })
})
describe('reports', () => {
  it('open a review, and nothing happens to the application', async () => {
    await report(2)
    expect(await reviewOf()).toBeNull()
    await report(3)
    expect(await reviewOf()).toMatchObject({ reason: 'reports', verdict: 'review', suspended: false, people: 3 })
    expect((await requestCode()).status).toBe(200)
    expect(await mailsOf()).toEqual([])
    expect((await read()).reportsByAccounts).toBe(3)
  })

  it('remain the reason of the review, which is not closed automatically', async () => {
    await misbehaving()
    await report(3)
    expect(await reviewOf()).toMatchObject({ reason: 'reports' })
    await advance(service, 8 * DAY)
    await judgeNow(service)
    expect(await reviewOf()).toMatchObject({ reason: 'reports', closedAt: null })
  })

  it('rank above a firmware fault with as many users', async () => {
    const firmware = application.id
    await misbehave(service, application, strangers.slice(0, 30))
    application = {
      ...(await makeApplication(service.context.db, service.config, service.account.slug)),
      name: 'Phisher',
    }
    await report(30)
    const queue = (await listReviews(service.context, 'open')).lines.map(({ applicationId }) => applicationId)
    expect(queue.indexOf(application.id)).toBeLessThan(queue.indexOf(firmware))
  })

  it('do not name the reporting users', async () => {
    await report(3)
    const reported = (await read()).timeline.filter(({ kind }) => kind === 'code.reported')
    expect(reported.map(({ by }) => by)).toEqual([null, null, null])
  })
})

describe('several processes at the same moment', () => {
  it('warn once, and suspend once', async () => {
    await nextWindow(service)
    await connectAsRows(service, application, strangers, 25)
    await nextWindow(service)
    await Promise.all(Array.from({ length: 5 }, () => judgeNow(service)))
    expect((await eventsOf()).filter((kind) => kind === 'application.warned')).toHaveLength(1)
    await advance(service, DAY)
    for (let each = 0; each < 3; each += 1) {
      await connectAsRows(service, application, strangers, 25)
      await nextWindow(service)
    }
    await Promise.all(Array.from({ length: 5 }, () => judgeNow(service)))
    expect((await eventsOf()).filter((kind) => kind === 'application.suspended')).toHaveLength(1)
  })
})

it('wait for a decision about the same application', async () => {
  await nextWindow(service)
  await connectAsRows(service, application, strangers, 25)
  await nextWindow(service)
  let judging: Promise<void> | undefined
  await service.context.db.transaction(async (tx) => {
    await lockReviews(tx, application.id)
    judging = judgeNow(service)
    await sleep(500)
    expect(await reviewOf()).toBeNull()
  })
  await judging
  expect(await reviewOf()).toMatchObject({ verdict: 'warn' })
})

describe('a change on the command line', () => {
  it('is not undone by the rule: a manual suspension has no end', async () => {
    await suspendApplication(service.context.db, application.id, 'by hand')
    await service.context.applications.refresh()
    await misbehaving(3)
    await advance(service, 2 * DAY)
    await judgeNow(service)
    expect((await read()).suspended).toBe(true)
  })

  it('is respected: what was restored manually is not restored again', async () => {
    await suspended()
    await restoreApplication(service.context.db, application.id, 'by hand')
    await advance(service, 2 * DAY)
    await judgeNow(service)
    expect(await reviewOf()).toMatchObject({ suspended: false, suspensionEndsAt: null })
    expect((await mailsOf()).at(-1)).toBe('… is suspended')
  })

  it('uses up the warning: a manually restored application is warned again before the next suspension', async () => {
    await suspended()
    await restoreApplication(service.context.db, application.id, 'by hand')
    await misbehaving(3)
    expect(await reviewOf()).toMatchObject({ verdict: 'warn', suspended: false })
    expect((await mailsOf()).at(-1)).toBe('… polls too fast')
    await advance(service, DAY)
    await misbehaving(3)
    expect(await reviewOf()).toMatchObject({ verdict: 'suspend', suspended: true })
  })
})
