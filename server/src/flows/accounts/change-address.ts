/** A change of e-mail address that a management key asks for: pending until the old mailbox or an administrator decides. */
import { hash } from 'node:crypto'
import { ADDRESS_CHANGE_MS, byDomain, type DomainChange } from '../../core/accounts/address-change.ts'
import { changedMembers } from '../../core/accounts/changed-members.ts'
import { type Actor, byMailLink, byUser } from '../../core/audit/actor.ts'
import { lockAccount } from '../../store/accounts/accounts.ts'
import {
  deleteAddressChange,
  listAddressChanges,
  type PendingAddressChange,
  saveAddressChange,
} from '../../store/accounts/address-changes.ts'
import { type Member, saveHostProfile } from '../../store/accounts/users.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { insertMail, lockRecentMails, untilNextMail } from '../../store/mails.ts'
import type { Queryable, Transaction } from '../../store/postgres/postgres.ts'
import { lockLink, spendLinks, spendPasswordLinks } from '../../store/sign-in/links.ts'
import { deleteSessions, type HostAccount } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'
import { readLink } from '../sign-in/links.ts'
import { createLink } from '../sign-in/mailed-link.ts'
import { asAdministrator, type Forbidden } from './administrator.ts'
import { LINKS_PER_PERSON, lockMember, type TooMany } from './give-access.ts'
import { notifyAdministrators } from './notify-administrators.ts'

/** Tells the old mailbox, with a link that decides, and the administrators. Requires `lockMember`. */
export async function requestAddress(
  tx: Transaction,
  actor: Actor,
  { id: userId, accountId, language }: Member,
  email: string,
): Promise<{ readonly outcome: 'pending' } | TooMany> {
  if ((await lockRecentMails(tx, userId, ['address_change'])) >= LINKS_PER_PERSON) return { outcome: 'too_many' }
  await spendLinks(tx, userId, ['address'])
  await saveAddressChange(tx, { userId, accountId, email, requestedBy: actor.id, lifetimeMs: ADDRESS_CHANGE_MS })
  await recordEvent(tx, { kind: 'user.address_requested', actor, accountId, userId })
  const linkId = await createLink(tx, 'address', { id: userId, accountId })
  await insertMail(tx, {
    kind: 'address_change',
    ...{ accountId, userId, linkId, language: language ?? 'en', detail: {} },
  })
  const afterMs = await untilNextMail(tx, accountId, 'address_changes')
  if (afterMs !== null)
    await notifyAdministrators(tx, accountId, { kind: 'address_changes', detail: {} }, null, afterMs)
  return { outcome: 'pending' }
}

/** The user keeps the address. Requires `lockMember`. */
export async function keepAddress(tx: Transaction, actor: Actor, { id: userId, accountId }: Member): Promise<void> {
  await deleteAddressChange(tx, userId)
  await spendLinks(tx, userId, ['address'])
  await recordEvent(tx, { kind: 'user.address_kept', actor, accountId, userId })
}

/** False when another user of the account has the address by now. Requires `lockAccount` and `lockMember`. */
async function changeAddress(tx: Transaction, actor: Actor, member: Member, email: string): Promise<boolean> {
  const { id: userId, accountId, name, permissions } = member
  if (!(await saveHostProfile(tx, userId, { email, name, permissions }))) return false
  await endOldAddress(tx, userId)
  const detail = { changed: changedMembers(member, { email }) }
  await recordEvent(tx, { kind: 'user.updated', actor, accountId, userId, detail })
  return true
}

/** Sessions end, and links that were mailed to the old address. */
export async function endOldAddress(tx: Transaction, userId: string): Promise<void> {
  await deleteAddressChange(tx, userId)
  await spendPasswordLinks(tx, userId)
  await spendLinks(tx, userId, ['address'])
  await deleteSessions(tx, userId)
}

export type AddressDecision = 'change' | 'keep'

