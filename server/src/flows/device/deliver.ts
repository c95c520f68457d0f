/**
 * Delivery of final outcomes: credentials are issued once and delivered until sent.
 * docs/interface/device-flow.md, "Delivery".
 *
 * A poll that gets a final outcome leases it. Once the answer is handed to the network, the code becomes `used`. If the
 * client disconnects before that, the next poll gets the same credentials at once; if the poll had an Idempotency-Key,
 * the next one with the same key. If this process dies, the next poll after the lease's end gets them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { confirm, type Delivery, release } from '../../core/device/code.ts'
import { type DeviceCodeKey, lockDeviceCode, saveDeviceCode } from '../../store/device/codes.ts'
import { type Transaction, Unavailable } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'

/** Returned by a poll with a final outcome; its caller settles the delivery with it. */
export type DeliveryTicket = DeviceCodeKey & { readonly delivery: Delivery }

/** `sent`: the answer was handed to the network. Otherwise the client disconnected before. */
export function settleDelivery(context: Context, ticket: DeliveryTicket, sent: boolean): Promise<void> {
  const step = sent ? confirm : release
  return settle(context, async (tx) => {
    const locked = await lockDeviceCode(tx, ticket)
    if (!locked) return
    const next = step(locked.code, ticket.delivery)
    if (next !== locked.code) await saveDeviceCode(tx, next)
  })
}

/** Retries for half a minute, in case PostgreSQL becomes unavailable after the answer was sent. */
const TRY_EVERY_MS = 500
const TRY_FOR_MS = 30_000

/** Stores whether an answer was sent or lost. Retries while PostgreSQL is unavailable; never throws. */
export async function settle(context: Context, work: (tx: Transaction) => Promise<void>): Promise<void> {
  const until = performance.now() + TRY_FOR_MS
  for (;;) {
    try {
      return await context.db.transaction(work)
    } catch (error) {
      if (!(error instanceof Unavailable)) return context.events.unexpected('delivery', error)
      if (performance.now() >= until) return context.events.taskFailed('settling a delivery', error)
    }
    await sleep(TRY_EVERY_MS, undefined, { ref: false })
  }
}
