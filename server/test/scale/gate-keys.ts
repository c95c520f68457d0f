/** Both of the gate's keys for every code, written by the gate itself and made to last for the whole measurement. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createRedisGate } from '../../src/gate/redis-gate.ts'
import { openRedis } from '../../src/gate/redis-link.ts'
import type { PrivateRedis } from './private-redis.ts'

const LONG_MS = 60 * 60 * 1000

/** Small enough that Redis answers well within the gate's patience. */
const CODES_AT_ONCE = 500

/** Longer than the gate stays away from a Redis that let it wait once. */
const PAUSE_MS = 1_000

/** Returns the bytes that Redis needs for all of them. */
export async function fillGate(redis: PrivateRedis, ids: readonly string[]): Promise<number> {
  let lost = false
  const link = openRedis(redis.url, (answers) => {
    lost ||= !answers
  })
  const gate = createRedisGate(link)
  try {
    await connected(redis, () => gate.poll('00000000-0000-0000-0000-000000000000', 1))
    const before = await redis.usedMemory()
    for (let start = 0; start < ids.length; start += CODES_AT_ONCE) {
      const some = ids.slice(start, start + CODES_AT_ONCE)
      lost = false
      for (const id of some) gate.hint(id, LONG_MS)
      // Behind the hints on the same connection: when these are answered, those are written.
      await Promise.all(some.map((id) => gate.poll(id, LONG_MS)))
      if (!lost) continue
      // On a busy machine Redis may be late once; the gate then goes on alone, and these codes are written again.
      await sleep(PAUSE_MS)
      start -= CODES_AT_ONCE
    }
    const keys = await redis.keys()
    if (keys !== 2 * ids.length) throw new Error(`the gate wrote ${keys} keys for ${ids.length} codes`)
    return (await redis.usedMemory()) - before
  } finally {
    await gate.close()
  }
}

/** Until its connection stands, the gate answers on its own and writes nothing. */
async function connected(redis: PrivateRedis, poll: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    await poll()
    if ((await redis.keys()) > 0) {
      while ((await redis.keys()) > 0) await sleep(5)
      return
    }
    await sleep(10)
  }
  throw new Error('the gate does not reach Redis')
}
