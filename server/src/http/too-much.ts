/** Answers to rate-limited requests (429) and to requests shed under overload (503), for pages and programs alike. */
import { randomInt } from 'node:crypto'

export function tooManyRequests(waitMs: number) {
  return { refusal: 'too_many_requests', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) } as const
}

/** A random 2 to 5 seconds, so that clients shed at the same moment do not return at the same moment. */
export function tooBusy() {
  return { refusal: 'unavailable', retryAfterSeconds: randomInt(2, 6) } as const
}
