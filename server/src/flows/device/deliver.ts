/**
 * Mint once, deliver until sent. docs/interface.md, "Delivery".
 *
 * A poll that gets a final outcome holds it under a lease. When the answer was handed to the network the code is `used`;
 * when the client vanished first, the next poll may have the same credentials at once; when this process dies, the lease runs
 * out and the next poll after it may.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { confirm, type Delivery, type DeviceCode, release } from '../../core/device/code.ts'
import { type DeviceCodeKey, lockDeviceCode, saveDeviceCode } from '../../store/device/codes.ts'
import { type Transaction, Unavailable } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

/** What a poll with a final outcome hands to its caller. */
export type DeliveryTicket = DeviceCodeKey & { readonly delivery: Delivery }

export function confirmDelivery(context: Context, ticket: DeliveryTicket): Promise<void> {
  return settleCode(context, ticket, confirm)
}

export function releaseDelivery(context: Context, ticket: DeliveryTicket): Promise<void> {
  return settleCode(context, ticket, release)
}

function settleCode(
  context: Context,
  ticket: DeliveryTicket,
  step: (code: DeviceCode, delivery: Delivery) => DeviceCode,
): Promise<void> {
  return settle(context, async (tx) => {
    const locked = await lockDeviceCode(tx, ticket)
    if (!locked) return
    const next = step(locked.code, ticket.delivery)
    if (next !== locked.code) await saveDeviceCode(tx, next)
  })
}

/** If PostgreSQL goes away right after the answer was sent, it is told when it comes back, within half a minute. */
const TRY_EVERY_MS = 500
const TRIES = 60

/** Writes down what became of an answer. */
export async function settle(context: Context, work: (tx: Transaction) => Promise<void>): Promise<void> {
  let failure: unknown
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    if (attempt > 0) await sleep(TRY_EVERY_MS, undefined, { ref: false })
    try {
      return await context.db.transaction(work)
    } catch (error) {
      if (!(error instanceof Unavailable)) return context.events.unexpected('delivery', error)
      failure = error
    }
  }
  context.events.taskFailed('settling a delivery', failure)
}
