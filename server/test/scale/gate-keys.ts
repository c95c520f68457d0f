/** Both keys of the gate for every code, written by the gate itself, with a lifetime for the whole measurement. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createRedisGate } from '../../src/gate/redis-gate.ts'
import { openRedis } from '../../src/gate/redis-link.ts'
import type { InspectedRedis } from './private-redis.ts'

const LONG_MS = 60 * 60 * 1000

/** Small enough that Redis answers well within the gate's time limit. */
const CODES_AT_ONCE = 500

/** Longer than the gate avoids a Redis that was slow once. */
const PAUSE_MS = 1_000

/** Returns the memory that Redis needs for all of them, in bytes. */
export async function fillGate(redis: InspectedRedis, ids: readonly string[]): Promise<number> {
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
      // After the hints on the same connection: when these are answered, the hints are written.
      await Promise.all(some.map((id) => gate.poll(id, LONG_MS)))
      if (!lost) continue
      // On a busy machine Redis may be late once; the gate then continues alone, and these codes are written again.
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

/** Until it is connected, the gate answers by itself and writes nothing. */
async function connected(redis: InspectedRedis, poll: () => Promise<unknown>): Promise<void> {
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
