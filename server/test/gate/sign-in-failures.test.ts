/** Failed sign-ins of strangers, counted in process, on Redis and on a cluster, and while Redis is unreachable. */
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxPerNetwork, STRANGER_WINDOW_MS } from '../../src/core/sign-in/stranger.ts'
import { openRedis, type RedisLink } from '../../src/gate/redis-link.ts'
import { createSignInFailures, type SignInFailures } from '../../src/gate/sign-in-failures.ts'
import { engineUrl } from '../rig/engines/database.ts'
import { freshNetwork } from '../rig/network/fresh-network.ts'
import { startPrivateRedis } from '../scale/private-redis.ts'

const LIMITS = { addressesPerNetwork: 3, service: 1_000 }

const links: { name: string; open: () => RedisLink | null }[] = [
  { name: 'in process', open: () => null },
  { name: 'on Redis', open: () => openRedis(engineUrl('REDIS_URL'), () => {}) },
  { name: 'on a Redis cluster', open: () => openRedis(engineUrl('REDIS_CLUSTER_URL'), () => {}) },
]

const network = () => `${freshNetwork()}.0/24`
const source = () => ({ network: network(), accountId: randomUUID() })
const email = () => randomBytes(32)

async function connected(link: RedisLink | null): Promise<void> {
  while (link && !link.reachable()) await sleep(10)
}

describe.each(links)('failures $name', ({ open }) => {
  let link: RedisLink | null
  let failures: SignInFailures
  beforeAll(async () => {
    link = open()
    failures = createSignInFailures(LIMITS, link)
    await connected(link)
  })
  afterAll(() => link?.close())

  it('count an address once per network, and no more than the budget of the network in an account', async () => {
    const from = source()
    const repeated = email()
    expect(await failures.read(from)).toMatchObject({ addresses: 0, inAllAccounts: 0, waitMs: 0, account: 0 })
    for (const each of [repeated, repeated, email()]) await failures.count(from, each)
    expect(await failures.read(from)).toMatchObject({ addresses: 2, inAllAccounts: 2, account: 2 })
    for (let time = 0; time < 5; time += 1) await failures.count(from, email())
    const { addresses, inAllAccounts, account, waitMs } = await failures.read(from)
    expect([addresses, inAllAccounts]).toEqual([3, 7])
    expect([waitMs > STRANGER_WINDOW_MS - 60_000, waitMs <= STRANGER_WINDOW_MS]).toEqual([true, true])
    expect(account, 'a network adds no more than its budget').toBe(3)
  })

  it('of one network are counted in each account, and add no more than its budget to the service', async () => {
    const place = network()
    const before = (await failures.read({ network: place, accountId: randomUUID() })).service
    const accounts = Array.from({ length: 3 }, () => ({ network: place, accountId: randomUUID() }))
    for (const from of accounts) for (let time = 0; time < 3; time += 1) await failures.count(from, email())
    for (const from of accounts) {
      expect(await failures.read(from)).toMatchObject({ addresses: 3, inAllAccounts: 9, account: 3 })
    }
    const elsewhere = { network: place, accountId: randomUUID() }
    expect(await failures.read(elsewhere)).toMatchObject({ addresses: 0, inAllAccounts: 9, account: 0 })
    // Other tests count meanwhile on the shared engine.
    if (!link) expect((await failures.read(elsewhere)).service - before).toBe(3)
  })

  it('of one network are counted up to where it is refused', async () => {
    const from = source()
    for (let time = 0; time < maxPerNetwork(LIMITS) + 3; time += 1) await failures.count(from, email())
    expect((await failures.read(from)).inAllAccounts).toBe(maxPerNetwork(LIMITS))
  })

  it('of all networks add up for the account and the service', async () => {
    const { accountId } = source()
    const before = (await failures.read({ network: network(), accountId })).service
    for (let time = 0; time < 4; time += 1) await failures.count({ network: network(), accountId }, email())
    const { addresses, account, service } = await failures.read({ network: network(), accountId })
    expect([addresses, account]).toEqual([0, 4])
    expect(service - before).toBeGreaterThanOrEqual(4)
  })

  it('of passkeys are counted per network', async () => {
    const [one, other] = [network(), network()]
    for (let time = 0; time < 3; time += 1) await failures.countPasskey(one)
    expect([await failures.readPasskeys(one), await failures.readPasskeys(other)]).toEqual([3, 0])
  })
})

it('are shared by processes, and each process continues with its own count while Redis is unreachable', async () => {
  const redis = await startPrivateRedis()
  const [own, others] = [openRedis(redis.url, () => {}), openRedis(redis.url, () => {})]
  try {
    await Promise.all([connected(own), connected(others)])
    const [one, other] = [createSignInFailures(LIMITS, own), createSignInFailures(LIMITS, others)]
    const from = source()
    await one.count(from, email())
    await other.count(from, email())
    expect(await one.read(from)).toMatchObject({ addresses: 2, account: 2, service: 2 })
    redis.stop()
    while (own.reachable()) await sleep(10)
    expect(await one.read(from)).toMatchObject({ addresses: 1, account: 1, service: 1 })
  } finally {
    await Promise.all([own.close(), others.close()])
  }
})

it('are forgotten after their window, in process', async () => {
  let now = 0
  const failures = createSignInFailures(LIMITS, null, () => now)
  const from = source()
  await failures.count(from, email())
  now = STRANGER_WINDOW_MS
  expect(await failures.read(from)).toMatchObject({ addresses: 0, inAllAccounts: 0, account: 1 })
  now = 2 * STRANGER_WINDOW_MS
  expect(await failures.read(from)).toEqual({ addresses: 0, inAllAccounts: 0, waitMs: 0, account: 0, service: 0 })
})
