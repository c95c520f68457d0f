/** What the second factor of a user is needed for, and whether a session was made with one. */

import { appliesTo } from '../../core/sign-in/origin.ts'
import { needsSecondFactor, type SecondFactorDuty, secondFactorDuty } from '../../core/sign-in/second-factor.ts'
import type { HostAccount, SessionUser } from '../../store/sign-in/sessions.ts'
import type { Context } from '../context.ts'

/** What this session lacks before it may use the account. */
export function readSecondFactorDuty(
  { config }: Pick<Context, 'config'>,
  { slug }: Pick<HostAccount, 'slug'>,
  { origin, secondFactor, session }: SessionUser,
  now: number,
): SecondFactorDuty {
  if (!appliesTo(origin, 'second_factor')) return { outcome: 'none' }
  return secondFactorDuty(secondFactor, session, slug === config.operatorAccount, now)
}

/** Whether the user may not remove the last second factor. */
export function mustKeepSecondFactor(
  { config }: Pick<Context, 'config'>,
  { slug }: Pick<HostAccount, 'slug'>,
  { secondFactor }: SessionUser,
  now: number,
): boolean {
  return needsSecondFactor(secondFactor, slug === config.operatorAccount, now)
}

/**
 * Whether a user who signs in elsewhere did so without the second factor that is needed: to administer, and for all that
 * users do if the account's policy says so.
 */
export function lacksSecondFactorElsewhere(
  { config }: Pick<Context, 'config'>,
  { origin, secondFactor, session }: SessionUser,
  administers: boolean,
): boolean {
  if (appliesTo(origin, 'second_factor') || config.secondFactorElsewhere === 'trusted') return false
  return !session.secondFactor && (administers || secondFactor.requiredAt !== null)
}
