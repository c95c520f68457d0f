/** Rate limits on code requests and dialogs. Polls are not counted here. */
import { type CodeLimit, createCodeLimit } from './code-limit.ts'
import type { RedisLink } from './redis-link.ts'
import { createSharedLimit, type LimitResult, PASSED } from './sliding-windows.ts'

export type Limiter = {
  /** Per network (core/network.ts). Null: unknown; all such requests count as one network. */
  codeRequest(network: string | null): Promise<LimitResult>
  dialog(network: string | null): Promise<LimitResult>
  /** Per application: counts issued codes, not requests. */
  readonly codes: CodeLimit
}

/** Per minute; 0: unlimited. */
export type Limits = {
  readonly codeRequestsPerNetwork: number
  readonly codeRequestsPerApplication: number
  readonly dialogsPerNetwork: number
}

/** Counts all requests whose network is unknown as one. */
export const UNKNOWN_NETWORK = 'nowhere'

const MINUTE_MS = 60_000

export function createLimiter(limits: Limits, link: RedisLink | null): Limiter {
  const perNetwork = (prefix: string, limit: number): Limiter['codeRequest'] => {
    if (limit === 0) return async () => PASSED
    const take = createSharedLimit({ prefix, windowMs: MINUTE_MS, limit }, link)
    return (network) => take(network ?? UNKNOWN_NETWORK)
  }
  return {
    codeRequest: perNetwork('c', limits.codeRequestsPerNetwork),
    dialog: perNetwork('d', limits.dialogsPerNetwork),
    codes: createCodeLimit(limits.codeRequestsPerApplication, link),
  }
}
