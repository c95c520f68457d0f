/**
 * What a credential is, and what it may do at this moment. docs/interface.md, "Check a credential".
 *
 * It follows the user and the application, not the day of the grant: a role that lost a scope, a user who was disabled, a
 * grant that was removed are seen within two seconds, and a credential in use asks no engine (flows/grants/cache.ts).
 */
import type { Variant } from '../../core/device/code.ts'
import { expiresInSeconds, isValid } from '../../core/grants/grant.ts'
import { resolveEffective } from '../../core/grants/scope.ts'
import type { VerifiedCredential } from '../../secrets/credentials.ts'
import type { GrantState } from '../../store/grants/grants.ts'
import type { Context } from '../context.ts'

export type ValidCredential = {
  readonly outcome: 'valid'
  readonly grantId: string
  readonly account: string
  readonly userId: string
  readonly applicationId: string
  /** Granted ∩ what the user still holds ∩ what the application is still allowed. */
  readonly scopes: readonly string[]
  readonly variant: Variant
  /** An access key has none of the three. */
  readonly issuedAt: number | null
  readonly expiresAt: number | null
  readonly expiresInSeconds: number | null
}

/** `not_valid`: forged, expired, revoked, its user disabled, its application gone, or not for calling: one answer. */
export type CheckedCredential = ValidCredential | { readonly outcome: 'not_valid' }

const NOT_VALID: CheckedCredential = { outcome: 'not_valid' }

export async function checkCredential(
  context: Pick<Context, 'config' | 'applications' | 'verifyCredential' | 'grantCache'>,
  text: string,
): Promise<CheckedCredential> {
  const verified = context.verifyCredential(text)
  if (!verified) return NOT_VALID
  const found = context.grantCache.find(verified.grantSecret, (state) => isKnown(state, verified))
  const state = found instanceof Promise ? await found : found
  if (!state) return NOT_VALID
  const { grant } = state
  const now = context.applications.now()
  const application = context.applications.find(grant.applicationId)
  const holder = { ...state.holder, applicationDeleted: application?.deleted ?? state.holder.applicationDeleted }
  if (!isValid(grant, holder, verified, now, context.config.accessKeyOverlapMs)) return NOT_VALID

  context.grantCache.noteUse(state, dayOf(now))
  const expiresAt = verified.is === 'access_token' ? verified.expiresAt : null
  return {
    outcome: 'valid',
    grantId: grant.id,
    account: state.accountSlug,
    userId: grant.userId,
    applicationId: grant.applicationId,
    scopes: resolveEffective(grant.scopes, state.heldScopes, application?.allowedScopes ?? state.allowedScopes),
    variant: grant.variant,
    // The expiry was rounded up to a whole second. The issue time is rounded down, so that it is never in the future.
    issuedAt: expiresAt === null ? null : expiresAt - context.config.accessTokenLifetimeMs - 1_000,
    expiresAt,
    expiresInSeconds: expiresAt === null ? null : expiresInSeconds(expiresAt, now),
  }
}

/** A key that is newer than the one remembered was made a moment ago by another process. */
function isKnown({ grant }: GrantState, verified: VerifiedCredential): boolean {
  return verified.is !== 'access_key' || verified.generation <= grant.keyGeneration
}

const DAY_MS = 24 * 60 * 60 * 1000
let today = { number: -1, text: '' }

/** In UTC, as PostgreSQL writes it. The text of a day is made once a day. */
function dayOf(now: number): string {
  const number = Math.floor(now / DAY_MS)
  if (number !== today.number) today = { number, text: new Date(number * DAY_MS).toISOString().slice(0, 10) }
  return today.text
}
