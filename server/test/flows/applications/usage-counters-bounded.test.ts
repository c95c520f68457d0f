/** Usage counters of more applications and requests than are kept between two saves. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createUsageCounters } from '../../../src/flows/applications/usage-counters.ts'
import type { NotedRequest } from '../../../src/store/applications/activity.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({}, { listen: false })
})
afterAll(() => service.stop())

const REQUEST: Omit<NotedRequest, 'applicationId'> = {
  at: Date.now(),
  authenticated: true,
  operation: 'requestTokenCode',
  refusal: null,
  message: null,
}

it('is bounded: ten thousand applications, and twenty thousand requests', async () => {
  const ids = await insertApplications(10_050)
  const usage = createUsageCounters(service.context.db)
  for (const id of ids) usage.count(id, 'polls')
  for (const id of ids) usage.count(id, 'polls')
  for (const applicationId of ids.slice(0, 401))
    for (let each = 0; each < 50; each += 1) usage.note({ ...REQUEST, applicationId })
  await usage.save()
  const [counted] = await service.database.query(
    'select count(*)::int as applications, sum(polls)::int as polls from application_hours',
  )
  expect(counted).toEqual({ applications: 10_000, polls: 20_000 })
  const [noted] = await service.database.query('select count(*)::int as requests from application_requests')
  expect(noted).toEqual({ requests: 20_000 })
})

/** As rows, to save time. */
async function insertApplications(count: number): Promise<string[]> {
  const rows = await service.database.query<{ id: string }>(
    `insert into applications
     select (jsonb_populate_record(a, jsonb_build_object('id', 'app_many' || lpad(n::text, 8, '0'), 'change_number', 1000000 + n))).*
     from applications a, generate_series(1, $2::int) n where a.id = $1 returning id`,
    [service.application.id, count],
  )
  return rows.map(({ id }) => id)
}
