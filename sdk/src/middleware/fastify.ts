/** Hook for Fastify: `app.get('/orders', { onRequest: requireAuth(verifier, { scope: 'orders:read' }) }, …)`. */
import type { Verifier } from '../verify.ts'
import { createGuard, type RequireAuthOptions, remember } from './bearer.ts'

export { credentialOf, type RequireAuthOptions } from './bearer.ts'

/** The part of a request that the hook uses. */
export interface HookRequest {
  readonly headers: { readonly authorization?: string | undefined }
}

/** The part of a reply that the hook uses. */
export interface HookReply {
  code(status: number): unknown
  header(name: string, value: string): unknown
  send(body: string): unknown
}

/**
 * Creates a hook, preferably for `onRequest`. It answers 401, 403 or 503, or lets the request through;
 * `credentialOf(request)` then returns its credential.
 */
export function requireAuth(
  verifier: Verifier,
  options: RequireAuthOptions = {},
): (request: HookRequest, reply: HookReply) => Promise<unknown> {
  const guard = createGuard(verifier, options)
  return async (request, reply) => {
    const checked = await guard(request.headers.authorization)
    if (checked.outcome === 'allowed') return remember(request, checked.credential)
    reply.code(checked.status)
    for (const [name, value] of Object.entries(checked.headers)) reply.header(name, value)
    reply.send(checked.body)
    // Returning the reply tells Fastify that the hook has answered.
    return reply
  }
}
