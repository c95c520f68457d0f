/**
 * The approval rule (core/grants/approval.ts) for a dialog. A dialog begins in the user's own browser, so the rule does
 * not compare where the request and the user come from.
 */
import type { Unvetted } from '../../core/applications/vetting.ts'
import { type Approval, approvalOf } from '../../core/grants/approval.ts'
import type { Scope } from '../../store/applications/scopes.ts'
import type { Context } from '../context.ts'

/** `scopes`: those to be granted. */
export function dialogApproval(
  { config }: Context,
  scopes: readonly Scope[],
  unvetted: Unvetted | null,
  authenticatedAt: number,
  now: number,
): Approval {
  const dangerous = scopes.some((scope) => scope.dangerous)
  const facts = { variant: 'token_set', dangerous, crowded: false, origin: 'same', unverified: false } as const
  return approvalOf({ ...facts, unvetted, authenticatedAt, now, freshMs: config.freshMs })
}
