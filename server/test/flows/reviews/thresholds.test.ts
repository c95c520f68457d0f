/** Every threshold of the suspension rule is a setting, and is stored with what was judged and decided by it. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Decision } from '../../../src/core/reviews/review.ts'
import { decideReview } from '../../../src/flows/reviews/decide.ts'
import { Deciding } from '../../rig/scenes/deciding.ts'
import { connectAsRows, judgeNow, makeStrangers, misbehave, nextWindow, type Stranger } from '../../rig/scenes/fleet.ts'
import type { TestService } from '../../rig/service.ts'
import { defaultThresholds, withThresholds } from '../../rig/thresholds.ts'

let world: Deciding
let service: TestService
let strangers: readonly Stranger[]
beforeAll(async () => {
  world = await Deciding.start()
  strangers = [...world.strangers, ...(await makeStrangers(world.service, 36))]
})
afterAll(() => world.service.stop())
beforeEach(() => world.takeAnother())

function configure(settings: Record<string, string>): void {
  service = withThresholds(world.service, settings)
}

const reviewOf = async () => (await world.read()).review
const decide = async (decision: Decision) =>
  (await decideReview(service.context, world.operator.id, await world.wish({ decision }))).outcome

it('thresholds are those of the configuration, and stored with what was judged and decided by them', async () => {
  configure({ SUSPENSION_ACCOUNTS: '5', SUSPENSION_NETWORKS: '5' })
  await misbehave(service, world.application, strangers.slice(0, 5))
  const few = { ...defaultThresholds, accounts: 5, networks: 5 }
  expect(await reviewOf()).toMatchObject({ verdict: 'warn', thresholds: few })
  configure({ SUSPENSION_ACCOUNTS: '6' })
  expect(await decide('reinstate')).toBe('decided')
  expect(await reviewOf(), 'as it was judged').toMatchObject({ thresholds: few })
  const stored = await service.database.query(
    'select d.thresholds from review_decisions d join reviews r on r.id = d.review_id where r.application_id = $1',
    [world.application.id],
  )
  expect(stored).toEqual([{ thresholds: { ...defaultThresholds, accounts: 6 } }])
})

it('thresholds count accounts of a configured age, in windows of a configured length', async () => {
  configure({ SUSPENSION_ACCOUNT_AGE_DAYS: '90', SUSPENSION_WINDOW_MINUTES: '20' })
  await misbehave(service, world.application, strangers, 2)
  const review = await reviewOf()
  expect(review?.verdict, 'the accounts are 60 days old').toBe('review')
  const [first, second] = review?.evidence.windows ?? []
  expect((second?.startsAt ?? 0) - (first?.startsAt ?? 0)).toBe(20 * 60_000)
})

it('thresholds set the share of the accounts that granted', async () => {
  configure({ SUSPENSION_SHARE: '0.9' })
  await nextWindow(service)
  await connectAsRows(service, world.application, strangers.slice(0, 10), 0)
  await connectAsRows(service, world.application, strangers.slice(10), 25)
  await nextWindow(service)
  await judgeNow(service)
  expect(await reviewOf(), '75 %').toBeNull()
  configure({ SUSPENSION_SHARE: '0.7' })
  await judgeNow(service)
  expect(await reviewOf()).toMatchObject({ verdict: 'warn' })
})

it('thresholds set how many reports open a review', async () => {
  configure({ SUSPENSION_REPORTS: '2' })
  for (const { account } of strangers.slice(0, 2)) {
    await service.database.query(
      "insert into audit_events (at, kind, actor_kind, actor_id, via, account_id, application_id) values (now(), 'code.reported', 'service', 'test', 'job', $1, $2)",
      [account.id, world.application.id],
    )
  }
  await judgeNow(service)
  expect(await reviewOf()).toMatchObject({ reason: 'reports' })
})

it('thresholds set of how many grants the revocation takes two operators', async () => {
  configure({ SUSPENSION_SECOND_OPERATOR_GRANTS: '40' })
  await misbehave(service, world.application, strangers)
  expect(await decide('keep_and_revoke')).toBe('waits_for_second')
  configure({ SUSPENSION_SECOND_OPERATOR_GRANTS: '41' })
  expect(await decide('keep_and_revoke')).toBe('decided')
})
