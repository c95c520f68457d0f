/** Health endpoints for load balancers and orchestrators. docs/operations.md. */
import { hasUnfinishedRestore } from '../store/restore/restores.ts'
import type { Endpoint, Handler } from './route.ts'
import { oneOf, optional, type Property } from './schema.ts'

const always = (value: string): Property => ({ type: 'string', const: value })

/** Liveness: the process runs. PostgreSQL or Redis being down does not fail it, because a restart would not help. */
const live: Handler = async () => ({ status: 200, fields: { status: 'live' } })

/**
 * Readiness: PostgreSQL answers, is no standby, and the process is not draining. Redis may be down; pacing then is in
 * process.
 */
const ready: Handler = async (context, request) => {
  if (request.draining) return { refusal: 'unavailable', message: 'This process is stopping.', retryAfterSeconds: 1 }
  try {
    const { rows } = await context.db.reads.query<{ standby: boolean }>('select pg_is_in_recovery() as standby')
    if (rows[0]?.standby) return { refusal: 'unavailable', message: 'PostgreSQL is a standby.', retryAfterSeconds: 1 }
    const restore = (await hasUnfinishedRestore(context.db.reads)) ? { restore: 'unfinished' } : {}
    return { status: 200, fields: { status: 'ready', gate: context.gate.answers ? 'up' : 'down', ...restore } }
  } catch {
    return { refusal: 'unavailable', message: 'PostgreSQL does not answer.', retryAfterSeconds: 1 }
  }
}

export const checkLive = {
  method: 'GET',
  path: '/health/live',
  dialect: 'plain',
  handler: live,
  operation: {
    id: 'checkLive',
    tag: 'Health and description',
    summary: 'Whether the process runs',
    description: 'Restart the process when this does not answer, and not for any other reason.',
    security: ['none'],
    answers: {
      200: {
        description: 'It runs.',
        body: { name: 'Live', description: 'The process runs.', properties: { status: always('live') }, xml: true },
      },
    },
    refusals: [],
  },
} as const satisfies Endpoint

export const checkReady = {
  method: 'GET',
  path: '/health/ready',
  dialect: 'plain',
  handler: ready,
  operation: {
    id: 'checkReady',
    tag: 'Health and description',
    summary: 'Whether the process can do its work',
    description:
      'Send no requests to a process that is not ready: PostgreSQL is out of its reach, or it is about to stop.',
    security: ['none'],
    answers: {
      200: {
        description: 'It can.',
        body: {
          name: 'Ready',
          description: 'The process can do its work.',
          properties: {
            status: always('ready'),
            gate: oneOf(
              ['up', 'down'],
              '`down`: Redis is away. Nothing is lost by it; each process paces polls on its own.',
              { examples: ['up'] },
            ),
            restore: optional(
              oneOf(
                ['unfinished'],
                'PostgreSQL was restored or failed over, and no operator has dealt with it. What was ended in the lost time may be active again, unless the revocation journal told: `latchkey restore check`.',
                { examples: ['unfinished'] },
              ),
            ),
          },
          xml: true,
        },
      },
    },
    refusals: ['unavailable'],
  },
} as const satisfies Endpoint
