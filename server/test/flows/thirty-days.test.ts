/** A service of forty applications after thirty days: which of them the rule puts under review. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { listReviews, readReviewedApplication } from '../../src/flows/reviews/list.ts'
import { type BusyService, startBusyService } from '../rig/process/busy-service.ts'

let busy: BusyService
beforeAll(async () => {
  busy = await startBusyService()
})
afterAll(() => busy.stop())

it('the reported application is first, the broken firmware second, and no other is in the queue', async () => {
  const reviews = (await listReviews(busy.service.context, 'open')).lines
  expect(reviews.map(({ applicationId, reason }) => [applicationId, reason])).toEqual([
    [busy.phisher, 'reports'],
    [busy.firmware, 'polling'],
  ])
})

it('the firmware’s owner was warned a day before, so it is suspended; the reported one waits for an operator', async () => {
  const suspended = await Promise.all(
    [busy.phisher, busy.firmware].map(
      async (id) => (await readReviewedApplication(busy.service.context, id))?.suspended,
    ),
  )
  expect(suspended).toEqual([false, true])
})

it('the series of thirty days is consistent: granted ≤ entered ≤ requested', async () => {
  for (const id of [busy.phisher, busy.firmware]) {
    const { series } = (await readReviewedApplication(busy.service.context, id)) ?? {
      series: { days: [], minutes: [] },
    }
    expect(series.days).toHaveLength(30)
    const sum = (name: 'requested' | 'entered' | 'granted') => series.days.reduce((all, day) => all + day[name], 0)
    expect(sum('requested')).toBeGreaterThan(sum('entered'))
    expect(sum('entered')).toBeGreaterThanOrEqual(sum('granted'))
    expect(sum('granted')).toBeGreaterThan(0)
  }
})