export type DecidedByLink =
  | { readonly outcome: 'changed' | 'kept'; readonly email: string }
  /** Another user of the account has the address. */
  | { readonly outcome: 'exists' }
  | { readonly outcome: 'gone' }

/** Without sign-in: the link proves that the old mailbox is read, which no management key can claim. */
export async function decideAddressByLink(
  context: Context,
  account: HostAccount,
  text: string,
  decision: AddressDecision,
): Promise<DecidedByLink> {
  const known = await readLink(context, account, text)
  if (known?.kind !== 'address') return { outcome: 'gone' }
  return context.db.transaction(async (tx): Promise<DecidedByLink> => {
    await lockAccount(tx, account.id)
    const member = await lockMember(tx, account.id, known.userId)
    if (!member?.pendingEmail || !(await lockLink(tx, account.id, known.id))) return { outcome: 'gone' }
    const actor = byMailLink(member.id)
    if (decision === 'change') {
      const { pendingEmail: email } = member
      return (await changeAddress(tx, actor, member, email)) ? { outcome: 'changed', email } : { outcome: 'exists' }
    }
    await keepAddress(tx, actor, member)
    return { outcome: 'kept', email: member.email }
  })
}

/** On one page, and in one transaction. */
const MAX_LISTED = 200

/** `mark`: stands for these addresses of these users, so that nobody confirms others than were shown. */
type Marked<Change> = Change & { readonly mark: string }

export type ListedChange = Marked<PendingAddressChange>

export type ListedChanges = {
  readonly domains: readonly Marked<DomainChange<ListedChange>>[]
  readonly others: readonly ListedChange[]
  readonly more: boolean
}

export async function readAddressChanges(
  { db }: { readonly db: Queryable },
  accountId: string,
): Promise<ListedChanges> {
  const found = await listAddressChanges(db, accountId, MAX_LISTED + 1)
  const changes = found.slice(0, MAX_LISTED).map((change) => {
    return { ...change, mark: markOf([change.userId, change.email, change.pendingEmail]) }
  })
  const { domains, others } = byDomain(changes)
  const marked = domains.map((each) => ({ ...each, mark: markOf(each.changes.map(({ mark }) => mark)) }))
  return { domains: marked, others, more: found.length > MAX_LISTED }
}

function markOf(texts: readonly string[]): string {
  return hash('sha256', JSON.stringify(texts), 'base64url').slice(0, 22)
}

export type AddressesDecided =
  /** `taken`: addresses that other users of the account have by now, so that these changes stay pending. */
  | { readonly outcome: 'decided'; readonly taken: readonly string[] }
  /** Nothing is decided: one of them is not pending any more, or for another address. */
  | { readonly outcome: 'stale' }
  | Forbidden

/** By an administrator, for several users at once. `marks`: of changes, or of all that change a domain, as shown. */
export function decideAddresses(
  context: Pick<Context, 'db'>,
  by: string,
  marks: readonly string[],
  decision: AddressDecision,
): Promise<AddressesDecided> {
  return asAdministrator(context, by, async (tx, { id: accountId }): Promise<AddressesDecided> => {
    const { domains, others } = await readAddressChanges({ db: tx }, accountId)
    const known = new Map(
      [...domains, ...domains.flatMap(({ changes }) => changes), ...others].map((each) => [each.mark, each]),
    )
    if (marks.some((mark) => !known.has(mark))) return { outcome: 'stale' }
    const named = marks.flatMap((mark) => known.get(mark) ?? [])
    const chosen = new Set(named.flatMap((each) => ('changes' in each ? each.changes : each)))
    const taken: string[] = []
    for (const { userId, pendingEmail } of chosen) {
      const member = await lockMember(tx, accountId, userId)
      if (!member) continue
      if (decision === 'keep') await keepAddress(tx, byUser(by), member)
      else if (!(await changeAddress(tx, byUser(by), member, pendingEmail))) taken.push(pendingEmail)
    }
    return { outcome: 'decided', taken }
  })
}
