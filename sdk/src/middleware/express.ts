/**
 * Middleware for Express, Connect and plain `node:http`: `app.get('/orders', requireAuth(verifier, { scope:
 * 'orders:read' }), …)`.
 */
import type { Verifier } from '../verify.ts'
import { createGuard, type RequireAuthOptions, remember } from './bearer.ts'

export { credentialOf, type RequireAuthOptions } from './bearer.ts'

/** The part of a request that the middleware uses. */
export interface IncomingRequest {
  readonly headers: { readonly authorization?: string | undefined }
}

/** The part of a response that the middleware uses. */
export interface OutgoingResponse {
  statusCode: number
  setHeader(name: string, value: string): unknown
  end(body: string): unknown
}

/**
 * Answers 401, 403 or 503, or lets the request through; `credentialOf(request)` then returns its credential.
 *
 * @example An API on `node:http`
 * ```ts
 * import { createServer } from 'node:http'
 * import { createVerifier } from '@latchkey/sdk'
 * import { credentialOf, requireAuth } from '@latchkey/sdk/express'
 *
 * const verifier = createVerifier({
 *   baseUrl: 'https://service.example',
 *   resourceId: 'app_k49jr2r5kvxb',
 *   resourceSecret: process.env.LATCHKEY_RESOURCE_SECRET ?? '',
 * })
 * const guard = requireAuth(verifier, { scope: 'orders:read' })
 * const server = createServer((request, response) => {
 *   guard(request, response, () => response.end(`orders of ${credentialOf(request).user}`))
 * }).listen(3000, async () => {
 *   console.log((await fetch('http://localhost:3000/orders')).status)
 *   server.close()
 * })
 * ```
 */
export function requireAuth(
  verifier: Verifier,
  options: RequireAuthOptions = {},
): (request: IncomingRequest, response: OutgoingResponse, next: (error?: unknown) => void) => Promise<void> {
  const guard = createGuard(verifier, options)
  return async (request, response, next) => {
    try {
      const checked = await guard(request.headers.authorization)
      if (checked.outcome === 'refused') {
        response.statusCode = checked.status
        for (const [name, value] of Object.entries(checked.headers)) response.setHeader(name, value)
        response.end(checked.body)
        return
      }
      remember(request, checked.credential)
    } catch (error) {
      next(error)
      return
    }
    next()
  }
}
