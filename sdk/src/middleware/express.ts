/**
 * Middleware for Express, Connect and plain `node:http`: `app.get('/orders', requireAuth(verifier, { scope:
 * 'orders:read' }), …)`.
 */
import type { Verifier } from '../verify.ts'
import { createCheck, type RequireAuthOptions, remember } from './bearer.ts'

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

/** Answers 401, 403 or 503, or lets the request through; `credentialOf(request)` then returns its credential. */
export function requireAuth(
  verifier: Verifier,
  options: RequireAuthOptions = {},
): (request: IncomingRequest, response: OutgoingResponse, next: (error?: unknown) => void) => Promise<void> {
  const check = createCheck(verifier, options)
  return async (request, response, next) => {
    try {
      const checked = await check(request.headers.authorization)
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
