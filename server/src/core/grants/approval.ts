/** Approval rule: what a user must do before allowing a request. One rule for the page and for the granting transaction. */
import { type Unvetted, type VettingProblem, vettingProblem } from '../applications/vetting.ts'
import type { Variant } from '../device/code.ts'
import type { Origin } from '../device/origin.ts'

export type ApprovalFacts = {
  readonly variant: Variant
  /** A scope to be granted is marked as dangerous. */
  readonly dangerous: boolean
  /** Many users claimed codes that this application requested from the same network, within minutes. */
  readonly crowded: boolean
  readonly origin: Origin
  /** The publisher of the application is unverified. */
  readonly unverified: boolean
  /** Null: an operator has looked at the application, or there was no need to. */
  readonly unvetted: Unvetted | null
  readonly authenticatedAt: number
  readonly now: number
  /** How long after signing in a user may allow sensitive requests. */
  readonly freshMs: number
}

/**
 * `retype`: allowed only with the last group of the user code typed again. A vetting problem: not allowed, whatever the
 * user does.
 */
export type Approval = 'ok' | 'reauthenticate' | 'retype' | VettingProblem

export function approvalOf(facts: ApprovalFacts): Approval {
  const { variant, dangerous, crowded, origin, unverified, unvetted, authenticatedAt, now, freshMs } = facts
  const problem = vettingProblem(unvetted, dangerous)
  if (problem) return problem
  const sensitive = crowded || dangerous || variant === 'access_key'
  if (sensitive && now - authenticatedAt > freshMs) return 'reauthenticate'
  return crowded || isSuspect(origin, unverified) ? 'retype' : 'ok'
}

/** An unknown origin is suspect only without a verified publisher: otherwise it would alarm too many honest users. */
function isSuspect(origin: Origin, unverified: boolean): boolean {
  return origin === 'unknown' ? unverified : origin !== 'same'
}
