/** docs/interface/limits.md, "Limits": how much earlier than its interval a poll may come. With a stopped clock. */
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { paceFor } from '../../src/gate/gate.ts'
import { createLocalGate } from '../../src/gate/local-gate.ts'

it.each([1, 5, 60, 300])(
  'with an interval of %i seconds, a poll is early in the first nine tenths of it, and not after them',
  async (seconds) => {
    let now = 0
    const gate = createLocalGate(() => now)
    const id = randomUUID()
    const isEarly = async () => (await gate.poll(id, paceFor(seconds))).early
    expect(await isEarly()).toBe(false)
    now = seconds * 900 - 1
    expect(await isEarly()).toBe(true)
    now = seconds * 900
    expect(await isEarly()).toBe(false)
    await gate.close()
  },
)
