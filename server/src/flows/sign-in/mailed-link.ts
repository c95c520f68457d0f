/** Creation of the one-time links that flows/sign-in/links.ts accepts. */
import { randomUUID } from 'node:crypto'
import { ADDRESS_CHANGE_MS } from '../../core/accounts/address-change.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import { insertLink, type LinkKind } from '../../store/sign-in/links.ts'

const MINUTE = 60 * 1000
const HOUR = 60 * MINUTE

/** `reset`: a recovery that an administrator began. */
type LinkPurpose = LinkKind | 'reset'

/**
 * An invitation may wait over a weekend, and a user whose sign-in was reset may be away for a while. A user who recovers
 * or signs in is waiting for the mail (ASVS 5, 6.5.5: 10 minutes at most).
 */
const LIFETIMES: Readonly<Record<LinkPurpose, number>> = {
  setup: 7 * 24 * HOUR,
  invitation: 7 * 24 * HOUR,
  recovery: 10 * MINUTE,
  sign_in: 10 * MINUTE,
  reset: HOUR,
  remove_grant: 30 * 24 * HOUR,
  address: ADDRESS_CHANGE_MS,
}

export type Recipient = { readonly id: string; readonly accountId: string }

export async function createLink(
  tx: Transaction,
  purpose: LinkPurpose,
  user: Recipient,
  grantId: string | null = null,
): Promise<string> {
  const id = randomUUID()
  const { accountId, id: userId } = user
  const kind = purpose === 'reset' ? 'recovery' : purpose
  await insertLink(tx, { id, kind, accountId, userId, grantId, lifetimeMs: LIFETIMES[purpose] })
  return id
}
