/** Refresh of a token set by its application. docs/interface/credentials.md, "Refresh". */
import type { Config } from '../../config.ts'
import { byApplication } from '../../core/audit/actor.ts'
import { type RefreshLimits, refresh } from '../../core/grants/grant.ts'
import { parseScope, resolveEffective, scopesNotGranted } from '../../core/grants/scope.ts'
import { lockGrantState, saveRefresh } from '../../store/grants/grants.ts'
import type { Context } from '../context.ts'
import { type IssuedTokenSet, tokenSetOf } from './issue.ts'
import { revokeGrantWithMail } from './revoke.ts'

export type RefreshRequest = {
  readonly applicationId: string
  /** Null for a public application. */
  readonly secret: string | null
  readonly refreshToken: string
  /** Must not exceed the granted scopes; narrowing has no effect. */
  readonly scope: string | null
}

export type RefreshResult =
  | { readonly outcome: 'refreshed'; readonly issued: IssuedTokenSet }
  | { readonly outcome: 'invalid_application' }
  | { readonly outcome: 'invalid_scope'; readonly reason: string }
  /** Forged, of another application, unused for too long, revoked, or used before: indistinguishable. */
  | { readonly outcome: 'invalid_grant' }

/** Replay of a refresh token whose successor was used; the grant was revoked for it. */
type Reused = { readonly outcome: 'reused'; readonly grantId: string }

const INVALID_GRANT: RefreshResult = { outcome: 'invalid_grant' }

export async function refreshTokenSet(context: Context, request: RefreshRequest): Promise<RefreshResult> {
  const { applications, config, db, events } = context
  const application = applications.authenticate(request.applicationId, request.secret)
  if (!application) return { outcome: 'invalid_application' }
  const verified = context.verifyCredential(request.refreshToken)
  if (verified?.is !== 'refresh_token') return INVALID_GRANT

  const result = await db.transaction(async (tx): Promise<RefreshResult | Reused> => {
    const state = await lockGrantState(tx, verified.grantSecret)
    if (!state || state.grant.applicationId !== application.id) return INVALID_GRANT
    const { grant, holder, now } = state
    const step = refresh(grant, holder, verified.generation, now, refreshLimits(config))
    if (step.answer === 'not_valid') return INVALID_GRANT
    if (step.answer === 'reused') {
      return (await revokeGrantWithMail(tx, byApplication(grant.applicationId), grant, 'refresh_token_reused'))
        ? { outcome: 'reused', grantId: grant.id }
        : INVALID_GRANT
    }
    const notGranted = parseScope(request.scope ?? '').filter((name) => !grant.scopes.includes(name))
    if (notGranted.length > 0) {
      return { outcome: 'invalid_scope', reason: scopesNotGranted(notGranted, grant.scopes) }
    }
    const current = 'next' in step ? { ...step.next, keyId: config.keys.signing.id } : grant
    if ('next' in step) await saveRefresh(tx, current)
    const scopes = resolveEffective(grant.scopes, state.heldScopes, state.allowedScopes)
    const source = { ...current, secret: verified.grantSecret }
    return { outcome: 'refreshed', issued: { scopes, ...tokenSetOf(context, source, current.issuedAt ?? now, now) } }
  })
  if (result.outcome === 'refreshed') context.counts.credentials.add('token_set', 'renewed')
  if (result.outcome !== 'reused') return result
  events.grantRevoked(result.grantId, 'refresh_token_reused')
  return INVALID_GRANT
}

export function refreshLimits(
  config: Pick<Config, 'refreshTokenLifetimeMs' | 'grantLifetimeMs' | 'accessTokenLifetimeMs'>,
): RefreshLimits {
  const { refreshTokenLifetimeMs: unusedMs, grantLifetimeMs: maxMs, accessTokenLifetimeMs: accessTokenMs } = config
  return { unusedMs, maxMs, accessTokenMs }
}
