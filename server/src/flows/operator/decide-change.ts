/** Pending operator changes: another operator confirms or declines them, or the proposer withdraws them. */
import { byOperator } from '../../core/audit/actor.ts'
import type { OperatorChangeLine } from '../../core/operator/operator-change.ts'
import type { ConfirmationProblem } from '../../core/operator/second-operator.ts'
import { findAccount } from '../../store/accounts/accounts.ts'
import {
  findPendingChange,
  listPendingChanges,
  markChangeDecided,
  type OperatorChange,
} from '../../store/operator/operator-changes.ts'
import { readOperator, readOperators } from '../../store/operator/operators.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Forbidden } from '../accounts/administrator.ts'
import {
  chooseRoles,
  enableUser,
  type Given,
  type Giver,
  giveRoles,
  inviteUser,
  lockMember,
  resetAndMail,
  type TooMany,
} from '../accounts/give-access.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import type { Context } from '../context.ts'
import { asOperator } from './operator.ts'
import { recordOperatorChange } from './propose-change.ts'
import { problemAmong, problemOfSecond } from './second-operator.ts'

/** Pending changes, as this operator sees them; oldest first. */
export async function listOperatorChanges(
  { db, config }: Pick<Context, 'db' | 'config'>,
  viewerId: string,
): Promise<readonly OperatorChangeLine[]> {
  const account = config.operatorAccount === null ? null : await findAccount(db, config.operatorAccount)
  const changes = account ? await listPendingChanges(db, account.id) : []
  const known = await readOperators(db, [viewerId, ...changes.map(({ by }) => by)])
  return changes.map((pending) => {
    const { id, change, email, proposedAt, expiresAt } = pending
    const by = known.get(pending.by)?.email ?? ''
    const problem = problemAmong(known, pending, viewerId)
    return { id, change, email, by, own: pending.by === viewerId, proposedAt, expiresAt, problem }
  })
}

export type ChangeConfirmation =
  | { readonly outcome: 'confirmed' | 'not_found' }
  | { readonly outcome: 'not_eligible'; readonly problem: ConfirmationProblem }
  /** The user was changed meanwhile, so that the change no longer applies. */
  | { readonly outcome: 'stale' }
  | TooMany
  | Forbidden

export function confirmOperatorChange(
  context: Pick<Context, 'db' | 'config'>,
  by: string,
  changeId: string,
): Promise<ChangeConfirmation> {
  return asOperator(context, by, async (tx, operator, account): Promise<ChangeConfirmation> => {
    const change = await findPendingChange(tx, account.id, changeId)
    const proposer = change && (await readOperator(tx, change.by))
    if (!proposer) return { outcome: 'not_found' }
    const problem = await problemOfSecond(tx, change, operator.id)
    if (problem) return { outcome: 'not_eligible', problem }
    const given = await apply(
      tx,
      { actor: byOperator(operator.id), by: proposer, givers: [proposer.id, operator.id] },
      change,
    )
    if (given.outcome !== 'given') return given
    await markChangeDecided(tx, change.id, 'confirmed', operator.id)
    await recordOperatorChange(tx, 'operator.confirmed', operator, { ...change, userId: given.userId })
    const { change: kind, email } = change
    const detail = { what: 'confirmed', change: kind, email, by: proposer.email, confirmedBy: operator.email } as const
    // A new operator gets an invitation.
    const invited = kind === 'create' ? given.userId : null
    await notifyAdministrators(tx, account.id, { kind: 'operator_change', detail }, invited)
    return { outcome: 'confirmed' }
  })
}

const STALE = { outcome: 'stale' } as const

async function apply(
  tx: Transaction,
  giver: Giver,
  { accountId, change, userId, email, roleIds, language }: OperatorChange,
): Promise<Given | TooMany | typeof STALE> {
  const roles = roleIds === null ? null : await chooseRoles(tx, accountId, roleIds)
  // A role was removed, or would no longer make an operator.
  if (roles !== null && ('outcome' in roles || !roles.administrator)) return STALE
  if (userId === null) {
    const invited = await inviteUser(tx, giver, { accountId, email, roleIds: roles?.roleIds ?? [], language })
    return invited.outcome === 'exists' ? STALE : invited
  }
  const member = await lockMember(tx, accountId, userId)
  if (!member) return STALE
  if (change === 'promote') return roles && !member.administrator ? giveRoles(tx, giver, member, roles) : STALE
  if (!member.administrator || member.disabled !== (change === 'enable')) return STALE
  return change === 'enable' ? enableUser(tx, giver, member, language) : resetAndMail(tx, giver, member, language)
}

export type ChangeRejection = { readonly outcome: 'declined' | 'withdrawn' | 'not_found' } | Forbidden

/** Any operator declines; for the proposer it is a withdrawal. */
export function rejectOperatorChange(
  context: Pick<Context, 'db' | 'config'>,
  by: string,
  changeId: string,
): Promise<ChangeRejection> {
  return asOperator(context, by, async (tx, operator, account): Promise<ChangeRejection> => {
    const change = await findPendingChange(tx, account.id, changeId)
    if (!change) return { outcome: 'not_found' }
    const outcome = change.by === operator.id ? 'withdrawn' : 'declined'
    await markChangeDecided(tx, change.id, outcome, operator.id)
    await recordOperatorChange(tx, `operator.${outcome}`, operator, change)
    return { outcome }
  })
}
