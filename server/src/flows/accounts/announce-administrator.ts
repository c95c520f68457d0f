/** Tells the administrators of an account of another one, unless somebody made that one on a page. Operators are told otherwise. */
import { type Actor, byHostService } from '../../core/audit/actor.ts'
import type { MadeBy } from '../../core/mail.ts'
import { readAccount } from '../../store/accounts/accounts.ts'
import type { Member } from '../../store/accounts/users.ts'
import { countRecentMails } from '../../store/mails.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { notifyAdministrators } from './notify-administrators.ts'

/** Mails per account and hour, after which none of further administrators is sent: the first ones have arrived. */
const MAX_MAILS = 200

export async function announceAdministrator(
  tx: Transaction,
  actor: Actor,
  { id, accountId }: Pick<Member, 'id' | 'accountId'>,
): Promise<void> {
  const by = madeBy(actor)
  if (by === null || (await countRecentMails(tx, accountId, 'administrator_made')) >= MAX_MAILS) return
  if ((await readAccount(tx, accountId))?.hasOperators) return
  await notifyAdministrators(tx, accountId, { kind: 'administrator_made', detail: { user: id, by } }, id)
}

/** Null: on a page. */
function madeBy({ kind, id, via }: Actor): MadeBy | null {
  if (kind === 'management_key') return 'program'
  if (kind === 'service') return id === byHostService.id ? 'host_service' : 'identity_provider'
  return via === 'cli' ? 'command_line' : null
}
