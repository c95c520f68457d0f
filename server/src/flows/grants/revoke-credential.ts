/**
 * Revocation by credential: by its application (RFC 7009), or by a report from a finder. Both revoke the whole grant,
 * because all its credentials are computed from the same row.
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
  /** The variant that the path serves; null: both. */
  readonly variant: Grant['variant'] | null
}

/**
 * `revoked` also for an unknown or old credential: it is invalid anyway. `foreign`: it belongs to another application
 * (RFC 7009, section 2.1), whether or not it still works, so that a finder does not learn that.
 */
export type RevocationResult = { readonly outcome: 'revoked' | 'foreign' | 'invalid_application' }

export async function revokeCredential(context: Context, request: RevocationRequest): Promise<RevocationResult> {
  const application = context.applications.authenticate(request.applicationId, request.secret)
  if (!application) return { outcome: 'invalid_application' }
  const verified = context.verifyCredential(request.credential)
  if (!verified) return { outcome: 'revoked' }
  return context.db.transaction(async (tx): Promise<RevocationResult> => {
    const grant = (await lockGrantState(tx, verified.grantSecret))?.grant
    if (grant && grant.applicationId !== application.id) return { outcome: 'foreign' }
    if (grant && (request.variant === null || grant.variant === request.variant)) {
      await revokeGrant(tx, byApplication(application.id), grant, 'revoked_by_application')
    }
    return { outcome: 'revoked' }
  })
}

/**
 * Anyone who found a credential may report it: possession is the proof. Returns true if the grant was live and is now
 * revoked. An expired access token or an access key past its overlap proves nothing; a refresh token of any age does.
 */
export async function reportCredential(context: Context, credential: string): Promise<boolean> {
  const verified = context.verifyCredential(credential)
  if (!verified) return false
  const ended = await context.db.transaction(async (tx) => {
    const state = await lockGrantState(tx, verified.grantSecret)
    if (!state) return null
    const { grant, holder, now } = state
    // A grant revoked by a review is treated as live: the report makes it final, so undoing the review has no effect.
    const before = { ...grant, revokedAt: null }
    const genuine =
      verified.is === 'refresh_token'
        ? isCollectable(before, holder, now)
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
