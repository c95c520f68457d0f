/**
 * Delivery of final outcomes: credentials are issued once and delivered until sent. docs/interface.md, "Delivery".
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

/** Returned by a poll with a final outcome; its caller confirms or releases the delivery with it. */
export type DeliveryTicket = DeviceCodeKey & {
  readonly delivery: Delivery
  /** The cell that has the code. Absent: this one. */
  readonly holder?: number
}

export function confirmDelivery(context: Context, ticket: DeliveryTicket): Promise<void> {
  return settleCode(context, ticket, 'confirm')
}

export function releaseDelivery(context: Context, ticket: DeliveryTicket): Promise<void> {
  return settleCode(context, ticket, 'release')
}

const STEPS = { confirm, release } as const

export type Settlement = keyof typeof STEPS

function settleCode(context: Context, ticket: DeliveryTicket, how: Settlement): Promise<void> {
  const { holder, ...own } = ticket
  return persist(context, async () => {
    if (holder === undefined) await settleInHolderCell(context, own, how)
    else await context.cells?.ask(holder, 'settle', { ticket: own, how })
  })
}

/**
 * In the cell that has the code, or had it until the account of its user moved. `onward`: sent on by that cell. It is
 * not sent on again: after a move back that was killed, two cells say that the other one has the code.
 */
export async function settleInHolderCell(
  context: Context,
  ticket: DeliveryTicket,
  how: Settlement,
  onward = false,
): Promise<void> {
  const movedTo = await context.db.transaction((tx) => settleHere(tx, ticket, how))
  if (movedTo === null) return
  if (onward) throw new Unavailable('the code is moving to another cell')
  await context.cells?.ask(movedTo, 'settle', { ticket, how, onward: true })
}

/** Returns the cell that has the code; null: this one. */
async function settleHere(tx: Transaction, ticket: DeliveryTicket, how: Settlement): Promise<number | null> {
  const locked = await lockDeviceCode(tx, ticket)
  if (!locked) return null
  if (locked.code.handedTo !== null) return locked.code.handedTo
  const next = STEPS[how](locked.code, ticket.delivery)
  if (next !== locked.code) await saveDeviceCode(tx, next)
  return null
}

/** Retries for half a minute, in case PostgreSQL, or the other cell, becomes unavailable after the answer was sent. */
const TRY_EVERY_MS = 500
const TRY_FOR_MS = 30_000

/** Stores whether an answer was sent or lost. Retries while PostgreSQL is unavailable; never throws. */
export function settle(context: Context, work: (tx: Transaction) => Promise<void>): Promise<void> {
  return persist(context, () => context.db.transaction(work))
}

async function persist(context: Context, work: () => Promise<void>): Promise<void> {
  const until = performance.now() + TRY_FOR_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Unavailable)) return context.events.unexpected('delivery', error)
      if (performance.now() >= until) return context.events.taskFailed('settling a delivery', error)
    }
    await sleep(TRY_EVERY_MS, undefined, { ref: false })
  }
}
