/** Retry for requests that are safe to repeat within half a minute: refresh, rotation, revocation and code exchange. */
import type { Context } from './context.ts'
import { type Answer, isTransient } from './wire.ts'

/** The service repeats its response to a refresh for at least 30 s after the first one; 5 s are left for the network. */
const WITHIN_MS = 25_000
const ATTEMPT_LIMIT_MS = 8_000

export interface AskAgainOptions<T> {
  readonly withinMs?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Called before every attempt; a result other than null is returned instead of asking. */
  readonly unless?: () => Promise<T | null>
}

export async function askAgain<T extends object = never>(
  { clock, wire }: Context,
  path: string,
  form: Record<string, string | undefined>,
  { withinMs = WITHIN_MS, headers = {}, unless }: AskAgainOptions<T> = {},
): Promise<Answer | T> {
  const until = clock.now() + withinMs
  for (let faults = 0; ; faults += 1) {
    const instead = await unless?.()
    if (instead) return instead
    try {
      return await wire.ask(path, { form, headers, timeLimitMs: ATTEMPT_LIMIT_MS })
    } catch (error) {
      if (!isTransient(error)) throw error
      const backOffMs = 250 * 2 ** faults * (1 + Math.random() / 2)
      const delayMs = Math.max(backOffMs, (error.retryAfter ?? 0) * 1000)
      if (clock.now() + delayMs >= until) throw error
      await clock.sleep(delayMs)
    }
  }
}
