/** Maps a thrown error to an answer: a Refusal as it is, PostgreSQL down as `unavailable`, a bug as `server_error`. */
import { Refusal } from '../core/refusal.ts'
import type { Context } from '../flows/context.ts'
import { Unavailable } from '../store/postgres/postgres.ts'
import type { Answer } from './answer.ts'

export function answerToError(context: Context, error: unknown): Answer {
  if (error instanceof Refusal) {
    const { code: refusal, message, scimType } = error
    return { refusal, message, scimType }
  }
  if (error instanceof Unavailable) return { refusal: 'unavailable', retryAfterSeconds: 1 }
  context.events.unexpected('http', error)
  return { refusal: 'server_error' }
}
