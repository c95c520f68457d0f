/** One sequence of operations on one new code of a running server, from the code request to the final row. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LEASE_MS } from './reference-model.ts'
import type { Seen } from './seen.ts'
import { ServerCode } from './server-code.ts'
import type { ServerOperation, ServerSequence } from './server-operations.ts'
import type { World } from './server-world.ts'

/**
 * No operation takes longer: a poll waits about 4.8 s for another lease. A lease that would end within this time is
 * ended before the operation starts, so that no answer depends on the speed of this machine.
 */
const MAX_OPERATION_MS = 6_000

/** After an advance, the time is clear of the boundary. */
const BEYOND_MS = 50

export async function liveOnServer(world: World, sequence: ServerSequence, seen: Seen): Promise<ServerCode> {
  const code = await ServerCode.request(world, sequence.variant)
  seen.add('code request', 'pending')
  let ahead = 0
  const advanceTo = async (moment: number) => {
    const by = Math.ceil(moment - code.model.now) + BEYOND_MS
    if (by <= BEYOND_MS) return
    ahead += by
    await code.advance(by)
  }
  try {
    for (const [index, operation] of sequence.operations.entries()) {
      code.tick()
      const { model } = code
      // A held poll waits for a second more, and for its interval.
      const maxMs = operation.do === 'held poll' ? LEASE_MS : MAX_OPERATION_MS
      if (model.leased && model.lease && model.lease.until - model.now <= maxMs) {
        await advanceTo(model.lease.until)
      }
      const answer = await perform(code, operation, advanceTo).catch((error: Error) => {
        throw new Error(`operation ${index}: ${error.message}`)
      })
      seen.add(operation.do, answer)
    }
    code.tick()
    await code.checkRow()
    return code
  } finally {
    // Back to the real time, for the server as well, which reads the clock only each second: the next code must not be
    // created expired, nor its held polls end at once.
    if (ahead > 0) {
      await world.service.database.advance(-ahead)
      await world.service.context.applications.refresh()
    }
  }
}

async function perform(
  code: ServerCode,
  operation: ServerOperation,
  advanceTo: (moment: number) => Promise<void>,
): Promise<string> {
  switch (operation.do) {
    case 'poll':
      if (operation.pace) await sleep(code.paceMs)
      code.tick()
      return code.poll(operation.key)
    case 'held poll':
      await sleep(code.paceMs)
      code.tick()
      return code.pollHeld(operation.decision, operation.user)
    case 'poll twice at once':
      return code.pollTwiceAtOnce()
    case 'stranger':
      return code.stranger(operation.with)
    case 'vanish':
    case 'die':
      return code.pollWithoutSending(operation)
    case 'take over':
      return code.claim(operation.user, true)
    case 'claim':
    case 'grant':
    case 'reject':
      return code[operation.do](operation.user)
    case 'advance':
      if (operation.to === 'at expiry') await advanceTo(code.model.expiresAt)
      else if (code.model.leased && code.model.lease) await advanceTo(code.model.lease.until)
      return code.model.status
  }
}
