/** Credentials of a grant, computed each time they are issued. docs/interface/credentials.md, "Credentials". */
import { byApplication } from '../../core/audit/actor.ts'
import {
  accessTokenExpiry,
  expiresInSeconds,
  type Holder,
  isCollectable,
  isFirstIssue,
  isRepeatable,
  issueTime,
} from '../../core/grants/grant.ts'
import type { RevocationReason } from '../../core/grants/revocation-reason.ts'
import { type GrantWithSecret, makeAccessKey, makeTokenSet } from '../../secrets/credentials.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { lockGrant, saveIssueTime } from '../../store/grants/grants.ts'
import type { Transaction } from '../../store/postgres/postgres.ts'
import type { Context } from '../context.ts'
import { aboutGrant, revokeGrant } from './revoke.ts'

export type IssuedTokenSet = {
  readonly scopes: readonly string[]
  readonly accessToken: string
  readonly refreshToken: string
  readonly expiresInSeconds: number
}

export type IssuedKey = { readonly scopes: readonly string[]; readonly accessKey: string }

/** Token set of the grant's current generation: always the same two tokens, with the remaining lifetime. */
export function tokenSetOf(
  context: Context,
  grant: GrantWithSecret,
  issuedAt: number,
  now: number,
): Omit<IssuedTokenSet, 'scopes'> {
  const { keys, accessTokenLifetimeMs } = context.config
  const tokens = makeTokenSet(keys, grant, issuedAt, accessTokenLifetimeMs)
  const expiresAt = accessTokenExpiry(issuedAt, accessTokenLifetimeMs)
  // A transaction that waited for the grant's lock may have begun before the token was issued: take the later time.
  return { ...tokens, expiresInSeconds: expiresInSeconds(expiresAt, Math.max(issuedAt, now)) }
}

/**
 * Issues the first credentials of a grant, for its device or authorization code. `again`: they were sent before, and
 * the same poll repeats its request. Null when they may no longer be issued: the grant is not collectable and is
 * revoked here, the application has renewed them since, or the access token that was sent has expired.
 */
export async function issueFirst(
  context: Context,
  tx: Transaction,
  grantId: string,
  now: number,
  again: boolean,
): Promise<IssuedTokenSet | IssuedKey | null> {
  const locked = await lockGrant(tx, grantId)
  if (!locked || !isFirstIssue(locked.grant)) return null
  const { grant, secret, holder } = locked
  // Revoked before: the reason stays, and another decision can still restore what a review's decision revoked.
  if (grant.revokedAt !== null) return null
  if (!isCollectable(grant, holder, now)) {
    await revokeGrant(tx, byApplication(grant.applicationId), grant, endedBy(holder))
    return null
  }

  const { accessTokenLifetimeMs } = context.config
  if (again && !isRepeatable(grant, now, accessTokenLifetimeMs)) return null
  const issuedAt = again && grant.issuedAt !== null ? grant.issuedAt : issueTime(grant, now, accessTokenLifetimeMs)
  if (issuedAt !== grant.issuedAt) {
    await saveIssueTime(tx, grantId, issuedAt)
    await recordEvent(tx, { kind: 'grant.issued', actor: byApplication(grant.applicationId), ...aboutGrant(grant) })
  }
  const { scopes } = grant
  if (grant.variant === 'access_key')
    return { scopes, accessKey: makeAccessKey(context.config.keys, { ...grant, secret }) }
  return { scopes, ...tokenSetOf(context, { ...grant, secret }, issuedAt, now) }
}

/** Why a grant that was not revoked cannot be collected. */
function endedBy({ userDisabled, accountClosed, applicationDeleted }: Holder): RevocationReason {
  if (accountClosed) return 'account_closed'
  if (userDisabled) return 'user_disabled'
  return applicationDeleted ? 'application_deleted' : 'test_mode_ended'
}
