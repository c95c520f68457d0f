/**
 * Gets a code that was typed here from the cell that issued it, so that it can be claimed here. In an undivided
 * installation nothing happens.
 */
import { type AccountPolicy, mayConnectByCode } from '../../core/accounts/policy.ts'
import { runningTestMode } from '../../core/applications/test-mode.ts'
import type { Actor } from '../../core/audit/actor.ts'
import { issuerOf } from '../../core/cells/code-prefix.ts'
import { digestUserCode } from '../../secrets/user-code.ts'
import { findApplication } from '../../store/applications/applications.ts'
import type { Cells } from '../cells/cells.ts'
import type { Context } from '../context.ts'
import { type ClaimedElsewhere, type HandOverAnswer, handOverCode, receiveCode } from './hand-over.ts'

export type FetchedCode =
  /** It is in this cell, or not open: the claim finds out. */
  | { readonly answer: 'here' | 'known' | 'unknown' }
  /** A user of another account had claimed it in another cell, and it was closed. */
  | { readonly answer: 'closed'; readonly code: ClaimedElsewhere }

/** Throws Unavailable if a cell that is needed does not answer: nothing is known about the code then. */
export async function fetchCode(
  context: Context,
  policy: AccountPolicy,
  userCode: string,
  actor: Actor,
): Promise<FetchedCode | null> {
  const { cells, applications, config } = context
  if (!cells) return null
  const issuer = issuerOf(cells.map().prefixes, userCode, applications.now(), config.deviceCodeLifetimeMs)
  if (issuer === null) return null
  const digests = digestUserCode(config.keys, userCode).map((digest) => digest.toString('hex'))
  const answer = await askIssuer(context, cells, issuer, digests)
  switch (answer.answer) {
    case 'handed':
      await receiveCode(context, issuer, answer.row, answer.handovers)
      return { answer: 'here' }
    case 'claimed':
      return closeElsewhere(context, cells, policy, answer.code, actor)
    default:
      return { answer: answer.answer }
  }
}

function askIssuer(
  context: Context,
  cells: Cells,
  issuer: number,
  digests: readonly string[],
): Promise<HandOverAnswer> {
  if (issuer === cells.own) return handOverCode(context, cells, { digests }, null)
  return cells.ask<HandOverAnswer>(issuer, 'hand-over', { digests, to: cells.own })
}

/** As for a code that was claimed in this cell: an account that bars the application does not close its codes. */
async function closeElsewhere(
  { db, applications }: Context,
  cells: Cells,
  policy: AccountPolicy,
  code: ClaimedElsewhere,
  actor: Actor,
): Promise<FetchedCode> {
  const application = await findApplication(db, code.applicationId)
  if (!application || !mayConnectByCode(policy, application)) return { answer: 'known' }
  if (actor.kind === 'user' && runningTestMode(application, applications.now())) return { answer: 'known' }
  const { closed } = await cells.ask<{ closed: boolean }>(code.holder, 'close', {
    key: { id: code.id, expiresAt: code.expiresAt },
  })
  return closed ? { answer: 'closed', code } : { answer: 'known' }
}
