/**
 * What a credential is, and what it may do at this moment. docs/interface.md, "Credentials".
 *
 * It follows the user and the application, not the day of the grant: a role that lost a scope, a user who was disabled, a
 * grant that was removed are seen by the next check, because each one reads PostgreSQL.
 */
import type { Variant } from '../core/device-code.ts'
import { isValid } from '../core/grant.ts'
import { resolveEffective } from '../core/scope.ts'
import { openCredential } from '../secrets/credentials.ts'
import { markUsed, readGrantStanding } from '../store/grants.ts'
import type { Context } from './context.ts'

export type CheckedCredential =
  | {
      readonly outcome: 'valid'
      readonly grantId: string
      readonly account: string
      readonly userId: string
      readonly applicationId: string
      /** Granted ∩ what the user still holds ∩ what the application is still allowed. */
      readonly scopes: readonly string[]
      readonly variant: Variant
      /** An access key has neither. */
      readonly expiresAt: number | null
      readonly expiresInSeconds: number | null
    }
  /** Forged, expired, superseded, revoked, its user disabled, its application gone, or not for calling: one answer. */
  | { readonly outcome: 'not_valid' }

const NOT_VALID: CheckedCredential = { outcome: 'not_valid' }

export async function checkCredential(
  context: Pick<Context, 'config' | 'db'>,
  text: string,
): Promise<CheckedCredential> {
  const opened = openCredential(context.config.keys, text)
  const standing = opened && (await readGrantStanding(context.db, opened.grantId))
  if (!standing) return NOT_VALID
  const { grant, holder, now } = standing
  if (!isValid(grant, holder, opened, now)) return NOT_VALID

  const expiresAt = opened.is === 'access_token' ? opened.expiresAt : null
  if (!standing.usedToday) await markUsed(context.db, grant.id)
  return {
    outcome: 'valid',
    grantId: grant.id,
    account: standing.accountSlug,
    userId: grant.userId,
    applicationId: grant.applicationId,
    scopes: resolveEffective(grant.scopes, standing.heldScopes, standing.allowedScopes),
    variant: grant.variant,
    expiresAt,
    expiresInSeconds: expiresAt === null ? null : Math.floor((expiresAt - now) / 1000),
  }
}
