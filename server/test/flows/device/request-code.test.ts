/** docs/interface/limits.md, "Limits": what a code request costs its application. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { refuseWrites } from '../../rig/engines/refused-writes.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

/** At 60 a minute, an application may send a few at once, but not fifty. */
const MANY = 50

let service: TestService
beforeAll(async () => {
  service = await startTestService({ CODE_REQUESTS_PER_APPLICATION: '60' })
})
afterAll(() => service.stop())

async function statuses(): Promise<Set<number>> {
  const answers = new Set<number>()
  for (let asked = 0; asked < MANY; asked += 1) answers.add((await service.device().request()).status)
  return answers
}

it('a refused request is not charged to its application', async () => {
  const refused = await refuseWrites(service.database, 'insert')
  expect(await statuses()).toEqual(new Set([503]))
  await refused.lift()
  expect((await service.device().request()).status).toBe(200)
})

it('a successful one is, and further requests have to wait', async () => {
  expect(await statuses()).toEqual(new Set([200, 429]))
})
