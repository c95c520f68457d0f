/**
 * Gets a code that was typed here from the cell that issued it, so that it can be claimed here. In an undivided
 * installation nothing happens.
 */
import { issuerOf } from '../../core/cells/code-prefix.ts'
import { type Actors, mayAsk } from '../../core/grants/granting.ts'
import { digestUserCode } from '../../secrets/user-code.ts'
import type { Account } from '../../store/accounts/accounts.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { hasMoved } from '../../store/cells/moves.ts'
import { Unavailable } from '../../store/postgres/postgres.ts'
import type { Cells } from '../cells/cells.ts'
import type { Context } from '../context.ts'
import { type ClaimedElsewhere, type HandOverAnswer, handOverCode, receiveCode, type TypedCode } from './hand-over.ts'

export type FetchedCode =
  /** It is in this cell, or not open: the claim finds out. */
  | { readonly answer: 'here' | 'known' | 'unknown' }
  /** A user of another account had claimed it in another cell, and it was closed. */
  | { readonly answer: 'closed'; readonly code: ClaimedElsewhere }

type CodeAccount = Pick<Account, 'id' | 'policy'>

/** Bounds the retries while users in several cells enter one code. */
const MAX_ATTEMPTS = 5

/**
 * Fetches a code from the cell that issued it, then claims it. `claim` returns null if the issuer took the code back in
 * between, for a user in another cell; the next fetch says who claimed it. Throws Unavailable if a cell does not answer,
 * because the state of the code is then unknown. `account` is the user's, or null if there is no such user.
 */
export async function fetchAndClaim<Claimed>(
  context: Context,
  account: CodeAccount | null,
  userCode: string,
  by: Actors,
  claim: (fetched: FetchedCode | null) => Promise<Claimed | null>,
): Promise<Claimed> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const claimed = await claim(await fetchCode(context, account, userCode, by))
    if (claimed !== null) return claimed
  }
  throw new Unavailable('the code is being handed over')
}

async function fetchCode(
  context: Context,
  account: CodeAccount | null,
  userCode: string,
  by: Actors,
): Promise<FetchedCode | null> {
  const { cells, applications, config } = context
  if (!cells || !account) return null
  const issuer = issuerOf(cells.map().prefixes, userCode, applications.now(), config.deviceCodeLifetimeMs)
  if (issuer === null) return null
  const digests = digestUserCode(config.keys, userCode).map((digest) => digest.toString('hex'))
  // In test mode an application gets its own codes only.
  const which = { digests, applicationId: by.kind === 'test' ? by.applicationId : null }
  const answer = await askIssuer(context, cells, issuer, which)
  switch (answer.answer) {
    case 'handed':
      await receiveCode(context, issuer, answer.row, answer.handovers)
      return { answer: 'here' }
    case 'claimed':
      return closeElsewhere(context, cells, account, answer.code, by)
    default:
      return { answer: answer.answer }
  }
}

function askIssuer(context: Context, cells: Cells, issuer: number, which: TypedCode): Promise<HandOverAnswer> {
  if (issuer === cells.own) return handOverCode(context, cells, which, null)
  return cells.ask<HandOverAnswer>(issuer, 'hand-over', { ...which, to: cells.own })
}

/** As for a code that was claimed in this cell: an account that bars the application does not close its codes. */
async function closeElsewhere(
  { db, applications }: Context,
  cells: Cells,
  account: CodeAccount,
  code: ClaimedElsewhere,
  by: Actors,
): Promise<FetchedCode> {
  const application = await findApplication(db, code.applicationId)
  const asking = { flow: 'device', account, user: { disabled: false }, by, now: applications.now() } as const
  if (!application || mayAsk({ ...asking, application }) !== 'ok') return { answer: 'known' }
  // The code went with the account, and this user may have claimed it.
  if (await hasMoved(db, account.id)) throw new Unavailable('the account moves to another cell')
  const { closed } = await cells.ask<{ closed: boolean }>(code.holder, 'close', {
    key: { id: code.id, expiresAt: code.expiresAt },
  })
  return closed ? { answer: 'closed', code } : { answer: 'known' }
}
