/** What is said to those who asked too often, and to those who came when there was too much to do. Pages and programs alike. */
import { randomInt } from 'node:crypto'

export function tooManyRequests(waitMs: number) {
  return { refusal: 'too_many_requests', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) } as const
}

/** Between 2 and 5 seconds: those who are turned away at once must not come back at once. */
export function tooBusy() {
  return { refusal: 'unavailable', retryAfterSeconds: randomInt(2, 6) } as const
}
