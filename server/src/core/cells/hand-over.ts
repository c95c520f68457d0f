/**
 * Hand-over of a device code to the cell of the account whose user entered it.
 *
 * Exactly one cell has the code: the one whose row has no `handedTo`. The issuer's row always names the cell it was
 * handed to last. Only a code that nobody has claimed and that is open moves, so what moves never changes: all copies
 * are equal, and a step that is repeated or cut off loses nothing. Each hand-over has a number; a row ignores those that
 * are not newer than the last it knows, so an answer that arrives late cannot make two cells have the code.
 */
import { type DeviceCode, isOpen } from '../device/code.ts'

/** Where a row's code is. */
export type Place = {
  /** Null: here. */
  readonly handedTo: number | null
  /** Number of the last hand-over that this row knows. */
  readonly handovers: number
}

export type HandOverStep =
  | { readonly answer: 'handed'; readonly next: Place }
  /** The issuer has it, and wants it itself. */
  | { readonly answer: 'here' }
  /** Another cell has it, which has to give it back first. */
  | { readonly answer: 'elsewhere'; readonly holder: number }
  /** A user of another account has claimed it here. */
  | { readonly answer: 'claimed' }
  | { readonly answer: 'not_open' }

/** In the issuer's cell. `to`: the cell of the account whose user entered the code; null: the issuer itself. */
export function handOver(code: DeviceCode & Place, to: number | null, now: number): HandOverStep {
  const { handedTo, handovers } = code
  if (handedTo !== null && handedTo !== to) return { answer: 'elsewhere', holder: handedTo }
  if (to === null) return { answer: 'here' }
  if (handedTo === null && !isOpen(code, now)) return { answer: 'not_open' }
  if (handedTo === null && code.claimedBy !== null) return { answer: 'claimed' }
  // Also if it was handed to this cell before: it may not have received the row.
  return { answer: 'handed', next: { handedTo: to, handovers: handovers + 1 } }
}

export type GiveBackStep =
  /** `next`: the row to keep. */
  | { readonly answer: 'returned'; readonly next: Place }
  | { readonly answer: 'claimed' }
  | { readonly answer: 'not_open' }
  /** It was handed here again meanwhile: the issuer has to look again. */
  | { readonly answer: 'changed' }

/**
 * In the cell that has the code, when the issuer asks for it. `handovers`: number of the last hand-over in the issuer's
 * row. `code`: null if the row has not arrived; it is then stored as given back, so that a late arrival is ignored.
 */
export function giveBack(
  code: (DeviceCode & Place) | null,
  issuer: number,
  handovers: number,
  now: number,
): GiveBackStep {
  const returned = { answer: 'returned', next: { handedTo: issuer, handovers } } as const
  if (code === null) return returned
  // It moved on with the account of the user who claimed it.
  if (code.handedTo !== null && code.handedTo !== issuer) return { answer: 'claimed' }
  if (code.handovers > handovers) return { answer: 'changed' }
  if (code.handedTo !== null) return returned
  if (!isOpen(code, now)) return { answer: 'not_open' }
  return code.claimedBy === null ? returned : { answer: 'claimed' }
}

/**
 * In the issuer's cell, when `holder` has given the code back. Null: it was handed over meanwhile, and has to be looked
 * at again. `asked`: the row as it was when the holder was asked.
 */
export function handOn(code: Place, asked: Place, to: number | null): Place | null {
  const unchanged = code.handedTo === asked.handedTo && code.handovers === asked.handovers
  return unchanged ? { handedTo: to, handovers: asked.handovers + 1 } : null
}
