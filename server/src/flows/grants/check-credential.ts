/**
 * Credential check: whether a credential is valid, and what it may do now.
 * docs/interface/credentials.md, "Check a credential".
 *
 * The answer reflects the current state of user and application, not that at the time of the grant: a role that lost a
 * scope, a disabled user or a removed grant take effect within two seconds. A credential in use is answered from memory
 * (flows/grants/cache.ts).
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
  /** Ids at the service that adopted Latchkey; null: none. */
  readonly accountExternalId: string | null
  readonly userExternalId: string | null
  readonly applicationId: string
  /** Granted ∩ still held by the user ∩ still allowed for the application. */
  readonly scopes: readonly string[]
  readonly variant: Variant
  /** This and the next two are null for an access key. */
  readonly issuedAt: number | null
  readonly expiresAt: number | null
  readonly expiresInSeconds: number | null
}

/** `not_valid`: forged, expired, revoked, user disabled, application deleted, or a refresh token: indistinguishable. */
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

  context.grantCache.noteUse(state, dayOf(now), verified.is === 'access_token' ? verified.generation : 0)
  const expiresAt = verified.is === 'access_token' ? verified.expiresAt : null
  return {
    outcome: 'valid',
    grantId: grant.id,
    account: state.accountSlug,
    userId: grant.userId,
    accountExternalId: state.accountExternalId,
    userExternalId: state.userExternalId,
    applicationId: grant.applicationId,
    scopes: resolveEffective(grant.scopes, state.heldScopes, application?.allowedScopes ?? state.allowedScopes),
    variant: grant.variant,
    // The expiry was rounded up to a whole second. The issue time is rounded down, so that it is never in the future.
    issuedAt: expiresAt === null ? null : expiresAt - context.config.accessTokenLifetimeMs - 1_000,
    expiresAt,
    expiresInSeconds: expiresAt === null ? null : expiresInSeconds(expiresAt, now),
  }
}

/** False for an access key newer than the cached state: another process has just rotated it. */
function isKnown({ grant }: GrantState, verified: VerifiedCredential): boolean {
  return verified.is !== 'access_key' || verified.generation <= grant.keyGeneration
}

const DAY_MS = 24 * 60 * 60 * 1000
let today = { number: -1, text: '' }

/** In UTC, as PostgreSQL formats a date. Formatted once a day. */
function dayOf(now: number): string {
  const number = Math.floor(now / DAY_MS)
  if (number !== today.number) today = { number, text: new Date(number * DAY_MS).toISOString().slice(0, 10) }
  return today.text
}
