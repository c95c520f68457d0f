/** Proposal of a change that makes, enables or resets an operator. flows/operator/decide-change.ts confirms it. */
import { byOperator } from '../../core/audit/actor.ts'
import type { AuditKind } from '../../core/audit/kind.ts'
import { CONFIRMABLE_MS } from '../../core/operator/operator-change.ts'
import { createId } from '../../secrets/random.ts'
import { listAdministrators, type User } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { insertOperatorChange, type OperatorChange } from '../../store/operator/operator-changes.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { notifyAdministrators } from '../accounts/notify-administrators.ts'
import { expireChangesOf } from './expire-changes.ts'
import { problemOfSecond } from './second-operator.ts'

export type ProposalResult = {
  /**
   * `proposed`: nothing has changed yet. `already_proposed`: a change of the same user is pending. `only_operator`: no
   * other operator could confirm; the command line does it alone.
   */
  readonly outcome: 'proposed' | 'already_proposed' | 'only_operator'
}

export type OperatorChangeWish = Pick<OperatorChange, 'change' | 'userId' | 'email' | 'roleIds' | 'language'>

type Proposer = Pick<User, 'id' | 'accountId'> & { readonly email: string | null }

/** Requires `lockAccount`. */
export async function proposeOperatorChange(
  tx: Transaction,
  proposer: Proposer,
  wish: OperatorChangeWish,
): Promise<ProposalResult> {
  const { accountId } = proposer
  if (!(await isConfirmable(tx, proposer, wish.userId))) return { outcome: 'only_operator' }
  await expireChangesOf(tx, accountId)
  const change = { ...wish, id: createId('opc'), accountId, by: proposer.id }
  if (!(await insertOperatorChange(tx, change, CONFIRMABLE_MS))) return { outcome: 'already_proposed' }
  await recordOperatorChange(tx, 'operator.proposed', proposer, change)
  const { change: kind, email } = change
  const detail = { what: 'proposed', change: kind, email, by: proposer.email, confirmedBy: null } as const
  await notifyAdministrators(tx, accountId, { kind: 'operator_change', detail })
  return { outcome: 'proposed' }
}

/** An operator whose own change is proposed cannot confirm it. */
async function isConfirmable(tx: Transaction, proposer: Proposer, changedId: string | null): Promise<boolean> {
  const operators = (await listAdministrators(tx, proposer.accountId)).map(({ id }) => id)
  for (const id of operators) {
    if (id === changedId) continue
    if ((await problemOfSecond(tx, { by: proposer.id, operators }, id)) === null) return true
  }
  return false
}

export function recordOperatorChange(
  tx: Transaction,
  kind: Extract<AuditKind, `operator.${string}`>,
  operator: Pick<User, 'id'>,
  { id, accountId, change, userId }: Pick<OperatorChange, 'id' | 'accountId' | 'change' | 'userId'>,
): Promise<void> {
  const about = { actor: byOperator(operator.id), accountId, ...(userId === null ? {} : { userId }) }
  return recordEvent(tx, { kind, ...about, detail: { change, operatorChange: id } })
}
