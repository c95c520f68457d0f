/** Forecast of what a user would see on entering a code now, for an operator who helps them. Reads only. */
import { mayConnectByCode } from '../../core/accounts/policy.ts'
import { deviceFlowPolicy } from '../../core/applications/application.ts'
import { vettingProblem } from '../../core/applications/vetting.ts'
import { claim } from '../../core/device/code.ts'
import { resolveConsent } from '../../core/grants/scope.ts'
import { readAccount } from '../../store/accounts/accounts.ts'
import { readUser } from '../../store/accounts/users.ts'
import { findApplication } from '../../store/applications/applications.ts'
import { readScopes } from '../../store/applications/scopes.ts'
import { readUnvetted } from '../../store/applications/vettings.ts'
import type { Found } from '../../store/device/codes.ts'
import type { Queryable } from '../../store/postgres/postgres.ts'

export type ForeseenDecision = {
  /**
   * `accepted`: the user gets the consent page, or has it already. `taken`: another user of the account has claimed
   * the code. `closes`: the code was entered in another account, and entering it here would close it. `barred`: the
   * account's rules forbid it, or the user is disabled.
   */
  readonly entry: 'accepted' | 'taken' | 'closes' | 'not_open' | 'barred'
  /** The scopes that this user would grant, even if another user has claimed the code. */
  readonly granted: readonly string[]
  readonly lacking: readonly string[]
  /** Whether the consent page would offer Allow to this user. */
  readonly grantable: boolean
}

export async function foreseeDecision(
  db: Queryable,
  { code, now }: Found,
  userId: string,
): Promise<ForeseenDecision | null> {
  const user = await readUser(db, userId)
  const account = user && (await readAccount(db, user.accountId))
  const application = await findApplication(db, code.applicationId)
  if (!user || !account || !application) return null
  const claimant = await readUser(db, code.claimedBy ?? '')
  const { answer } = claim(code, userId, claimant?.accountId === user.accountId, now)
  const consent = resolveConsent(code.scopes, user.heldScopes, deviceFlowPolicy(application))
  const barred = user.disabled || !account.policy.deviceFlow || !mayConnectByCode(account.policy, application)
  const entry = barred ? 'barred' : ENTRIES[answer]
  const dangerous = (await readScopes(db, consent.granted)).some((scope) => scope.dangerous)
  const limited = vettingProblem(await readUnvetted(db, application.id, user), dangerous) !== null
  const grantable = entry === 'accepted' && consent.grantable && !application.suspended && !limited
  return { entry, granted: consent.granted, lacking: consent.lacking, grantable }
}

const ENTRIES = { claimed: 'accepted', taken: 'taken', closed: 'closes', not_open: 'not_open' } as const
