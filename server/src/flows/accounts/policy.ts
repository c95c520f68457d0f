/** An account's own rules about applications: read, and changed by its administrators. */
import type { AccountPolicy } from '../../core/accounts/policy.ts'
import { byUser } from '../../core/audit/actor.ts'
import { readAccount, savePolicy as storePolicy } from '../../store/accounts/accounts.ts'
import {
  type ListedApplication,
  listApplications,
  listApplicationsAround,
} from '../../store/applications/applications.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Context } from '../context.ts'
import { asAdministrator, type Forbidden } from './administrator.ts'

export type ShownPolicy = {
  readonly policy: AccountPolicy
  /** What the account has to do with: all that there are may be more than anybody wants to read. */
  readonly applications: readonly ListedApplication[]
}

/** Null when there is no such account. */
export async function readPolicy(context: Pick<Context, 'db'>, accountId: string): Promise<ShownPolicy | null> {
  const account = await readAccount(context.db, accountId)
  if (!account) return null
  const { policy } = account
  return { policy, applications: await listApplicationsAround(context.db, accountId, policy.onlyApplications ?? []) }
}

export type PolicyResult =
  | { readonly outcome: 'saved' }
  /** `added` is no application. Nothing was saved. */
  | { readonly outcome: 'unknown' }
  | Forbidden

/** What was connected before stays connected: a policy says what may come, removing is for the list of applications. */
export function savePolicy(
  context: Pick<Context, 'db'>,
  by: string,
  wanted: AccountPolicy,
  added: string | null = null,
): Promise<PolicyResult> {
  return asAdministrator(context, by, async (tx, account): Promise<PolicyResult> => {
    const asked = wanted.onlyApplications && [...wanted.onlyApplications, ...(added === null ? [] : [added])]
    // Ids of applications that are gone, or never were, would only make the list longer.
    const onlyApplications = asked && (await listApplications(tx, asked)).map(({ id }) => id)
    if (added !== null && onlyApplications && !onlyApplications.includes(added)) return { outcome: 'unknown' }
    const policy: AccountPolicy = { ...wanted, onlyApplications }
    const changed = changes(account.policy, policy)
    if (changed.length > 0) {
      await storePolicy(tx, account.id, policy)
      await recordEvent(tx, {
        kind: 'account.policy_changed',
        actor: byUser(by),
        accountId: account.id,
        detail: { changed: Object.fromEntries(changed) },
      })
    }
    return { outcome: 'saved' }
  })
}

/** By name, what each rule that changed was and is. */
function changes(before: AccountPolicy, after: AccountPolicy) {
  const sorted = (policy: AccountPolicy) => ({
    ...policy,
    onlyApplications: policy.onlyApplications && [...policy.onlyApplications].sort(),
  })
  const [was, is] = [sorted(before), sorted(after)]
  const names = ['deviceFlow', 'unverifiedPublishers', 'onlyApplications'] as const
  return names
    .filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]))
    .map((name) => [name, { from: was[name], to: is[name] }] as const)
}
