/**
 * Hand-over of a dialog to the cell of the account that the user chose: it is opened in any cell, and decided where the
 * account is. Once, and not back: a user who then chooses an account in a third cell starts again.
 * docs/decisions/0060-cells-on-plain-postgresql.md.
 */
import { type DialogRow, markHanded, receiveDialogRow } from '../../store/dialog/hand-over.ts'
import type { Context } from '../context.ts'

/**
 * False: it was decided, or handed to another cell. Repeatable: if the answer is lost, the row is handed over again, and
 * known there. Throws Unavailable if the cell does not answer.
 */
export async function handOverDialog({ db, cells }: Context, dialogId: string, slug: string): Promise<boolean> {
  const cell = cells?.cellOfAccount(slug)
  if (!cells || !cell || cell.id === cells.own) return true
  const row = await markHanded(db, dialogId, cell.id)
  if (row === null) return false
  await cells.ask(cell.id, 'dialog', { row })
  return true
}

/** In the cell of the account. */
export function receiveDialog({ db }: Pick<Context, 'db'>, row: DialogRow): Promise<void> {
  return receiveDialogRow(db, row)
}
