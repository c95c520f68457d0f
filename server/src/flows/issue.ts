/** What a grant is worth on the wire: its credentials, computed when they are handed out. docs/interface.md, "Credentials". */
import { type Grant, isCollectable, isFirstIssue, issueTime } from '../core/grant.ts'
import { makeAccessKey, makeTokenSet } from '../secrets/credentials.ts'
import { recordEvent } from '../store/audit-events.ts'
import { lockGrant, saveIssueTime } from '../store/grants.ts'
import type { Transaction } from '../store/postgres.ts'
import type { Context } from './context.ts'
import { aboutGrant, endGrant } from './end-grant.ts'

export type IssuedTokenSet = {
  readonly scopes: readonly string[]
  readonly accessToken: string
  readonly refreshToken: string
  readonly expiresInSeconds: number
}

export type IssuedKey = { readonly scopes: readonly string[]; readonly accessKey: string }

/** The set of the grant's present generation: the same text whenever it is asked for. */
export function tokenSetOf(context: Context, grant: Grant, issuedAt: number): Omit<IssuedTokenSet, 'scopes'> {
  const { keys, accessTokenLifetimeMs } = context.config
  const tokens = makeTokenSet(keys, grant, issuedAt, accessTokenLifetimeMs)
  return { ...tokens, expiresInSeconds: accessTokenLifetimeMs / 1000 }
}

/**
 * The first credentials of a grant, for the code that led to it; `again` when it was answered before and not heard. Null when
 * they may no longer be handed out: then the grant ends here, or the application has renewed them since.
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
  const { grant, holder } = locked
  if (!isCollectable(grant, holder)) {
    await endGrant(tx, grant, holder.userDisabled ? 'user_disabled' : 'application_deleted')
    return null
  }

  const issuedAt = again && grant.issuedAt !== null ? grant.issuedAt : issueTime(grant, now)
  if (issuedAt !== grant.issuedAt) {
    await saveIssueTime(tx, grantId, issuedAt)
    await recordEvent(tx, { kind: 'grant.issued', ...aboutGrant(grant) })
  }
  const { scopes } = grant
  if (grant.variant === 'access_key') return { scopes, accessKey: makeAccessKey(context.config.keys, grant) }
  return { scopes, ...tokenSetOf(context, grant, issuedAt) }
}
