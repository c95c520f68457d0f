/** Middleware for Hono, on any platform: `app.get('/orders', requireAuth(verifier, { scope: 'orders:read' }), …)`. */
import type { Verifier } from '../verify.ts'
import { createGuard, type RequireAuthOptions, remember } from './bearer.ts'

export { credentialOf, type RequireAuthOptions } from './bearer.ts'

/** The part of Hono's context that the middleware uses. */
export interface HonoContext {
  readonly req: { header(name: string): string | undefined }
}

/**
 * Answers 401, 403 or 503, or lets the request through; `credentialOf(c)`, called with the context, then returns its
 * credential.
 */
export function requireAuth(
  verifier: Verifier,
  options: RequireAuthOptions = {},
): (context: HonoContext, next: () => Promise<void>) => Promise<Response | undefined> {
  const guard = createGuard(verifier, options)
  return async (context, next) => {
    const checked = await guard(context.req.header('authorization'))
    if (checked.outcome === 'refused') {
      return new Response(checked.body, { status: checked.status, headers: checked.headers })
    }
    remember(context, checked.credential)
    await next()
    return undefined
  }
}
