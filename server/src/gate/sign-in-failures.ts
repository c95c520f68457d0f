/**
 * Failed sign-ins of strangers, counted in process and, with Redis, for all processes together: distinct e-mail
 * addresses per network, in one account and in all, and from those the totals per account and for the service. Also
 * failed passkeys per network.
 *
 * Every process also counts its own failures: it goes on with them while Redis does not answer, and a network that is
 * over its budget by them alone is refused without a query.
 */
import type { Source } from '../core/network.ts'
import {
  maxPerNetwork,
  STRANGER_WINDOW_MS,
  type StrangerHistory,
  type StrangerLimits,
} from '../core/sign-in/stranger.ts'
import type { RedisClient, RedisLink } from './redis-link.ts'
import { createSlidingWindows, SLIDING_WINDOW_LUA } from './sliding-windows.ts'

export type SignInFailures = {
  read(source: Source): Promise<StrangerHistory>
  /**
   * An address counts once per network and window: repeating it spends the budget of the address alone. A network adds
   * no more to the totals than it may spend in one account, so that nobody spends those from one place.
   */
  count(source: Source, email: Buffer): Promise<void>
  readPasskeys(network: string): Promise<number>
  countPasskey(network: string): Promise<void>
}

/** Adds ARGV[3] to a set of addresses, unless it is empty or the set is full. Returns added, size, ms left. */
const ADDRESS_SCRIPT = `
local size = redis.call('SCARD', KEYS[1])
local added = 0
if ARGV[3] ~= '' and size < tonumber(ARGV[2]) then added = redis.call('SADD', KEYS[1], ARGV[3]) end
if added == 1 and size == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return { added, size + added, redis.call('PTTL', KEYS[1]) }`

/** Adds one to a sliding window if ARGV[2] says so, and returns its sum. */
const SUM_SCRIPT = `${SLIDING_WINDOW_LUA}
local window = tonumber(ARGV[1])
if ARGV[2] ~= '0' then add(KEYS[1], window, read(KEYS[1], window), 1) end
return read(KEYS[1], window).sum`

type CountingRedis = RedisClient & {
  failedAddress(keys: 1, key: string, windowMs: number, max: number, email: Buffer | ''): Promise<number[]>
  slidingSum(keys: 1, key: string, windowMs: number, add: 0 | 1): Promise<number>
}

const SERVICE = 'service'

export function createSignInFailures(
  limits: StrangerLimits,
  link: RedisLink | null,
  monotonicMs: () => number = () => performance.now(),
): SignInFailures {
  const own = createOwnCounts(limits, monotonicMs)
  link?.redis.defineCommand('failedAddress', { lua: ADDRESS_SCRIPT })
  link?.redis.defineCommand('slidingSum', { lua: SUM_SCRIPT })
  const redis = link?.redis as CountingRedis | undefined

  /** Null while Redis does not answer. */
  const shared = async <T>(ask: (redis: CountingRedis) => Promise<T>): Promise<T | null> => {
    if (!link?.reachable() || !redis) return null
    try {
      const answer = await ask(redis)
      link.succeeded()
      return answer
    } catch (error) {
      link.failed((error as Error).message)
      return null
    }
  }
  const { addressesPerNetwork } = limits
  const inAccount =
    ({ network, accountId }: Source, email: Buffer | '') =>
    (asked: CountingRedis) =>
      asked.failedAddress(1, `sn:${network}:${accountId}`, STRANGER_WINDOW_MS, addressesPerNetwork, email)
  const inAllAccounts =
    ({ network }: Source, email: Buffer | '') =>
    (asked: CountingRedis) =>
      asked.failedAddress(1, `sn:${network}`, STRANGER_WINDOW_MS, maxPerNetwork(limits), email)
  const sum = (asked: CountingRedis, name: string, add: 0 | 1) =>
    asked.slidingSum(1, `ss:${name}`, STRANGER_WINDOW_MS, add)

  return {
    read: async (source) => {
      const alone = own.read(source)
      if (alone.inAllAccounts >= maxPerNetwork(limits)) return alone
      const all = await shared((asked) =>
        Promise.all([
          inAccount(source, '')(asked),
          inAllAccounts(source, '')(asked),
          sum(asked, source.accountId, 0),
          sum(asked, SERVICE, 0),
        ]),
      )
      if (!all) return alone
      const [[, addresses = 0], [, everywhere = 0, waitMs = 0], account, service] = all
      return { addresses, inAllAccounts: everywhere, waitMs: Math.max(0, waitMs), account, service }
    },
    count: async (source, email) => {
      own.count(source, email)
      const [here, everywhere] = await Promise.all([
        shared(inAccount(source, email)),
        shared(inAllAccounts(source, email)),
      ])
      if (here?.[0] === 1) await shared((asked) => sum(asked, source.accountId, 1))
      const isEarly = (everywhere?.[1] ?? 0) <= addressesPerNetwork
      if (everywhere?.[0] === 1 && isEarly) await shared((asked) => sum(asked, SERVICE, 1))
    },
    readPasskeys: async (network) =>
      (await shared((asked) => sum(asked, `passkey:${network}`, 0))) ?? own.readPasskeys(network),
    countPasskey: async (network) => {
      own.countPasskey(network)
      await shared((asked) => sum(asked, `passkey:${network}`, 1))
    },
  }
}

type Failed = { readonly emails: Set<string>; readonly endsAt: number }

/** Bounded by the passwords that one process can check in a window. Maps hold the oldest window first. */
function createOwnCounts(limits: StrangerLimits, monotonicMs: () => number) {
  const { addressesPerNetwork } = limits
  /** By network, and by network and account. */
  const failed = new Map<string, Failed>()
  const sums = createSlidingWindows(STRANGER_WINDOW_MS, monotonicMs)

  const failedOf = (where: string, now: number): Failed => {
    for (const [each, { endsAt }] of failed) {
      if (now < endsAt) break
      failed.delete(each)
    }
    return failed.get(where) ?? { emails: new Set(), endsAt: now + STRANGER_WINDOW_MS }
  }
  /** How many addresses failed there, if this one is new. Null: it is not, or there are as many as are counted. */
  const addTo = (where: string, email: string, max: number, now: number): number | null => {
    const { emails, endsAt } = failedOf(where, now)
    if (emails.size >= max || emails.has(email)) return null
    failed.set(where, { emails: emails.add(email), endsAt })
    return emails.size
  }
  return {
    read: ({ network, accountId }: Source): StrangerHistory => {
      const now = monotonicMs()
      const { emails, endsAt } = failedOf(network, now)
      return {
        addresses: failedOf(`${network}:${accountId}`, now).emails.size,
        inAllAccounts: emails.size,
        waitMs: emails.size === 0 ? 0 : endsAt - now,
        account: sums.sum(accountId),
        service: sums.sum(SERVICE),
      }
    },
    count: ({ network, accountId }: Source, email: Buffer) => {
      const now = monotonicMs()
      const text = email.toString('base64')
      const here = addTo(`${network}:${accountId}`, text, addressesPerNetwork, now)
      if (here !== null) sums.add(accountId, 1)
      const everywhere = addTo(network, text, maxPerNetwork(limits), now)
      if (everywhere !== null && everywhere <= addressesPerNetwork) sums.add(SERVICE, 1)
    },
    readPasskeys: (network: string) => sums.sum(`passkey:${network}`),
    countPasskey: (network: string) => sums.add(`passkey:${network}`, 1),
  }
}
