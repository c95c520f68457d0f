/** Health endpoints for load balancers and orchestrators. docs/operations.md. */
import type { Handler } from './route.ts'

/** Liveness: the process runs. PostgreSQL or Redis being down does not fail it, because a restart would not help. */
export const live: Handler = async () => ({ status: 200, fields: { status: 'live' } })

/** Readiness: PostgreSQL answers and the process is not draining. Redis may be down; pacing then is in process. */
export const ready: Handler = async (context, request) => {
  if (request.draining) return { refusal: 'unavailable', message: 'This process is stopping.', retryAfterSeconds: 1 }
  try {
    await context.db.reads.query('select 1')
  } catch {
    return { refusal: 'unavailable', message: 'PostgreSQL does not answer.', retryAfterSeconds: 1 }
  }
  return { status: 200, fields: { status: 'ready', gate: context.gate.answers ? 'up' : 'down' } }
}
