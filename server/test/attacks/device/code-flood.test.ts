/** DC-22: a flood of code requests makes no more codes than its application's budget, little in Redis, and nothing for others. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { post, whenServed } from '../../rig/device.ts'
import { makeApplication } from '../../rig/make.ts'
import { startTestService, type TestService } from '../../rig/service.ts'
import { figure, sized } from '../../rig/size.ts'
import { type PrivateRedis, startPrivateRedis } from '../../scale/private-redis.ts'

const REQUESTS = sized(50_000, 1_000)
/** One request of the other application for so many of the flood: it stays within its own budget. */
const FLOOD_PER_OTHER = sized(500, 100)
const AT_ONCE = 50
const NETWORKS = 20
const PER_NETWORK = 20

let service: TestService
let engine: PrivateRedis
beforeAll(async () => {
  engine = await startPrivateRedis()
  service = await startTestService({
    REDIS_URL: engine.url,
    TRUST_PROXY: '127.0.0.1',
    CODE_REQUESTS_PER_NETWORK: String(PER_NETWORK),
    CODE_REQUESTS_PER_APPLICATION: '600',
  })
})
afterAll(async () => {
  await service?.stop()
  engine?.stop()
})

it(`DC-22: ${figure(REQUESTS)} code requests of one application make few codes, Redis stays small, and another application notices nothing`, async () => {
  const other = await makeApplication(service.context.db, service.config, service.account.slug)
  await service.context.applications.refresh()
  const ask = (application: { id: string; secret: string }, address: string) =>
    post(service.address, '/auth/oauth/device/code', {
      form: { SVCappid: application.id, SVCsecret: application.secret },
      headers: { 'x-forwarded-for': address },
    })
  const memory = await engine.usedMemory()
  const begun = performance.now()
  const flood: number[] = []
  const others: number[] = []
  const flooding = async (worker: number) => {
    for (let time = worker; time < REQUESTS; time += AT_ONCE) {
      flood.push((await ask(service.application, `10.0.${time % NETWORKS}.1`)).status)
      if (time % FLOOD_PER_OTHER === 0) {
        const answer = await whenServed(() => ask(other, `10.1.${(time / FLOOD_PER_OTHER) % 250}.1`))
        others.push(answer.status)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_each, worker) => flooding(worker)))
  const minutes = Math.ceil((performance.now() - begun) / 60_000)

  const counted = Map.groupBy(flood, (status) => status)
  // A busy machine may also shed some with 503.
  expect([...counted.keys()].filter((status) => ![200, 429, 503].includes(status))).toEqual([])
  expect(counted.get(429)?.length).toBeGreaterThan(REQUESTS / 10)
  const codes = counted.get(200)?.length ?? 0
  // A window of a minute may begin within another one.
  const mostCodes = NETWORKS * PER_NETWORK * (minutes + 1)
  expect(codes).toBeLessThanOrEqual(mostCodes)
  const [row] = await service.database.query<{ live: number }>(
    'select count(*)::int as live from device_codes where application_id = $1',
    [service.application.id],
  )
  expect(row?.live).toBeLessThanOrEqual(mostCodes)
  expect(others, 'another application').toEqual(others.map(() => 200))

  expect((await engine.usedMemory()) - memory, 'bytes in Redis').toBeLessThan(4_000_000)
  const redis = new Redis(engine.url)
  const keys = await redis.keys('*')
  expect(keys.length).toBeLessThan(NETWORKS + others.length + codes + 10)
  const lives = await Promise.all(keys.map((key) => redis.pttl(key)))
  expect(keys.filter((_key, at) => (lives[at] ?? 0) === -1)).toEqual([])
  redis.disconnect()
})
