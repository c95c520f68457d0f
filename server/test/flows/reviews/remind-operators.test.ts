/** A suspension lasts until its review: operators are reminded, and the queue shows since when it waits. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { restoreApplication } from '../../../src/flows/applications/manage.ts'
import { decideReview } from '../../../src/flows/reviews/decide.ts'
import { listReviews, readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { remindOperators } from '../../../src/flows/reviews/remind-operators.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { type Mailbox, type ReceivedMail, startMailbox } from '../../rig/network/mailbox.ts'
import { advance, judgeNow, makeStrangers, misbehave, type Stranger } from '../../rig/scenes/fleet.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const NAME = 'Harbour Lights'

let service: TestService
let mailbox: Mailbox
let operator: MadeUser
let strangers: Stranger[]
let application: MadeApplication

beforeAll(async () => {
  mailbox = await startMailbox()
  service = await startTestService({ OPERATOR_ACCOUNT: 'operators', SMTP_URL: mailbox.url }, { clock: true })
  await makeAccount(service.context.db, { slug: 'operators' })
  operator = await makeUser(service.context.db, 'operators')
  strangers = await makeStrangers(service, 30)
})
afterAll(async () => {
  await service.stop()
  await mailbox.stop()
})

/** An application of its own for each test, and no waiting suspension from before. */
beforeEach(async () => {
  await service.database.query('update reviews set closed_at = now() where closed_at is null')
  await service.database.query("delete from mails where kind = 'suspensions_waiting'")
  const { context, config, account } = service
  application = await makeApplication(context.db, config, account.slug, { name: NAME })
  await advance(service, HOUR)
})

const read = async () => {
  const found = await readReviewedApplication(service.context, application.id)
  if (!found) throw new Error('there is no such application')
  return found
}

/** Warned, and a day later suspended by the rule. */
async function suspended(): Promise<void> {
  await misbehave(service, application, strangers)
  await advance(service, DAY)
  await misbehave(service, application, strangers, 3)
  expect(await read()).toMatchObject({ suspended: true, review: { closedAt: null } })
}

it('a suspension lasts until it is reviewed and does not end automatically', async () => {
  await suspended()
  await advance(service, 60 * DAY)
  await judgeNow(service)
  expect(await read()).toMatchObject({ suspended: true, review: { closedAt: null, suspensionEndsAt: null } })
  expect((await service.device('oauth', application).request()).body.error).toBe('application_suspended')
})

describe('operators are reminded of a waiting suspension', () => {
  const reminders = () =>
    service.database.query<{ to: string; detail: { count: number; applications: string[]; since: number } }>(
      "select user_id as to, detail from mails where kind = 'suspensions_waiting' order by id",
    )
  const remind = async () => {
    await remindOperators(service.context)
    return (await reminders()).length
  }

  it('by mail at once, then once a day, until it is decided', async () => {
    expect(await remind()).toBe(0)
    await suspended()
    expect([await remind(), await remind()]).toEqual([1, 1])
    const [first] = await reminders()
    expect(first).toMatchObject({ to: operator.id, detail: { count: 1, applications: [NAME] } })
    const isIt = ({ to, subject }: ReceivedMail) =>
      to === operator.email && subject.includes('is waiting for your review')
    const mail = await mailbox.waitFor(isIt)
    expect(mail.text).toContain(NAME)
    expect(mail.text).toContain('/operator/reviews')

    await advance(service, DAY - HOUR)
    expect(await remind()).toBe(1)
    await advance(service, HOUR)
    expect([await remind(), await remind()]).toEqual([2, 2])

    const { seen } = await read()
    const wish = { applicationId: application.id, seen, intervalSeconds: null }
    const said = { decision: 'keep', reason: 'broken_firmware', words: 'Still broken.' } as const
    expect(await decideReview(service.context, operator.id, { ...wish, ...said })).toEqual({ outcome: 'decided' })
    await advance(service, 2 * DAY)
    expect(await remind()).toBe(2)
  })

  it('again within the day when another one starts, with both in one mail', async () => {
    await suspended()
    expect(await remind()).toBe(1)
    const other = await makeApplication(service.context.db, service.config, service.account.slug, {
      name: 'Night Porter',
    })
    await misbehave(service, other, strangers)
    await advance(service, DAY)
    expect(await remind()).toBe(2)
    await misbehave(service, other, strangers, 3)
    expect([await remind(), await remind()]).toEqual([3, 3])
    expect((await reminders()).at(-1)?.detail).toMatchObject({ count: 2, applications: [NAME, 'Night Porter'] })
  })

  it('by the queue, which shows since when it waits', async () => {
    await suspended()
    const waits = async () =>
      (await listReviews(service.context, 'open')).lines.find(({ applicationId }) => applicationId === application.id)
    const since = (await waits())?.waitingSince ?? 0
    expect(Math.abs(since - ((await read()).review?.evidence.now ?? 0))).toBeLessThan(60_000)
    await restoreApplication(service.context.db, application.id, 'by hand')
    expect((await waits())?.waitingSince).toBeNull()
  })
})
