/**
 * A credential is given up by its application (RFC 7009), or reported by whoever found it. Either ends the grant: every
 * credential of it is computed from the same row.
 */
import { byAnybody, byApplication } from '../../core/audit/actor.ts'
import { type Grant, isCollectable, isValid } from '../../core/grants/grant.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { lockGrantState } from '../../store/grants/grants.ts'
import type { Context } from '../context.ts'
import { aboutGrant, revokeGrant, revokeGrantWithMail } from './revoke.ts'

export type RevocationRequest = {
  readonly applicationId: string
  readonly secret: string | null
  readonly credential: string
  /** What the path is for; null: anything. */
  readonly variant: Grant['variant'] | null
}

/** `revoked`, whatever became of it: what is unknown, old or another application's is as good as gone for this one. */
export type RevocationResult = { readonly outcome: 'revoked' | 'invalid_application' }

export async function revokeCredential(context: Context, request: RevocationRequest): Promise<RevocationResult> {
  const application = context.applications.authenticate(request.applicationId, request.secret)
  if (!application) return { outcome: 'invalid_application' }
  const verified = context.verifyCredential(request.credential)
  if (!verified) return { outcome: 'revoked' }
  await context.db.transaction(async (tx) => {
    const locked = await lockGrantState(tx, verified.grantSecret)
    if (locked?.grant.applicationId !== application.id) return
    if (request.variant !== null && locked.grant.variant !== request.variant) return
    await revokeGrant(tx, byApplication(locked.grant.applicationId), locked.grant, 'revoked_by_application')
  })
  return { outcome: 'revoked' }
}

/**
 * Anyone may report a credential that they found: to have it is to prove it. True when it was a living one, and is one no
 * longer. An expired access token and a key that was replaced long ago prove nothing; a refresh token of any age does.
 */
export async function reportCredential(context: Context, credential: string): Promise<boolean> {
  const verified = context.verifyCredential(credential)
  if (!verified) return false
  const ended = await context.db.transaction(async (tx) => {
    const state = await lockGrantState(tx, verified.grantSecret)
    if (!state) return null
    const { grant, holder, now } = state
    // One that a review ended is reported as if it lived: should the review be undone, it does not come back.
    const before = { ...grant, revokedAt: null }
    const genuine =
      verified.is === 'refresh_token'
        ? isCollectable(before, holder)
        : isValid(before, holder, verified, now, context.config.accessKeyOverlapMs)
    if (!genuine || !(await revokeGrantWithMail(tx, byAnybody('api'), grant, 'credential_reported'))) return null
    await recordEvent(tx, {
      kind: 'credential.reported',
      actor: byAnybody('api'),
      ...aboutGrant(grant),
      detail: { is: verified.is },
    })
    return grant.id
  })
  if (ended !== null) context.events.grantRevoked(ended, 'credential_reported')
  return ended !== null
}
