/**
 * Rotation of an access key by its application. Old and new key overlap, so that every device can be updated.
 * docs/interface/credentials.md, "Access keys".
 */
import { byApplication } from '../../core/audit/actor.ts'
import { rotateKey } from '../../core/grants/grant.ts'
import { resolveEffective } from '../../core/grants/scope.ts'
import { makeAccessKey } from '../../secrets/credentials.ts'
import { recordEvent } from '../../store/audit/events.ts'
import { lockGrantState, saveRotation } from '../../store/grants/grants.ts'
import type { Context } from '../context.ts'
import type { IssuedKey } from './issue.ts'
import { aboutGrant } from './revoke.ts'

export type RotationRequest = {
  readonly applicationId: string
  readonly secret: string | null
  readonly accessKey: string
}

export type RotationResult =
  /** `overlapSeconds`: how long the old key stays valid after the rotation. */
  | { readonly outcome: 'rotated'; readonly issued: IssuedKey; readonly overlapSeconds: number }
  | { readonly outcome: 'invalid_application' }
  | { readonly outcome: 'invalid_grant' }

export async function rotateAccessKey(context: Context, request: RotationRequest): Promise<RotationResult> {
  const { applications, config, db } = context
  const application = applications.authenticate(request.applicationId, request.secret)
  if (!application) return { outcome: 'invalid_application' }
  const verified = context.verifyCredential(request.accessKey)
  if (verified?.is !== 'access_key') return { outcome: 'invalid_grant' }

  const result = await db.transaction(async (tx): Promise<RotationResult> => {
    const state = await lockGrantState(tx, verified.grantSecret)
    if (!state || state.grant.applicationId !== application.id) return { outcome: 'invalid_grant' }
    const { grant, holder, now } = state
    const step = rotateKey(grant, holder, verified.generation, now, config.accessKeyOverlapMs)
    if (step.answer === 'not_valid') return { outcome: 'invalid_grant' }
    const current = step.answer === 'rotated' ? { ...step.next, keyId: config.keys.signing.id } : grant
    if (step.answer === 'rotated') {
      await saveRotation(tx, current)
      const actor = byApplication(grant.applicationId)
      await recordEvent(tx, { kind: 'grant.key_rotated', actor, ...aboutGrant(grant) })
    }
    const accessKey = makeAccessKey(config.keys, { ...current, secret: verified.grantSecret })
    const scopes = resolveEffective(grant.scopes, state.heldScopes, state.allowedScopes)
    return { outcome: 'rotated', issued: { scopes, accessKey }, overlapSeconds: config.accessKeyOverlapMs / 1000 }
  })
  if (result.outcome === 'rotated') context.counts.credentials.add('access_key', 'renewed')
  return result
}
