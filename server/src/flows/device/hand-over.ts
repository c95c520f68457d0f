/**
 * Hand-over of a device code between cells: the issuer's side, the side of a cell that has it, and the side of the cell
 * whose user entered it. docs/decisions/0060-cells-on-plain-postgresql.md.
 */

import { byService } from '../../core/audit/actor.ts'
import { giveBack, handOn, handOver } from '../../core/cells/hand-over.ts'
import { claim, isClosed } from '../../core/device/code.ts'
import { readUser } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import {
  type DeviceCodeKey,
  type Found,
  findByUserCode,
  lockDeviceCode,
  saveDeviceCode,
} from '../../store/device/codes.ts'
import { type CodeRow, lockIssuedCode, readCodeRow, receiveCodeRow, savePlace } from '../../store/device/hand-over.ts'
import { type Transaction, Unavailable } from '../../store/postgres/postgres.ts'
import type { Cells } from '../cells/cells.ts'
import type { Context } from '../context.ts'
import { announceDecision, wakePolls } from './wake-polls.ts'
import { withPartition } from './with-partition.ts'

/** A code that a user of another account has claimed. */
export type ClaimedElsewhere = DeviceCodeKey & {
  readonly applicationId: string
  readonly requestedFrom: string | null
  /** The cell that has it. */
  readonly holder: number
}

export type HandOverAnswer =
  | { readonly answer: 'handed'; readonly row: CodeRow; readonly handovers: number }
  /** The issuer has it, and asked for itself. */
  | { readonly answer: 'here' }
  | { readonly answer: 'claimed'; readonly code: ClaimedElsewhere }
  /** Decided, closed, expired or used. */
  | { readonly answer: 'known' | 'unknown' }

/** A code is rarely handed over while its holder is asked for it. */
const TRIES = 5

/** Digests of a user code. `applicationId`: null if it may be the code of any application. */
export type TypedCode = { readonly digests: readonly string[]; readonly applicationId: string | null }

/** By user code; or by key, for a poll of an expired code that its holder never received. */
export type WhichCode = TypedCode | { readonly key: DeviceCodeKey }

/** In the issuer's cell. `to`: the cell that asks; null: the issuer itself. */
export async function handOverCode(
  context: Context,
  cells: Cells,
  which: WhichCode,
  to: number | null,
): Promise<HandOverAnswer> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const step = await context.db.transaction((tx) => decideHandOver(tx, cells, which, to))
    if ('found' in step) {
      const { code } = step.found
      const key = { id: code.id, expiresAt: code.expiresAt }
      const row = await readCodeRow(context.db, key)
      const returned = await cells.ask<GiveBackAnswer>(step.holder, 'give-back', {
        row,
        handovers: code.handovers,
        issuer: cells.own,
      })
      if (returned.answer === 'claimed') return claimedBy(code, step.holder)
      if (returned.answer === 'not_open') return { answer: 'known' }
      if (returned.answer === 'changed') continue
      const moved = await context.db.transaction(async (tx) => {
        const locked = await lockDeviceCode(tx, key)
        const next = locked && handOn(locked.code, code, to)
        if (next) await savePlace(tx, key, next)
        return next
      })
      if (!moved) continue
      await wakePolls(context, code.id)
      return to === null || row === null ? { answer: 'here' } : { answer: 'handed', row, handovers: moved.handovers }
    }
    if (step.answer === 'handed') await wakePolls(context, step.row.id)
    return step
  }
  throw new Unavailable('the code is being handed over')
}

type HeldElsewhere = { readonly found: Found; readonly holder: number }

