/** RL-05, RL-06: a suspension does not affect existing grants, and its end reaches every process within seconds. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { suspendApplication } from '../../../src/flows/applications/manage.ts'
import { decideReview } from '../../../src/flows/reviews/decide.ts'
import { readReviewedApplication } from '../../../src/flows/reviews/list.ts'
import { askMe, type Connected, connect, grant } from '../../rig/connect.ts'
import { Device } from '../../rig/device.ts'
import { refresh } from '../../rig/dialog.ts'
import { engineUrl } from '../../rig/engines/database.ts'
import { type MadeUser, makeAccount, makeUser } from '../../rig/make.ts'
import { type ServerProcess, startServerProcess } from '../../rig/process/server-process.ts'
import { startTestService, type TestService } from '../../rig/service.ts'

let service: TestService
let operator: MadeUser
let processes: ServerProcess[]
beforeAll(async () => {
  const operators = { OPERATOR_ACCOUNT: 'operators' }
  service = await startTestService(operators)
  await makeAccount(service.context.db, { slug: 'operators' })
  operator = await makeUser(service.context.db, 'operators')
  const shared = { ...operators, DATABASE_URL: service.database.url, REDIS_URL: engineUrl('REDIS_URL') }
  processes = await Promise.all([1, 2, 3].map(() => startServerProcess(shared)))
})
afterAll(async () => {
  await Promise.all(processes.map((each) => each.kill('SIGKILL')))
  await service.stop()
})

async function decide(decision: 'keep' | 'reinstate'): Promise<void> {
  const { id } = service.application
  const { seen } = (await readReviewedApplication(service.context, id)) ?? { seen: '' }
  const wish = { applicationId: id, seen, decision, reason: 'other', words: 'As it is.' } as const
  const decided = await decideReview(service.context, operator.id, { ...wish, intervalSeconds: null })
  expect(decided).toEqual({ outcome: 'decided' })
}

describe('RL-05: suspended under load', () => {
  it('tokens stay valid and are refreshed, and grants are delivered, without an error', async () => {
    const { application } = service
    const connected: Connected[] = []
    for (let each = 0; each < 12; each += 1) connected.push(await connect(service))
    const granted = []
    for (let each = 0; each < 12; each += 1) granted.push(await grant(service))

    let stopped = false
    const answers = { asked: [] as number[], refreshed: [] as number[], delivered: [] as number[] }
    const ask = async ({ credential }: Connected) => {
      while (!stopped) answers.asked.push((await askMe(service, credential)).status)
    }
    const renew = async (first: Connected) => {
      for (let refreshToken = first.refreshToken; !stopped; ) {
        const { status, body } = await refresh(service, application, refreshToken)
        answers.refreshed.push(status)
        refreshToken = body.refresh_token
        await sleep(20)
      }
    }
    const load = Promise.all([...connected.slice(0, 6).map(ask), ...connected.slice(6).map(renew)])
    await sleep(500)
    await decide('keep')
    await sleep(1_500)
    for (const { device, deviceCode } of granted) answers.delivered.push((await device.poll(deviceCode)).status)
    expect((await service.device().request()).body.error).toBe('application_suspended')
    stopped = true
    await load
    for (const statuses of Object.values(answers)) expect(new Set(statuses)).toEqual(new Set([200]))
    expect(answers.delivered).toHaveLength(12)
    await decide('reinstate')
  })
})

describe('RL-06: a suspension that was lifted', () => {
  /** When the last process issues codes again, and when each still refuses. */
  const outcomes = () =>
    Promise.all(
      processes.map(async ({ address }) => {
        const { status } = await new Device(address, service.application).request()
        return status
      }),
    )

  it('reaches three processes within five seconds, like the suspension itself', async () => {
    await expect.poll(outcomes, { timeout: 30_000 }).toEqual([200, 200, 200])
    await suspendApplication(service.context.db, service.application.id, 'to be looked into')
    await expect.poll(outcomes, { timeout: 30_000 }).toEqual([403, 403, 403])
    const lifted = performance.now()
    await decide('reinstate')
    await expect.poll(outcomes, { timeout: 30_000, interval: 50 }).toEqual([200, 200, 200])
    expect(performance.now() - lifted).toBeLessThan(5_000)
  })
})
