/**
 * Limits of requests to identity providers: neither an administrator who tests a connection nor somebody who returns with
 * made-up codes makes this service flood one, and a slow provider holds few connections.
 */
import { createSlidingWindows } from '../../gate/sliding-windows.ts'
import type { Fetched, Outbound } from '../../outbound.ts'

const MAX_AT_ONCE = 4

/** At five seconds each, in fours, the last one waits for two minutes; openid-client gives up long before. */
const MAX_WAITING = 100

const WINDOW_MS = 60_000
const MAX_TESTS = 10
const MAX_FAILED_RETURNS = 20

export type ProviderBudgets = {
  /** Whether the account may test a connection once more. */
  test(accountId: string): boolean
  /**
   * Whether a return may exchange its code. Failed ones count, by account and network: a browser may return with any code.
   */
  beginReturn(accountId: string, network: string): boolean
  /** The return did not fail. */
  endReturn(accountId: string, network: string): void
}

export function createProviderBudgets(): ProviderBudgets {
  const tests = createSlidingWindows(WINDOW_MS)
  const returns = createSlidingWindows(WINDOW_MS)
  return {
    test: (accountId) => tests.take(accountId, MAX_TESTS).passed,
    beginReturn: (accountId, network) => returns.take(`${accountId}\n${network}`, MAX_FAILED_RETURNS).passed,
    endReturn: (accountId, network) => returns.add(`${accountId}\n${network}`, -1),
  }
}

type Turns = { running: number; readonly waiting: (() => void)[] }

/** Sends at most four requests to one issuer at once. */
export function limitPerIssuer(outbound: Outbound): (issuer: string) => Outbound {
  const issuers = new Map<string, Turns>()
  const fetchInTurn = async (issuer: string, fetch: () => Promise<Fetched>): Promise<Fetched> => {
    const turns = issuers.get(issuer) ?? { running: 0, waiting: [] }
    issuers.set(issuer, turns)
    if (turns.running < MAX_AT_ONCE) turns.running += 1
    else if (turns.waiting.length < MAX_WAITING) await new Promise<void>((begin) => turns.waiting.push(begin))
    else return { error: 'busy' }
    try {
      return await fetch()
    } finally {
      const next = turns.waiting.shift()
      if (next) next()
      else turns.running -= 1
      if (turns.running === 0) issuers.delete(issuer)
    }
  }
  return (issuer) => ({
    ...outbound,
    fetch: (url, request, limits) => fetchInTurn(issuer, () => outbound.fetch(url, request, limits)),
  })
}