async function decideHandOver(
  tx: Transaction,
  cells: Cells,
  which: WhichCode,
  to: number | null,
): Promise<HandOverAnswer | HeldElsewhere> {
  const digests = 'digests' in which ? which.digests.map((hex) => Buffer.from(hex, 'hex')) : null
  const found = 'key' in which ? await lockDeviceCode(tx, which.key) : await lockIssuedCode(tx, digests ?? [])
  // Queried in every case, for equal timing.
  const known = digests && (await findByUserCode(tx, digests))
  const wanted = 'key' in which ? null : which.applicationId
  if (!found || (wanted ?? found.code.applicationId) !== found.code.applicationId)
    return { answer: known ? 'known' : 'unknown' }
  const step = handOver(found.code, to, found.now)
  switch (step.answer) {
    case 'elsewhere':
      return { found, holder: step.holder }
    case 'claimed':
      return claimedBy(found.code, cells.own)
    case 'not_open':
      return { answer: 'known' }
    case 'here':
      return { answer: 'here' }
    case 'handed': {
      await savePlace(tx, found.code, step.next)
      const row = await readCodeRow(tx, found.code)
      if (!row) throw new Error('a locked device code has no row')
      return { answer: 'handed', row, handovers: step.next.handovers }
    }
  }
}

function claimedBy({ id, expiresAt, applicationId, requestedFrom }: Found['code'], holder: number): HandOverAnswer {
  return { answer: 'claimed', code: { id, expiresAt, applicationId, requestedFrom, holder } }
}

export type GiveBackAnswer = { readonly answer: 'returned' | 'claimed' | 'not_open' | 'changed' }

/** In the cell that has the code, or was to have it. `issuer` asks, and knows of `handovers`. */
export async function giveBackCode(
  context: Context,
  issuer: number,
  row: CodeRow,
  handovers: number,
): Promise<GiveBackAnswer> {
  const key = keyOf(row)
  return withPartition(context.db, context.config.deviceCodeLifetimeMs, () =>
    context.db.transaction(async (tx) => {
      const locked = await lockDeviceCode(tx, key)
      const step = giveBack(locked?.code ?? null, issuer, handovers, locked?.now ?? 0)
      if (step.answer !== 'returned') return { answer: step.answer }
      if (locked) await savePlace(tx, key, step.next)
      else await receiveCodeRow(tx, row, issuer, step.next)
      // `receiveCodeRow` does not change a newer row that arrived meanwhile: read which one is stored.
      const kept = locked ?? (await lockDeviceCode(tx, key))
      return { answer: locked || kept?.code.handedTo === issuer ? 'returned' : 'changed' }
    }),
  )
}

/** In the cell of the account: keeps the row that the issuer handed over. Nothing if a later hand-over is known. */
export async function receiveCode(context: Context, issuer: number, row: CodeRow, handovers: number): Promise<void> {
  await withPartition(context.db, context.config.deviceCodeLifetimeMs, () =>
    context.db.transaction((tx) => receiveCodeRow(tx, row, issuer, { handedTo: null, handovers })),
  )
}

/** In the cell that has the code: a user of an account in another cell entered it. False: nobody has claimed it. */
export async function closeClaimedCode(context: Context, key: DeviceCodeKey): Promise<boolean> {
  const closed = await context.db.transaction(async (tx) => {
    const locked = await lockDeviceCode(tx, key)
    if (!locked || locked.code.handedTo !== null) return null
    const { code, now } = locked
    if (isClosed(code)) return code
    const claimant = await readUser(tx, code.claimedBy ?? '')
    const step = code.claimedBy === null ? null : claim(code, SOMEBODY_ELSEWHERE, now)
    if (step?.answer !== 'closed') return null
    await saveDeviceCode(tx, step.next)
    if (claimant) {
      const whose = { accountId: claimant.accountId, userId: claimant.id }
      const about = { applicationId: code.applicationId, deviceCodeId: code.id }
      await recordEvent(tx, { kind: 'code.entered_elsewhere', actor: byService('code-entry'), ...whose, ...about })
    }
    return code
  })
  if (closed) await announceDecision(context, key.id, closed.issuedBy)
  return closed !== null
}

/** Nobody in this cell has this id. */
const SOMEBODY_ELSEWHERE = { userId: '', person: null, relation: 'stranger' } as const

function keyOf(row: CodeRow): DeviceCodeKey {
  return { id: row.id, expiresAt: Date.parse(row.expires_at) }
}
