/** Policy of an account about sign-in and applications; administrators change it. */
import type { AccountPolicy } from '../../core/accounts/policy.ts'
import { byUser } from '../../core/audit/actor.ts'
import { readAccount, savePolicy as storePolicy } from '../../store/accounts/accounts.ts'
import {
  type ListedApplication,
  listApplications,
  listRelatedApplications,
} from '../../store/applications/applications.ts'
import { recordEvent } from '../../store/audit/events.ts'
import type { Context } from '../context.ts'
import { accountHas } from '../sign-in/origin.ts'
import { asAdministrator, type Forbidden } from './administrator.ts'

export type ShownPolicy = {
  readonly policy: AccountPolicy
  /** Those that the policy names, then some of the account's own and of those its users connected lately. */
  readonly applications: readonly ListedApplication[]
}

/** Null when there is no such account. */
export async function readPolicy(
  context: Pick<Context, 'db' | 'config'>,
  accountId: string,
): Promise<ShownPolicy | null> {
  const account = await readAccount(context.db, accountId)
  if (!account) return null
  const policy = inForce(context, account, account.policy)
  return { policy, applications: await listRelatedApplications(context.db, accountId, policy.onlyApplications ?? []) }
}

/** The operators' account always requires a second factor. Where none applies, what was chosen before stays. */
function inForce(
  context: Pick<Context, 'config'>,
  account: { readonly slug: string; readonly policy: AccountPolicy },
  policy: AccountPolicy,
): AccountPolicy {
  if (!accountHas(context, account, 'second_factor')) return { ...policy, secondFactor: account.policy.secondFactor }
  return account.slug === context.config.operatorAccount ? { ...policy, secondFactor: 'required' } : policy
}

export type PolicyResult =
  | { readonly outcome: 'saved' }
  /** `added` is not the id of an application; nothing was saved. */
  | { readonly outcome: 'unknown' }
  | Forbidden

/** Existing grants stay: the policy only restricts new ones. Grants are removed in the list of applications. */
export function savePolicy(
  context: Pick<Context, 'db' | 'config'>,
  by: string,
  wanted: AccountPolicy,
  added: string | null = null,
): Promise<PolicyResult> {
  return asAdministrator(context, by, async (tx, account): Promise<PolicyResult> => {
    const asked = wanted.onlyApplications && [...wanted.onlyApplications, ...(added === null ? [] : [added])]
    // Drop ids of deleted or unknown applications.
    const onlyApplications = asked && (await listApplications(tx, asked)).map(({ id }) => id)
    if (added !== null && onlyApplications && !onlyApplications.includes(added)) return { outcome: 'unknown' }
    const policy = inForce(context, account, { ...wanted, onlyApplications })
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

/** Changed rules by name, with old and new value. */
function changes(before: AccountPolicy, after: AccountPolicy) {
  const sorted = (policy: AccountPolicy) => ({
    ...policy,
    onlyApplications: policy.onlyApplications && [...policy.onlyApplications].sort(),
  })
  const [was, is] = [sorted(before), sorted(after)]
  const names = ['deviceFlow', 'unverifiedPublishers', 'onlyApplications', 'secondFactor'] as const
  return names
    .filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name]))
    .map((name) => [name, { from: was[name], to: is[name] }] as const)
}
