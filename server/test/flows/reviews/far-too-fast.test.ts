/** An application that polls far too fast and that nobody grants: shown to operators once, and nothing else. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { decideReview } from '../../../src/flows/reviews/decide.ts'
import { listReviews, readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { addCounts } from '../../../src/store/applications/activity.ts'
import { type MadeApplication, type MadeUser, makeAccount, makeApplication, makeUser } from '../../rig/make.ts'
import { advance, connectDevice, judgeNow, makeStrangers, misbehave } from '../../rig/scenes/fleet.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
let service: TestService
let operator: MadeUser
let application: MadeApplication
beforeAll(async () => {
  const settings = { OPERATOR_ACCOUNT: 'operators', TRUST_PROXY: '127.0.0.1/32' }
  service = await startTestService(settings, { clock: true })
  await makeAccount(service.context.db, { slug: 'operators' })
  operator = await makeUser(service.context.db, 'operators')
})
afterAll(() => service.stop())
/** An application and a step of five minutes of its own for each test. */
beforeEach(async () => {
  application = await makeApplication(service.context.db, service.config, service.account.slug)
  await advance(service, 20 * MINUTE)
})

const read = () => readReviewedApplication(service.context, application.id)
const reviewOf = async () => (await read())?.review ?? null
const listed = async (state: 'open' | 'closed' = 'open') => {
  const { lines } = await listReviews(service.context, state)
  return lines.filter(({ applicationId }) => applicationId === application.id)
}
const mailsOf = () => service.database.query('select id from mails where detail::text ~ $1', [application.id])
const eventsOf = async () => {
  const events = await service.database.query<{ kind: string }>(
    "select kind from audit_events where application_id = $1 and kind ~ '^(application|review)' order by id",
    [application.id],
  )
  return events.map(({ kind }) => kind)
}
/** As counted by the processes of the service. */
async function polls(counts: { readonly polls: number; readonly early: number }): Promise<void> {
  const { polls: all, early: earlyPolls } = counts
  const counted = { applicationId: application.id, requested: 1, polls: all, earlyPolls, secretsInUrl: 0 }
  await addCounts(service.context.db, [counted])
  await judgeNow(service)
}
const flatOut = () => polls({ polls: 2_000, early: 1_950 })
async function close(): Promise<void> {
  const seen = await read()
  const wish = { applicationId: application.id, seen: seen?.seen ?? '' }
  const said = { decision: 'reinstate', reason: 'other', words: 'Talked to them.', intervalSeconds: null } as const
  expect(await decideReview(service.context, operator.id, { ...wish, ...said })).toEqual({ outcome: 'decided' })
}

describe('an application that polls far too fast', () => {
  it('appears among the reviews within 15 minutes, once, although nobody grants it; nothing else happens', async () => {
    await connectDevice(service, application, null, { address: '198.51.100.7', polls: 300 })
    await judgeNow(service)
    expect(await listed()).toEqual([])
    await advance(service, 9 * MINUTE)
    await connectDevice(service, application, null, { address: '198.51.100.7', polls: 300 })
    await judgeNow(service)
    const [review, ...more] = await listed()
    expect(review).toMatchObject({ reason: 'early_polls', verdict: 'review', people: 0, suspended: false })
    expect(review?.factor).toBeGreaterThan(5)
    expect(more).toEqual([])

    for (let each = 0; each < 3; each += 1) {
      await advance(service, 10 * MINUTE)
      await flatOut()
    }
    expect(await listed()).toMatchObject([{ id: review?.id, verdict: 'review', suspended: false }])
    expect((await reviewOf())?.warnedAt).toBeNull()
    expect(await eventsOf()).toEqual(['application.created', 'application.judged'])
    expect(await mailsOf()).toEqual([])
    expect((await service.device('oauth', application).request()).status).toBe(200)
  })

  it('is not shown if it polls in pace, however much', async () => {
    await polls({ polls: 1_000_000, early: 100_000 })
    expect(await listed()).toEqual([])
  })

  it('stays closed for seven days after an operator closed it, and then appears again if it goes on', async () => {
    await flatOut()
    await close()
    await flatOut()
    await advance(service, 7 * DAY - MINUTE)
    await flatOut()
    expect(await listed()).toEqual([])
    await advance(service, MINUTE)
    await flatOut()
    expect(await listed()).toHaveLength(1)
    expect(await listed('closed')).toHaveLength(1)
  })

  it('needs no operator after a week in pace, and appears again at once if it begins again', async () => {
    await flatOut()
    await advance(service, 7 * DAY - MINUTE)
    await judgeNow(service)
    expect(await listed()).toMatchObject([{ verdict: 'fine' }])
    await advance(service, MINUTE)
    await judgeNow(service)
    expect(await listed()).toEqual([])
    await flatOut()
    expect(await listed()).toHaveLength(1)
  })

  it('is not shown while it is suspended', async () => {
    await suspendApplication(service.context.db, application.id, 'for a look')
    await flatOut()
    expect(await listed()).toEqual([])
  })

  it('is warned in the same review as soon as grants confirm it', async () => {
    await flatOut()
    const [before] = await listed()
    const strangers = await makeStrangers(service, 40)
    await misbehave(service, application, strangers)
    expect(await listed()).toMatchObject([{ id: before?.id, reason: 'polling', verdict: 'warn', people: 40 }])
    expect(await eventsOf()).toEqual([
      ...['application.created', 'application.judged', 'application.judged', 'application.warned'],
    ])
    expect(await mailsOf()).not.toEqual([])
  })

  it('needs a decision about the grants of young accounts as soon as they confirm it', async () => {
    await flatOut()
    const before = await read()
    await misbehave(service, application, await makeStrangers(service, 40, 1))
    expect(await listed()).toMatchObject([{ id: before?.review?.id, reason: 'polling', verdict: 'review' }])
    expect(await eventsOf()).toEqual(['application.created', 'application.judged', 'application.judged'])
    expect((await read())?.seen).not.toBe(before?.seen)
    expect(await mailsOf()).toEqual([])
  })
})
