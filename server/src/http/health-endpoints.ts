/** Health, for balancers and orchestrators. docs/operations.md. */
import type { Handler } from './route.ts'

/** The process runs. An engine that is away is no reason to restart it. */
export const live: Handler = async () => ({ status: 200, fields: { status: 'live' } })

/** The process can do its work: PostgreSQL answers and nobody asked us to stop. Redis may be away; then we pace alone. */
export const ready: Handler = async (context, request) => {
  if (request.draining) return { refusal: 'unavailable', message: 'This process is stopping.', retryAfterSeconds: 1 }
  try {
    await context.db.reads.query('select 1')
  } catch {
    return { refusal: 'unavailable', message: 'PostgreSQL does not answer.', retryAfterSeconds: 1 }
  }
  return { status: 200, fields: { status: 'ready', gate: context.gate.answers ? 'up' : 'down' } }
}
